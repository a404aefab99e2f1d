//! The object that is being changed: its fields by offset, its sections by header.

use skep_testkit::rng::Rng;

pub(super) const HEADER_BYTES: usize = 64;
/// Where the file has the offset of the section headers, and their number.
pub(super) const SECTIONS_AT: usize = 40;
pub(super) const COUNT_AT: usize = 60;

/// One object's bytes and where its tables are.
pub(super) struct Edited<'r> {
    pub(super) rng: &'r mut Rng,
    pub(super) bytes: Vec<u8>,
    /// Offsets of the section headers.
    pub(super) headers: Vec<usize>,
    /// Header of the section that holds the names.
    pub(super) names: usize,
}

/// A little-endian number of the file.
pub(super) fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(size)?)?;
    Some(field.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

impl Edited<'_> {
    pub(super) fn field(&self, at: usize, size: usize) -> Option<u64> {
        number(&self.bytes, at, size)
    }

    pub(super) fn set(&mut self, at: usize, size: usize, value: u64) {
        if let Some(field) = self.bytes.get_mut(at..at + size) {
            field.copy_from_slice(&value.to_le_bytes()[..size]);
        }
    }

    /// Start and length of a section's bytes.
    pub(super) fn range(&self, header: usize) -> Option<(usize, usize)> {
        Some((self.field(header + 24, 8)? as usize, self.field(header + 32, 8)? as usize))
    }

    pub(super) fn content(&self, header: usize) -> Option<&[u8]> {
        let (start, len) = self.range(header)?;
        self.bytes.get(start..start.checked_add(len)?)
    }

    /// Moves a section's bytes to the end of the file, with more of them.
    pub(super) fn append(&mut self, header: usize, more: &[u8]) -> Option<()> {
        let mut moved = self.content(header)?.to_vec();
        moved.extend_from_slice(more);
        // What is read as numbers of 8 bytes is aligned.
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        self.set(header + 24, 8, self.bytes.len() as u64);
        self.set(header + 32, 8, moved.len() as u64);
        self.bytes.extend(moved);
        Some(())
    }

    pub(super) fn name(&self, header: usize) -> Option<String> {
        let at = self.range(self.names)?.0 + self.field(header, 4)? as usize;
        let name = self.bytes.get(at..)?.split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(name).into_owned())
    }

    /// One of the sections for which `wanted` holds.
    pub(super) fn section(
        &mut self,
        wanted: impl Fn(&Self, usize) -> Option<bool>,
    ) -> Option<usize> {
        let all = self.headers.iter().copied().skip(1);
        let found: Vec<usize> = all.filter(|it| wanted(self, *it) == Some(true)).collect();
        (!found.is_empty()).then(|| self.rng.pick(&found))
    }

    pub(super) fn of_type(&mut self, number: u32) -> Option<usize> {
        self.section(|it, header| Some(it.field(header + 4, 4)? == u64::from(number)))
    }

    pub(super) fn named(&self, name: &str) -> Option<usize> {
        self.headers.iter().copied().skip(1).find(|it| self.name(*it).as_deref() == Some(name))
    }

    /// An entry of a section that is a table.
    pub(super) fn entry(&mut self, header: usize, size: usize) -> Option<(usize, u64)> {
        let (start, len) = self.range(header)?;
        let count = (len / size) as u64;
        let index = (count > 0).then(|| self.rng.below(count))?;
        Some((start + index as usize * size, index))
    }

    /// Sets a field to one of some values.
    pub(super) fn change(&mut self, at: usize, size: usize, values: &[u64]) -> Option<String> {
        let was = self.field(at, size)?;
        let value = self.rng.pick(values);
        self.set(at, size, value);
        Some(format!("{was:x}_is_{value:x}"))
    }
}

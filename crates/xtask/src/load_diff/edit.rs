//! Objects with a field of their tables changed: names and headers of sections, symbols,
//! relocations, BTF, map definitions, insns that refer to something.
//!
//! `mutate` changes any byte, which a loader mostly refuses at once. Here the file stays well
//! formed, and what it says is another thing than the compiler meant.

mod btf;
mod ext;
mod tables;

use skep_testkit::rng::Rng;

const HEADER_BYTES: usize = 64;
/// Attempts to find something to change in an object.
const ATTEMPTS_MAX: usize = 20;

type Edit = fn(&mut Edited<'_>) -> Option<String>;

/// The classes of changes; one that is listed twice is twice as frequent.
const EDITS: [(&str, Edit); 18] = [
    ("rename", tables::rename),
    ("program", tables::rename_program),
    ("program", tables::rename_program),
    ("header", tables::header),
    ("file", tables::file),
    ("symbol", tables::symbol),
    ("symbol", tables::symbol),
    ("relocation", tables::relocation),
    ("relocation", tables::relocation),
    ("insn", tables::insn),
    ("bytes", tables::bytes),
    ("word", btf::word),
    ("type", btf::ty),
    ("type", btf::ty),
    ("name", btf::name),
    ("map", btf::map),
    ("map", btf::map),
    ("ext", ext::record),
];

/// The names of the classes.
pub(super) fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = EDITS.iter().map(|row| row.0).collect();
    names.dedup();
    names
}

/// One object's bytes and where its tables are.
struct Edited<'r> {
    rng: &'r mut Rng,
    bytes: Vec<u8>,
    /// Offsets of the section headers.
    headers: Vec<usize>,
    /// Header of the section that holds the names.
    names: usize,
}

/// A changed copy, and what was changed: by one of the classes of that name, or by any; none if
/// this object has nothing of the kind.
pub(super) fn edit(rng: &mut Rng, bytes: &[u8], class: Option<&str>) -> Option<(Vec<u8>, String)> {
    let table = usize::try_from(number(bytes, 40, 8)?).ok()?;
    let (count, names) = (number(bytes, 60, 2)? as usize, number(bytes, 62, 2)? as usize);
    let headers: Vec<usize> = (0..count).map(|at| table + at * HEADER_BYTES).collect();
    let names = *headers.get(names)?;
    bytes.get(table..table + count * HEADER_BYTES)?;
    let rows: Vec<(&str, Edit)> =
        EDITS.iter().copied().filter(|row| class.is_none_or(|name| row.0 == name)).collect();
    let mut edited = Edited { rng, bytes: bytes.to_vec(), headers, names };
    (0..ATTEMPTS_MAX).find_map(|_| {
        edited.bytes.clear();
        edited.bytes.extend_from_slice(bytes);
        let (name, change) = edited.rng.pick(&rows);
        let what = change(&mut edited)?;
        (edited.bytes != bytes).then(|| (edited.bytes.clone(), format!("{name}_{what}")))
    })
}

/// A little-endian number of the file.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(size)?)?;
    Some(field.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

impl Edited<'_> {
    fn field(&self, at: usize, size: usize) -> Option<u64> {
        number(&self.bytes, at, size)
    }

    fn set(&mut self, at: usize, size: usize, value: u64) {
        if let Some(field) = self.bytes.get_mut(at..at + size) {
            field.copy_from_slice(&value.to_le_bytes()[..size]);
        }
    }

    /// Start and length of a section's bytes.
    fn range(&self, header: usize) -> Option<(usize, usize)> {
        Some((self.field(header + 24, 8)? as usize, self.field(header + 32, 8)? as usize))
    }

    fn content(&self, header: usize) -> Option<&[u8]> {
        let (start, len) = self.range(header)?;
        self.bytes.get(start..start.checked_add(len)?)
    }

    /// Moves a section's bytes to the end of the file, with more of them.
    fn append(&mut self, header: usize, more: &[u8]) -> Option<()> {
        let mut moved = self.content(header)?.to_vec();
        moved.extend_from_slice(more);
        // What is read as numbers of 8 bytes is aligned.
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        self.set(header + 24, 8, self.bytes.len() as u64);
        self.set(header + 32, 8, moved.len() as u64);
        self.bytes.extend(moved);
        Some(())
    }

    fn name(&self, header: usize) -> Option<String> {
        let at = self.range(self.names)?.0 + self.field(header, 4)? as usize;
        let name = self.bytes.get(at..)?.split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(name).into_owned())
    }

    /// One of the sections for which `wanted` holds.
    fn section(&mut self, wanted: impl Fn(&Self, usize) -> Option<bool>) -> Option<usize> {
        let all = self.headers.iter().copied().skip(1);
        let found: Vec<usize> = all.filter(|it| wanted(self, *it) == Some(true)).collect();
        (!found.is_empty()).then(|| self.rng.pick(&found))
    }

    fn of_type(&mut self, number: u32) -> Option<usize> {
        self.section(|it, header| Some(it.field(header + 4, 4)? == u64::from(number)))
    }

    fn named(&self, name: &str) -> Option<usize> {
        self.headers.iter().copied().skip(1).find(|it| self.name(*it).as_deref() == Some(name))
    }

    /// An entry of a section that is a table.
    fn entry(&mut self, header: usize, size: usize) -> Option<(usize, u64)> {
        let (start, len) = self.range(header)?;
        let count = (len / size) as u64;
        let index = (count > 0).then(|| self.rng.below(count))?;
        Some((start + index as usize * size, index))
    }

    /// Sets a field to one of some values.
    fn change(&mut self, at: usize, size: usize, values: &[u64]) -> Option<String> {
        let was = self.field(at, size)?;
        let value = self.rng.pick(values);
        self.set(at, size, value);
        Some(format!("{was:x}_is_{value:x}"))
    }
}

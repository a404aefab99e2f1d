//! How a value is copied in and out: around the fields that the runtime manages inside of it.
//!
//! Kernel: `copy_map_value` and `check_and_init_map_value` (6.18): an update leaves a lock or a
//! timer as it is, a copy for user space shows zeros.

use crate::memory::Region;
use crate::{Errno, Error};
use skep_btf::{Btf, FieldKind, TypeId, special_fields};
use skep_program::MapDef;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Size of a value and what is special in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ValueLayout {
    /// Bytes.
    pub(crate) size: usize,
    /// What an update does not touch; ascending, inside of the value.
    holes: Vec<Range<usize>>,
    /// Offset of the `bpf_spin_lock`.
    lock: Option<usize>,
    /// Offset of the `bpf_timer`.
    timer: Option<usize>,
}

impl ValueLayout {
    /// Plain bytes.
    pub(crate) fn plain(size: usize) -> ValueLayout {
        ValueLayout { size, ..ValueLayout::default() }
    }

    pub(crate) fn of(def: &MapDef, btf: Option<&Btf>) -> Result<ValueLayout, Error> {
        let mut layout = ValueLayout { size: def.value_size as usize, ..ValueLayout::default() };
        let (Some(btf), true) = (btf, def.btf_value_type_id != 0) else { return Ok(layout) };
        let fields = special_fields(btf, TypeId(def.btf_value_type_id))
            .map_err(|e| Error::input(format!("the value's type: {e}")))?;
        for field in fields {
            let (start, len) = (field.offset as usize, field.size as usize);
            match field.kind {
                FieldKind::SpinLock => layout.lock = Some(start),
                FieldKind::Timer => layout.timer = Some(start),
                FieldKind::ResSpinLock => {}
                other => {
                    return Err(Error::unsupported(format!("{} in a map's value", other.name())));
                }
            }
            if start + len > layout.size {
                return Err(Error::input(format!("{} ends behind the value", field.kind.name())));
            }
            layout.holes.push(start..start + len);
        }
        Ok(layout)
    }

    /// Bytes from a value to the next.
    pub(crate) fn stride(&self) -> usize {
        self.size.next_multiple_of(8)
    }

    pub(crate) fn has_holes(&self) -> bool {
        !self.holes.is_empty()
    }

    pub(crate) fn timer(&self) -> Option<usize> {
        self.timer
    }

    pub(crate) fn has_lock(&self) -> bool {
        self.lock.is_some()
    }

    /// Overwrites the value at `off`, without its special fields.
    #[inline]
    pub(crate) fn write(&self, region: &Region, off: usize, value: &[u8]) {
        if self.holes.is_empty() {
            return region.write(off, value);
        }
        self.parts(value.len()).for_each(|part| region.write_part(off + part.start, &value[part]));
    }

    /// Overwrites the value at `off` while holding its lock.
    pub(crate) fn write_locked(
        &self,
        region: &Region,
        off: usize,
        value: &[u8],
    ) -> Result<(), Errno> {
        let lock = region.u32(off + self.lock.ok_or(Errno::EINVAL)?);
        let mut turns = 0u32;
        while lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            turns = turns.wrapping_add(1);
            if turns.is_multiple_of(128) {
                std::thread::yield_now()
            } else {
                std::hint::spin_loop()
            }
        }
        self.write(region, off, value);
        lock.store(0, Ordering::Release);
        Ok(())
    }

    /// A copy for user space.
    pub(crate) fn read(&self, region: &Region, off: usize) -> Vec<u8> {
        let mut value = region.to_vec(off, self.size);
        for hole in &self.holes {
            value[hole.clone()].fill(0);
        }
        value
    }

    /// What is between the holes.
    fn parts(&self, len: usize) -> impl Iterator<Item = Range<usize>> {
        let starts = std::iter::once(0).chain(self.holes.iter().map(|hole| hole.end));
        let ends = self.holes.iter().map(|hole| hole.start).chain(std::iter::once(len));
        starts.zip(ends).map(|(start, end)| start..end)
    }
}

//! Copies values in and out, except for the fields that the runtime manages inside them.
//!
//! Kernel: `copy_map_value` and `check_and_init_map_value` (6.18): an update preserves locks and
//! timers, a copy for user space has zeros there.

use crate::objects::Objects;
use crate::{Errno, Error};
use skep_btf::{Btf, FieldKind, TypeId, special_fields};
use skep_mem::Region;
use skep_program::MapDef;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Size of a value and its special fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct ValueLayout {
    /// Bytes.
    pub(crate) size: usize,
    /// Ranges preserved by updates; ascending, inside the value.
    holes: Vec<Range<usize>>,
    /// Offset of the `bpf_spin_lock`.
    lock: Option<usize>,
    /// Offset of the `bpf_timer`.
    timer: Option<usize>,
    /// Offsets of pointers to objects, and of list heads and tree roots.
    pointers: Vec<usize>,
    heads: Vec<usize>,
    /// Offsets of pointers that do not own anything.
    untrusted: Vec<usize>,
    /// The objects, if there is one of those.
    objects: Option<Arc<Objects>>,
}

impl ValueLayout {
    /// Plain bytes.
    pub(crate) fn plain(size: usize) -> ValueLayout {
        ValueLayout { size, ..ValueLayout::default() }
    }

    /// The layout of a map's values, which `btf` describes; they own objects of `objects`.
    pub(crate) fn of(
        def: &MapDef,
        btf: Option<&Btf>,
        objects: &Arc<Objects>,
    ) -> Result<ValueLayout, Error> {
        let mut layout = ValueLayout { size: def.value_size as usize, ..ValueLayout::default() };
        let (Some(btf), true) = (btf, def.btf_value_type_id != 0) else { return Ok(layout) };
        // As in the kernel, a type with unsupported fields has no special fields.
        let fields = special_fields(btf, TypeId(def.btf_value_type_id)).unwrap_or_default();
        for field in fields {
            let (start, len) = (field.offset as usize, field.size as usize);
            match field.kind {
                FieldKind::SpinLock => layout.lock = Some(start),
                FieldKind::Timer => layout.timer = Some(start),
                FieldKind::ResSpinLock | FieldKind::Refcount => {}
                FieldKind::KptrRef | FieldKind::KptrPercpu => layout.pointers.push(start),
                FieldKind::KptrUnref => layout.untrusted.push(start),
                FieldKind::ListHead | FieldKind::RbRoot => layout.heads.push(start),
                other => {
                    return Err(Error::unsupported(format!("{} in a map's value", other.name())));
                }
            }
            if start + len > layout.size {
                return Err(Error::input(format!(
                    "{} extends past the end of the value",
                    field.kind.name()
                )));
            }
            layout.holes.push(start..start + len);
        }
        let parts = [&layout.pointers, &layout.heads, &layout.untrusted];
        let owns = parts.into_iter().any(|offsets| !offsets.is_empty());
        layout.objects = owns.then(|| objects.clone());
        Ok(layout)
    }

    /// Distance between values, in bytes.
    pub(crate) fn stride(&self) -> usize {
        self.size.next_multiple_of(8)
    }

    pub(crate) fn has_holes(&self) -> bool {
        !self.holes.is_empty()
    }

    pub(crate) fn timer(&self) -> Option<usize> {
        self.timer
    }

    /// Whether a value may hold objects.
    pub(crate) fn owns(&self) -> bool {
        self.objects.is_some()
    }

    /// Frees the objects held by the value at `off`.
    pub(crate) fn release(&self, region: &Region, off: usize) {
        let Some(objects) = &self.objects else { return };
        for at in &self.pointers {
            match region.u64(off + at).swap(0, Ordering::AcqRel) {
                0 => {}
                object => objects.release(object),
            }
        }
        self.untrusted.iter().for_each(|at| region.u64(off + at).store(0, Ordering::Release));
        self.heads.iter().for_each(|at| objects.clear(region.addr(off + at)));
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

//! `BPF_MAP_TYPE_ARRAY`: contiguous values, all of which always exist.
//!
//! Kernel: `array_map_ops` (6.18). Values are written in place, so a reader may see a half-written
//! value of more than 8 bytes, as in the kernel.

use super::kind::{
    BPF_EXIST, BPF_F_LOCK, BPF_NOEXIST, DirectValues, MapKind, Resources, index, next_index,
};
use super::value::ValueLayout;
use crate::{Errno, Error};
use skep_mem::Region;
use skep_uapi::MapShape;

pub(super) struct Array {
    values: Region,
    layout: ValueLayout,
    stride: usize,
    count: u32,
    /// Key of each element, created when a program first iterates.
    keys: std::sync::OnceLock<Option<Region>>,
    budget: std::sync::Arc<skep_mem::Budget>,
}

impl Array {
    pub(super) fn new(
        shape: &MapShape,
        layout: ValueLayout,
        resources: &Resources,
    ) -> Result<Array, Error> {
        let (stride, count) = (layout.stride(), shape.max_entries);
        let bytes = stride.checked_mul(count as usize);
        let bytes =
            bytes.ok_or_else(|| Error::memory(Errno::E2BIG.to_string()).because(Errno::E2BIG))?;
        let values = Region::zeroed(bytes, &resources.budget).map_err(Error::no_memory)?;
        let budget = resources.budget.clone();
        Ok(Array { values, layout, stride, count, keys: std::sync::OnceLock::new(), budget })
    }

    #[inline]
    fn offset(&self, key: &[u8]) -> Option<usize> {
        let index = index(key);
        (index < self.count).then(|| self.stride * index as usize)
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        if self.layout.owns() {
            let values = 0..self.count as usize;
            values.for_each(|index| self.layout.release(&self.values, self.stride * index));
        }
    }
}

/// Checks the flags of an update of an element that always exists.
pub(super) fn check_flags(flags: u64, inside: bool, has_lock: bool) -> Result<(), Errno> {
    if flags & !BPF_F_LOCK > BPF_EXIST {
        Err(Errno::EINVAL)
    } else if !inside {
        Err(Errno::E2BIG)
    } else if flags & BPF_NOEXIST != 0 {
        Err(Errno::EEXIST)
    } else if flags & BPF_F_LOCK != 0 && !has_lock {
        Err(Errno::EINVAL)
    } else {
        Ok(())
    }
}

impl MapKind for Array {
    #[inline]
    fn lookup(&self, key: &[u8]) -> u64 {
        self.offset(key).map_or(0, |off| self.values.addr(off))
    }

    fn update(&self, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        let off = self.offset(key);
        check_flags(flags, off.is_some(), self.layout.has_lock())?;
        let off = off.ok_or(Errno::E2BIG)?;
        if flags & BPF_F_LOCK != 0 {
            self.layout.write_locked(&self.values, off, value)?;
        } else {
            self.layout.write(&self.values, off, value);
        }
        // Objects do not outlive the value that contains them.
        self.layout.release(&self.values, off);
        Ok(())
    }

    fn delete(&self, _key: &[u8]) -> Result<(), Errno> {
        Err(Errno::EINVAL)
    }

    fn next_key(&self, key: Option<&[u8]>, next: &mut [u8]) -> Result<(), Errno> {
        next_index(key, self.count, next)
    }

    fn read(&self, key: &[u8]) -> Result<Vec<u8>, Errno> {
        let off = self.offset(key).ok_or(Errno::ENOENT)?;
        Ok(self.layout.read(&self.values, off))
    }

    fn entry_at(&self, addr: u64) -> Option<(u64, u64)> {
        let at = self.values.offset_of(addr, 1)? / self.stride;
        let keys = self.keys.get_or_init(|| index_keys(self.count, &self.budget)).as_ref()?;
        Some((keys.addr(8 * at), self.values.addr(self.stride * at)))
    }

    fn for_each(&self, each: &mut dyn FnMut(u64, u64) -> bool) -> Result<u32, Errno> {
        let keys = self.keys.get_or_init(|| index_keys(self.count, &self.budget));
        let keys = keys.as_ref().ok_or(Errno::ENOMEM)?;
        for i in 0..self.count {
            let at = i as usize;
            if each(keys.addr(8 * at), self.values.addr(self.stride * at)) {
                return Ok(i + 1);
            }
        }
        Ok(self.count)
    }

    fn locate(&self, addr: u64, size: usize) -> Option<(&Region, usize)> {
        let keys = || self.keys.get()?.as_ref()?.locate(addr, size);
        self.values.locate(addr, size).or_else(keys)
    }

    fn direct(&self) -> Option<DirectValues> {
        let stride = u32::try_from(self.stride).ok()?;
        Some(DirectValues { base: self.values.addr(0), stride, count: self.count })
    }
}

/// The indices as memory that a callback can be pointed to, 8 bytes apart.
pub(super) fn index_keys(count: u32, budget: &std::sync::Arc<skep_mem::Budget>) -> Option<Region> {
    let keys = Region::zeroed(8 * count as usize, budget).ok()?;
    (0..count).for_each(|i| keys.write(8 * i as usize, &i.to_ne_bytes()));
    Some(keys)
}

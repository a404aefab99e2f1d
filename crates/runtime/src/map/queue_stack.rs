//! `BPF_MAP_TYPE_QUEUE` and `BPF_MAP_TYPE_STACK`: values without keys, one end in, one end out.
//!
//! Kernel: `queue_map_ops`, `stack_map_ops` (6.18).

use super::kind::{BPF_EXIST, BPF_NOEXIST, MapKind, Resources};
use super::value::ValueLayout;
use crate::{Errno, Error};
use skep_mem::Region;
use skep_mem::spin::Spin;
use skep_uapi::MapShape;

pub(super) struct QueueStack {
    values: Region,
    ends: Spin<Ends>,
    layout: ValueLayout,
    count: u32,
    newest_first: bool,
}

/// The current values: `len` starting at slot `oldest`, wrapping around.
struct Ends {
    oldest: u32,
    len: u32,
}

impl QueueStack {
    pub(super) fn new(
        shape: &MapShape,
        newest_first: bool,
        layout: ValueLayout,
        resources: &Resources,
    ) -> Result<QueueStack, Error> {
        let bytes = layout.stride().checked_mul(shape.max_entries as usize);
        let bytes =
            bytes.ok_or_else(|| Error::memory(Errno::E2BIG.to_string()).because(Errno::E2BIG))?;
        let values = Region::zeroed(bytes, &resources.budget).map_err(Error::no_memory)?;
        let ends = Spin::new(Ends { oldest: 0, len: 0 });
        Ok(QueueStack { values, ends, layout, count: shape.max_entries, newest_first })
    }

    /// Offset of the `nth` value from the oldest on.
    fn offset(&self, ends: &Ends, nth: u32) -> usize {
        let slot = (u64::from(ends.oldest) + u64::from(nth)) % u64::from(self.count);
        self.layout.stride() * slot as usize
    }
}

impl MapKind for QueueStack {
    fn update(&self, _key: &[u8], _value: &[u8], _flags: u64) -> Result<(), Errno> {
        Err(Errno::EINVAL)
    }

    fn delete(&self, _key: &[u8]) -> Result<(), Errno> {
        Err(Errno::EINVAL)
    }

    fn next_key(&self, _key: Option<&[u8]>, _next: &mut [u8]) -> Result<(), Errno> {
        Err(Errno::EINVAL)
    }

    /// `BPF_EXIST` makes room by dropping the oldest value.
    fn push(&self, value: &[u8], flags: u64) -> Result<(), Errno> {
        if flags & BPF_NOEXIST != 0 || flags > BPF_EXIST {
            return Err(Errno::EINVAL);
        }
        let mut ends = self.ends.lock();
        if ends.len == self.count {
            if flags & BPF_EXIST == 0 {
                return Err(Errno::E2BIG);
            }
            ends.oldest = (ends.oldest + 1) % self.count;
            ends.len -= 1;
        }
        self.values.write(self.offset(&ends, ends.len), value);
        ends.len += 1;
        Ok(())
    }

    fn pop(&self, value: &mut [u8], keep: bool) -> Result<(), Errno> {
        let mut ends = self.ends.lock();
        if ends.len == 0 {
            value.fill(0);
            return Err(Errno::ENOENT);
        }
        let nth = if self.newest_first { ends.len - 1 } else { 0 };
        self.values.read(self.offset(&ends, nth), value);
        if !keep {
            if !self.newest_first {
                ends.oldest = (ends.oldest + 1) % self.count;
            }
            ends.len -= 1;
        }
        Ok(())
    }

    fn read(&self, _key: &[u8]) -> Result<Vec<u8>, Errno> {
        let mut value = vec![0; self.layout.size];
        self.pop(&mut value, true)?;
        Ok(value)
    }

    fn write(&self, _key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        self.push(value, flags)
    }

    fn locate(&self, addr: u64, size: usize) -> Option<(&Region, usize)> {
        self.values.locate(addr, size)
    }
}

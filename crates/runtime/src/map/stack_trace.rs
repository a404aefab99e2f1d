//! `BPF_MAP_TYPE_STACK_TRACE`: always empty, because programs have no underlying stack here.
//!
//! Kernel: `stack_trace_map_ops` (6.18); `bpf_get_stackid` returns EFAULT for an empty stack.

use super::kind::{MapKind, index};
use crate::Errno;
use skep_mem::Region;
use skep_uapi::MapShape;

pub(super) struct StackTrace {
    buckets: u32,
}

impl StackTrace {
    pub(super) fn new(shape: &MapShape) -> StackTrace {
        let buckets = shape.max_entries.checked_next_power_of_two().unwrap_or(1 << 31);
        StackTrace { buckets }
    }
}

impl MapKind for StackTrace {
    fn update(&self, _key: &[u8], _value: &[u8], _flags: u64) -> Result<(), Errno> {
        Err(Errno::EINVAL)
    }

    fn delete(&self, key: &[u8]) -> Result<(), Errno> {
        if index(key) < self.buckets { Err(Errno::ENOENT) } else { Err(Errno::E2BIG) }
    }

    fn next_key(&self, _key: Option<&[u8]>, _next: &mut [u8]) -> Result<(), Errno> {
        Err(Errno::ENOENT)
    }

    fn read(&self, _key: &[u8]) -> Result<Vec<u8>, Errno> {
        Err(Errno::ENOENT)
    }

    fn locate(&self, _addr: u64, _size: usize) -> Option<(&Region, usize)> {
        None
    }
}

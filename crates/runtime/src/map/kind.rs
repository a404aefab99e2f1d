//! `MapKind`: the operations that each kind of map has, and the rules that kinds share.

use crate::Errno;
use skep_mem::{Budget, Region};
use skep_program::MapDef;
use skep_uapi::MapShape;
use std::sync::Arc;

/// `BPF_NOEXIST` of an update.
pub(crate) const BPF_NOEXIST: u64 = 1;
/// `BPF_EXIST` of an update.
pub(crate) const BPF_EXIST: u64 = 2;
/// `BPF_F_LOCK` of an update.
pub(crate) const BPF_F_LOCK: u64 = 4;

/// What the memory of a map is made of.
#[derive(Clone)]
pub(crate) struct Resources {
    /// "CPUs": threads that may run programs at the same time.
    pub(crate) cpus: u32,
    pub(crate) budget: Arc<Budget>,
}

/// The operations of each kind. Keys and values have the map's sizes.
///
/// Operations that a kind does not define are not supported: the default errno is the most common
/// one of bpf(2).
pub(crate) trait MapKind: Send + Sync {
    /// Address of a value for a program, 0 if there is none.
    fn lookup(&self, _key: &[u8]) -> u64 {
        0
    }

    /// Address of the value of `bpf_get_local_storage`; only for cgroup storage.
    fn storage(&self) -> u64 {
        0
    }

    /// Sets the value that a program would look up.
    fn update(&self, _key: &[u8], _value: &[u8], _flags: u64) -> Result<(), Errno> {
        Err(Errno::ENOTSUPP)
    }

    fn delete(&self, _key: &[u8]) -> Result<(), Errno> {
        Err(Errno::ENOTSUPP)
    }

    /// The key after `key`; the first one for `None` and for an absent key.
    fn next_key(&self, _key: Option<&[u8]>, _next: &mut [u8]) -> Result<(), Errno> {
        Err(Errno::ENOTSUPP)
    }

    fn push(&self, _value: &[u8], _flags: u64) -> Result<(), Errno> {
        Err(Errno::ENOTSUPP)
    }

    /// Pops the next value, or, with `keep`, copies it.
    fn pop(&self, _value: &mut [u8], _keep: bool) -> Result<(), Errno> {
        Err(Errno::ENOTSUPP)
    }

    /// Lookup by a program in the values of any "CPU"; only for per-CPU kinds.
    fn lookup_cpu(&self, _key: &[u8], _cpu: u32) -> u64 {
        0
    }

    /// BPF_MAP_LOOKUP_ELEM: a copy of the value, or of all CPUs' values for per-CPU kinds.
    fn read(&self, _key: &[u8]) -> Result<Vec<u8>, Errno> {
        Err(Errno::ENOTSUPP)
    }

    /// BPF_MAP_UPDATE_ELEM: like `update`, with all CPUs' values for per-CPU kinds.
    fn write(&self, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        self.update(key, value, flags)
    }

    /// Addresses of the key and the value for an address inside a value; only for kinds whose
    /// values may have timers.
    fn entry_at(&self, _addr: u64) -> Option<(u64, u64)> {
        None
    }

    /// Calls `each` with the addresses of key and value until it returns true to stop.
    fn for_each(&self, _each: &mut dyn FnMut(u64, u64) -> bool) -> Result<u32, Errno> {
        Err(Errno::EINVAL)
    }

    /// The region and offset of an access of `size` bytes at `addr`, if it is inside this map's
    /// memory.
    fn locate(&self, addr: u64, size: usize) -> Option<(&Region, usize)>;

    /// Size of a value as copied by bpf(2).
    fn user_value_size(&self, shape: &MapShape) -> usize {
        shape.value_size as usize
    }

    /// Whether changes wait for runs, or check which are in progress: then the caller need not be
    /// in one.
    fn waits_for_runs(&self) -> bool {
        false
    }

    /// Frees replaced items that no run can use any more.
    fn settle(&self) {}

    /// The address of values, if a lookup is a bounds check and a multiplication.
    fn direct(&self) -> Option<DirectValues> {
        None
    }

    /// The same for CPU 0's values, the distance to the next CPU's values, and the number of CPUs.
    fn direct_percpu(&self) -> Option<(DirectValues, u32, u32)> {
        None
    }
}

/// Values stored contiguously.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DirectValues {
    /// Address of value 0.
    pub(crate) base: u64,
    /// Distance between values, in bytes.
    pub(crate) stride: u32,
    /// Number of values.
    pub(crate) count: u32,
}

/// The numbers of a definition.
pub(crate) fn shape(def: &MapDef) -> MapShape {
    MapShape {
        key_size: def.key_size,
        value_size: def.value_size,
        max_entries: def.max_entries,
        flags: def.map_flags,
    }
}

/// Checks `BPF_ANY`, `BPF_NOEXIST` and `BPF_EXIST` against whether the key exists.
pub(crate) fn check_exists(exists: bool, flags: u64) -> Result<(), Errno> {
    match flags & (BPF_NOEXIST | BPF_EXIST) {
        BPF_NOEXIST if exists => Err(Errno::EEXIST),
        BPF_EXIST if !exists => Err(Errno::ENOENT),
        _ => Ok(()),
    }
}

/// The index encoded in an array's key.
#[inline]
pub(crate) fn index(key: &[u8]) -> u32 {
    key.first_chunk::<4>().map_or(u32::MAX, |bytes| u32::from_ne_bytes(*bytes))
}

/// `next_key` of arrays.
pub(crate) fn next_index(key: Option<&[u8]>, count: u32, next: &mut [u8]) -> Result<(), Errno> {
    let following = match key.map(index) {
        Some(last) if last == count - 1 => return Err(Errno::ENOENT),
        Some(at) if at < count => at + 1,
        _ => 0,
    };
    next.copy_from_slice(&following.to_ne_bytes());
    Ok(())
}

//! `BPF_MAP_TYPE_DEVMAP`, `DEVMAP_HASH`, `CPUMAP` and `XSKMAP`: targets of `bpf_redirect_map`.
//! There are no devices here: values are stored unchecked, and redirections are recorded.
//!
//! Kernel: `dev_map_ops`, `dev_map_hash_ops`, `cpu_map_ops`, `xsk_map_ops` (6.18), without checks
//! of devices, CPUs and sockets.

use super::hash::Hash;
use super::kind::{BPF_EXIST, BPF_NOEXIST, MapKind, Resources, index, next_index};
use super::value::ValueLayout;
use crate::{Errno, Error};
use skep_mem::Region;
use skep_uapi::{MapShape, MapType};

pub(super) struct DeviceMap {
    entries: Hash,
    /// Keys are indices below this; `None` for a hash, whose keys are arbitrary.
    indices: Option<u32>,
}

impl DeviceMap {
    pub(super) fn new(
        map_type: MapType,
        shape: &MapShape,
        resources: &Resources,
    ) -> Result<DeviceMap, Error> {
        let layout = ValueLayout::plain(shape.value_size as usize);
        let entries = Hash::new(MapType::Hash, shape, layout, resources)?;
        let indices = (map_type != MapType::DevmapHash).then_some(shape.max_entries);
        Ok(DeviceMap { entries, indices })
    }

    fn is_outside(&self, key: &[u8]) -> bool {
        self.indices.is_some_and(|count| index(key) >= count)
    }
}

impl MapKind for DeviceMap {
    fn lookup(&self, key: &[u8]) -> u64 {
        self.entries.lookup(key)
    }

    /// A value whose first word is 0 (no device, no queue) clears an entry of an array.
    fn update(&self, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        if flags > BPF_EXIST {
            return Err(Errno::EINVAL);
        }
        if self.is_outside(key) {
            return Err(Errno::E2BIG);
        }
        if self.indices.is_some() && flags == BPF_NOEXIST {
            return Err(Errno::EEXIST);
        }
        if self.indices.is_some() && index(value) == 0 {
            let _ = self.entries.delete(key);
            return Ok(());
        }
        let flags = if self.indices.is_some() { 0 } else { flags };
        self.entries.update(key, value, flags)
    }

    fn delete(&self, key: &[u8]) -> Result<(), Errno> {
        if self.is_outside(key) {
            return Err(Errno::EINVAL);
        }
        match self.entries.delete(key) {
            Err(Errno::ENOENT) if self.indices.is_some() => Ok(()),
            result => result,
        }
    }

    fn next_key(&self, key: Option<&[u8]>, next: &mut [u8]) -> Result<(), Errno> {
        match self.indices {
            Some(count) => next_index(key, count, next),
            None => self.entries.next_key(key, next),
        }
    }

    fn read(&self, key: &[u8]) -> Result<Vec<u8>, Errno> {
        self.entries.read(key)
    }

    fn locate(&self, addr: u64, size: usize) -> Option<(&Region, usize)> {
        self.entries.locate(addr, size)
    }
}

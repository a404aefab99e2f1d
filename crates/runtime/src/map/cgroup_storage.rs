//! `BPF_MAP_TYPE_CGROUP_STORAGE` and `BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE`: a value for each cgroup
//! to which a program is attached. Here programs are not attached, and all runs share one value,
//! whose key is all zeros.
//!
//! Kernel: `cgroup_storage_map_ops` (6.18).

use super::array::Array;
use super::kind::{MapKind, Resources};
use super::percpu_array::PercpuArray;
use super::value::ValueLayout;
use crate::{Errno, Error};
use skep_mem::Region;
use skep_uapi::{MapFlags, MapShape};

pub(crate) struct CgroupStorage {
    /// An array of one.
    values: Box<dyn MapKind>,
}

/// The key of the only element of an array.
const ONLY: [u8; 4] = [0; 4];

impl CgroupStorage {
    pub(super) fn new(
        shape: &MapShape,
        percpu: bool,
        layout: ValueLayout,
        resources: &Resources,
    ) -> Result<CgroupStorage, Error> {
        let (key_size, value_size) = (4, shape.value_size);
        let one = MapShape { key_size, value_size, max_entries: 1, flags: MapFlags::empty() };
        let values: Box<dyn MapKind> = match percpu {
            true => Box::new(PercpuArray::new(&one, layout, resources)?),
            false => Box::new(Array::new(&one, layout, resources)?),
        };
        Ok(CgroupStorage { values })
    }
}

fn is_ours(key: &[u8]) -> Result<(), Errno> {
    if key.iter().all(|byte| *byte == 0) { Ok(()) } else { Err(Errno::ENOENT) }
}

impl MapKind for CgroupStorage {
    fn storage(&self) -> u64 {
        self.values.lookup(&ONLY)
    }

    fn update(&self, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        is_ours(key).and_then(|()| self.values.update(&ONLY, value, flags))
    }

    fn delete(&self, _key: &[u8]) -> Result<(), Errno> {
        Err(Errno::EINVAL)
    }

    fn next_key(&self, key: Option<&[u8]>, next: &mut [u8]) -> Result<(), Errno> {
        if key.is_some_and(|key| is_ours(key).is_ok()) {
            return Err(Errno::ENOENT);
        }
        next.fill(0);
        Ok(())
    }

    fn read(&self, key: &[u8]) -> Result<Vec<u8>, Errno> {
        is_ours(key).and_then(|()| self.values.read(&ONLY))
    }

    fn write(&self, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        is_ours(key).and_then(|()| self.values.write(&ONLY, value, flags))
    }

    fn locate(&self, addr: u64, size: usize) -> Option<(&Region, usize)> {
        self.values.locate(addr, size)
    }

    fn user_value_size(&self, shape: &MapShape) -> usize {
        self.values.user_value_size(shape)
    }
}

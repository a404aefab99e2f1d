//! `BPF_MAP_TYPE_PERCPU_ARRAY`: an array for each "CPU", that is, for each thread that runs
//! programs.
//!
//! The arrays are on separate pages, so that threads share no cache line.
//!
//! Kernel: `percpu_array_map_ops` (6.18).

use super::array::{check_flags, index_keys};
use super::kind::{BPF_EXIST, DirectValues, MapKind, Resources, index, next_index};
use super::value::ValueLayout;
use crate::{Errno, Error};
use skep_mem::cpu;
use skep_mem::{Budget, Region};
use skep_uapi::MapShape;
use std::sync::{Arc, OnceLock};

const PAGE: usize = skep_uapi::limits::PAGE_SIZE_BYTES as usize;

pub(super) struct PercpuArray {
    values: Region,
    layout: ValueLayout,
    stride: usize,
    /// Distance between the values of consecutive CPUs, in bytes.
    cpu_stride: usize,
    count: u32,
    cpus: u32,
    keys: OnceLock<Option<Region>>,
    budget: Arc<Budget>,
}

impl PercpuArray {
    pub(super) fn new(
        shape: &MapShape,
        layout: ValueLayout,
        resources: &Resources,
    ) -> Result<PercpuArray, Error> {
        let (stride, count, cpus) = (layout.stride(), shape.max_entries, resources.cpus);
        let too_big = || Error::memory(Errno::E2BIG.to_string()).because(Errno::E2BIG);
        let one = stride.checked_mul(count as usize).ok_or_else(too_big)?;
        let cpu_stride = one.checked_next_multiple_of(PAGE).ok_or_else(too_big)?;
        let all = cpu_stride.checked_mul(cpus as usize).ok_or_else(too_big)?;
        let values = Region::zeroed(all, &resources.budget).map_err(Error::no_memory)?;
        let (keys, budget) = (OnceLock::new(), resources.budget.clone());
        Ok(PercpuArray { values, layout, stride, cpu_stride, count, cpus, keys, budget })
    }

    #[inline]
    fn offset(&self, key: &[u8], cpu: u32) -> Option<usize> {
        let index = index(key);
        let inside = index < self.count && cpu < self.cpus;
        inside.then(|| self.cpu_stride * cpu as usize + self.stride * index as usize)
    }
}

/// For bpf(2): as for an array, but without a lock, which is checked first.
fn check_percpu_flags(flags: u64, inside: bool) -> Result<(), Errno> {
    if flags > BPF_EXIST { Err(Errno::EINVAL) } else { check_flags(flags, inside, false) }
}

impl MapKind for PercpuArray {
    #[inline]
    fn lookup(&self, key: &[u8]) -> u64 {
        self.lookup_cpu(key, cpu::current())
    }

    #[inline]
    fn lookup_cpu(&self, key: &[u8], cpu: u32) -> u64 {
        self.offset(key, cpu).map_or(0, |off| self.values.addr(off))
    }

    fn update(&self, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        let off = self.offset(key, cpu::current());
        check_flags(flags, off.is_some(), false)?;
        self.layout.write(&self.values, off.ok_or(Errno::E2BIG)?, value);
        Ok(())
    }

    fn delete(&self, _key: &[u8]) -> Result<(), Errno> {
        Err(Errno::EINVAL)
    }

    fn next_key(&self, key: Option<&[u8]>, next: &mut [u8]) -> Result<(), Errno> {
        next_index(key, self.count, next)
    }

    fn read(&self, key: &[u8]) -> Result<Vec<u8>, Errno> {
        let mut values = Vec::with_capacity(self.stride * self.cpus as usize);
        for cpu in 0..self.cpus {
            let off = self.offset(key, cpu).ok_or(Errno::ENOENT)?;
            values.extend(self.layout.read(&self.values, off));
            values.resize(self.stride * (cpu as usize + 1), 0);
        }
        Ok(values)
    }

    fn write(&self, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        let inside = self.offset(key, 0).is_some();
        check_percpu_flags(flags, inside)?;
        for (cpu, value) in (0..self.cpus).zip(value.chunks(self.stride)) {
            let off = self.offset(key, cpu).ok_or(Errno::E2BIG)?;
            let value = value.get(..self.layout.size).ok_or(Errno::EINVAL)?;
            self.layout.write(&self.values, off, value);
        }
        Ok(())
    }

    fn for_each(&self, each: &mut dyn FnMut(u64, u64) -> bool) -> Result<u32, Errno> {
        let keys = self.keys.get_or_init(|| index_keys(self.count, &self.budget));
        let keys = keys.as_ref().ok_or(Errno::ENOMEM)?;
        let mine = self.cpu_stride * cpu::current() as usize;
        for i in 0..self.count {
            let at = i as usize;
            if each(keys.addr(8 * at), self.values.addr(mine + self.stride * at)) {
                return Ok(i + 1);
            }
        }
        Ok(self.count)
    }

    fn locate(&self, addr: u64, size: usize) -> Option<(&Region, usize)> {
        let keys = || self.keys.get()?.as_ref()?.locate(addr, size);
        self.values.locate(addr, size).or_else(keys)
    }

    fn direct_percpu(&self) -> Option<(DirectValues, u32, u32)> {
        let stride = u32::try_from(self.stride).ok()?;
        let values = DirectValues { base: self.values.addr(0), stride, count: self.count };
        // The maximum operand of the multiplication insn.
        let cpu_stride = i32::try_from(self.cpu_stride).ok()?;
        Some((values, cpu_stride as u32, self.cpus))
    }

    fn user_value_size(&self, _shape: &MapShape) -> usize {
        self.stride * self.cpus as usize
    }
}

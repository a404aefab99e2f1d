//! The values of a per-CPU hash map: for each "CPU" (a thread that runs programs) an array,
//! indexed by element, on pages of its own.

use super::value::ValueLayout;
use crate::{Errno, Error};
use skep_mem::{Budget, Region, cpu};
use std::sync::Arc;

const PAGE: usize = skep_uapi::limits::PAGE_SIZE_BYTES as usize;

pub(super) struct PercpuValues {
    values: Region,
    layout: ValueLayout,
    stride: usize,
    cpu_stride: usize,
    cpus: u32,
}

impl PercpuValues {
    pub(super) fn new(
        elements: u32,
        layout: &ValueLayout,
        cpus: u32,
        budget: &Arc<Budget>,
    ) -> Result<PercpuValues, Error> {
        let (stride, layout) = (layout.stride(), layout.clone());
        let one = stride.checked_mul(elements as usize);
        let cpu_stride = one.and_then(|bytes| bytes.checked_next_multiple_of(PAGE));
        let all = cpu_stride.and_then(|bytes| bytes.checked_mul(cpus as usize));
        let too_big = || Error::memory(Errno::E2BIG.to_string()).because(Errno::E2BIG);
        let values = Region::zeroed(all.ok_or_else(too_big)?, budget).map_err(Error::no_memory)?;
        Ok(PercpuValues { values, layout, stride, cpu_stride: cpu_stride.unwrap_or(0), cpus })
    }

    #[inline]
    fn offset(&self, element: u32, cpu: u32) -> usize {
        self.cpu_stride * cpu as usize + self.stride * (element as usize - 1)
    }

    /// Address of the calling thread's value.
    #[inline]
    pub(super) fn mine(&self, element: u32) -> u64 {
        self.of_cpu(element, cpu::current())
    }

    pub(super) fn of_cpu(&self, element: u32, cpu: u32) -> u64 {
        if cpu < self.cpus { self.values.addr(self.offset(element, cpu)) } else { 0 }
    }

    pub(super) fn write_mine(&self, element: u32, value: &[u8]) {
        let cpu = cpu::current().min(self.cpus - 1);
        self.layout.write(&self.values, self.offset(element, cpu), value);
    }

    /// Writes every CPU's value: `value` holds them one after another.
    pub(super) fn write_all(&self, element: u32, value: &[u8]) {
        for (cpu, value) in (0..self.cpus).zip(value.chunks(self.stride)) {
            if let Some(value) = value.get(..self.layout.size) {
                self.layout.write(&self.values, self.offset(element, cpu), value);
            }
        }
    }

    pub(super) fn clear(&self, element: u32) {
        for cpu in 0..self.cpus {
            self.values.clear(self.offset(element, cpu), self.stride);
        }
    }

    pub(super) fn read_all(&self, element: u32) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.user_size());
        for cpu in 0..self.cpus {
            all.extend(self.layout.read(&self.values, self.offset(element, cpu)));
            all.resize(self.stride * (cpu as usize + 1), 0);
        }
        all
    }

    /// Bytes of all CPUs' values, as bpf(2) copies them.
    pub(super) fn user_size(&self) -> usize {
        self.stride * self.cpus as usize
    }

    pub(super) fn locate(&self, addr: u64, size: usize) -> Option<(&Region, usize)> {
        self.values.locate(addr, size)
    }
}

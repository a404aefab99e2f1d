//! `BPF_MAP_TYPE_PERF_EVENT_ARRAY`: samples from programs to the user, one buffer per "CPU".
//!
//! Here every slot below the number of CPUs has a buffer, as after libbpf's `perf_buffer__new`;
//! hardware events are not modelled.
//!
//! Kernel: `perf_event_array_map_ops`, `bpf_perf_event_output` (6.18).

use super::kind::{MapKind, Resources, index, next_index};
use crate::Errno;
use skep_mem::Region;
use skep_mem::cpu;
use skep_uapi::MapShape;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Size of a buffer; further samples are lost.
const BUFFER_BYTES: usize = 1 << 22;
/// `BPF_F_INDEX_MASK`: the bits of the index, and all of them for `BPF_F_CURRENT_CPU`.
pub(crate) const INDEX_MASK: u64 = 0xffff_ffff;

/// A sample that a program wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The CPU whose buffer it was in.
    pub cpu: u32,
    /// The data.
    pub data: Vec<u8>,
}

#[derive(Default)]
struct Buffer {
    samples: VecDeque<Vec<u8>>,
    bytes: usize,
    lost: u64,
}

pub(crate) struct PerfEventArray {
    buffers: Vec<Mutex<Buffer>>,
    count: u32,
}

impl PerfEventArray {
    pub(super) fn new(shape: &MapShape, resources: &Resources) -> PerfEventArray {
        let cpus = resources.cpus.min(shape.max_entries);
        let buffers = (0..cpus).map(|_| Mutex::default()).collect();
        PerfEventArray { buffers, count: shape.max_entries }
    }

    /// `bpf_perf_event_output`.
    pub(crate) fn output(&self, flags: u64, data: Vec<u8>) -> Result<(), Errno> {
        let cpu = cpu::current();
        let index = if flags & INDEX_MASK == INDEX_MASK { cpu } else { flags as u32 };
        if index >= self.count {
            return Err(Errno::E2BIG);
        }
        let buffer = self.buffers.get(index as usize).ok_or(Errno::ENOENT)?;
        if index != cpu {
            return Err(Errno::EOPNOTSUPP);
        }
        let mut buffer = buffer.lock().unwrap_or_else(PoisonError::into_inner);
        if buffer.bytes + data.len() > BUFFER_BYTES {
            buffer.lost += 1;
            return Err(Errno::ENOSPC);
        }
        buffer.bytes += data.len();
        buffer.samples.push_back(data);
        Ok(())
    }

    /// Takes all samples, and the number of lost ones.
    pub(crate) fn take(&self) -> (Vec<Sample>, u64) {
        let (mut samples, mut lost) = (Vec::new(), 0);
        for (cpu, buffer) in (0..).zip(&self.buffers) {
            let mut buffer = buffer.lock().unwrap_or_else(PoisonError::into_inner);
            samples.extend(buffer.samples.drain(..).map(|data| Sample { cpu, data }));
            lost += std::mem::take(&mut buffer.lost);
            buffer.bytes = 0;
        }
        (samples, lost)
    }
}

impl MapKind for PerfEventArray {
    /// The buffers exist from the beginning: no event can be stored.
    fn update(&self, key: &[u8], _value: &[u8], flags: u64) -> Result<(), Errno> {
        match (flags, index(key)) {
            (1.., _) => Err(Errno::EINVAL),
            (_, at) if at >= self.count => Err(Errno::E2BIG),
            _ => Err(Errno::EBADF),
        }
    }

    fn delete(&self, key: &[u8]) -> Result<(), Errno> {
        if index(key) < self.count { Err(Errno::ENOENT) } else { Err(Errno::E2BIG) }
    }

    fn next_key(&self, key: Option<&[u8]>, next: &mut [u8]) -> Result<(), Errno> {
        next_index(key, self.count, next)
    }

    fn locate(&self, _addr: u64, _size: usize) -> Option<(&Region, usize)> {
        None
    }
}

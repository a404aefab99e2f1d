//! `BPF_MAP_TYPE_USER_RINGBUF`: samples from one producer to programs, in the kernel's mmap layout.
//!
//! ```text
//!   page 0        ours
//!   page 1        u64 consumer position, written by who drains
//!   page 2        u64 producer position, written by the producer
//!   data          max_entries bytes, mapped twice, so that samples do not break at the end
//! ```
//!
//! A sample is a header of two u32 (length with the bits of a ring buffer record; unused) and the
//! data, rounded up to 8 bytes. Positions count bytes and never wrap.
//!
//! # Invariants
//! 1. Memory between the positions is controlled by the producer: everything read from it is
//!    checked before it is used.
//!
//! Kernel: `user_ringbuf_map_ops`, `bpf_user_ringbuf_drain` (6.18).

use super::kind::{MapKind, Resources};
use super::ringbuf::{BUSY, CONSUMER, DATA, DISCARD, HEADER, PRODUCER, record_bytes};
use crate::{Errno, Error};
use skep_mem::Region;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Mutex, PoisonError, TryLockError};

pub(crate) struct UserRingbuf {
    pages: Region,
    bytes: u64,
    /// Only one program drains at a time.
    draining: Mutex<()>,
    /// Only one thread produces at a time.
    producing: Mutex<()>,
}

/// The sample at the consumer's position.
enum Sample {
    /// Nothing that is committed.
    None,
    /// Bytes to be skipped.
    Discarded(u64),
    /// Address and length of the data, and bytes with header and padding.
    There { addr: u64, len: u32, bytes: u64 },
}

impl UserRingbuf {
    pub(super) fn new(bytes: u32, resources: &Resources) -> Result<UserRingbuf, Error> {
        let pages =
            Region::ring(DATA, bytes as usize, &resources.budget).map_err(Error::no_memory)?;
        let (draining, producing) = (Mutex::new(()), Mutex::new(()));
        Ok(UserRingbuf { pages, bytes: u64::from(bytes), draining, producing })
    }

    fn data(&self, position: u64) -> usize {
        DATA + (position & (self.bytes - 1)) as usize
    }

    /// Adds a sample.
    pub(crate) fn write(&self, data: &[u8]) -> Result<(), Errno> {
        let _one = self.producing.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = record_bytes(data.len() as u64);
        if bytes > self.bytes {
            return Err(Errno::E2BIG);
        }
        let consumed = self.pages.u64(CONSUMER).load(Acquire);
        let produced = self.pages.u64(PRODUCER).load(Relaxed);
        if produced.wrapping_sub(consumed) + bytes > self.bytes {
            return Err(Errno::ENOSPC);
        }
        let at = self.data(produced);
        self.pages.write(at + HEADER as usize, data);
        self.pages.u32(at + 4).store(0, Relaxed);
        self.pages.u32(at).store(data.len() as u32, Release);
        self.pages.u64(PRODUCER).store(produced + bytes, Release);
        Ok(())
    }

    fn peek(&self, consumed: u64) -> Result<Sample, Errno> {
        let produced = self.pages.u64(PRODUCER).load(Acquire);
        if !produced.is_multiple_of(8) {
            return Err(Errno::EINVAL);
        }
        if consumed >= produced {
            return Ok(Sample::None);
        }
        let at = self.data(consumed);
        let header = self.pages.u32(at).load(Acquire);
        if header & BUSY != 0 {
            return Ok(Sample::None);
        }
        let len = header & !DISCARD;
        let bytes = record_bytes(u64::from(len));
        if bytes > produced - consumed {
            return Err(Errno::EINVAL);
        }
        if bytes > self.bytes {
            return Err(Errno::E2BIG);
        }
        match header & DISCARD {
            0 => Ok(Sample::There { addr: self.pages.addr(at) + HEADER, len, bytes }),
            _ => Ok(Sample::Discarded(bytes)),
        }
    }

    /// Passes address and length of up to `count` samples to `each`, until it returns true to stop;
    /// returns the number of samples. A sample for which it returns nothing stays.
    pub(crate) fn drain(
        &self,
        count: u64,
        each: &mut dyn FnMut(u64, u32) -> Option<bool>,
    ) -> Result<u64, Errno> {
        let _one = match self.draining.try_lock() {
            Ok(one) => one,
            Err(TryLockError::Poisoned(one)) => one.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(Errno::EBUSY),
        };
        let mut given = 0;
        for _ in 0..count {
            let consumed = self.pages.u64(CONSUMER).load(Relaxed);
            let (bytes, stop) = match self.peek(consumed)? {
                Sample::None => break,
                Sample::Discarded(bytes) => (bytes, false),
                Sample::There { addr, len, bytes } => {
                    given += 1;
                    let Some(stop) = each(addr, len) else { break };
                    (bytes, stop)
                }
            };
            self.pages.u64(CONSUMER).store(consumed + bytes, Release);
            if stop {
                break;
            }
        }
        Ok(given)
    }
}

impl MapKind for UserRingbuf {
    fn locate(&self, addr: u64, size: usize) -> Option<(&Region, usize)> {
        // Programs see samples only.
        self.pages.locate(addr, size).filter(|(_, at)| *at >= DATA)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_mem::Budget;

    fn ring(bytes: u32) -> UserRingbuf {
        UserRingbuf::new(bytes, &Resources { cpus: 1, budget: Budget::new(1 << 30) }).unwrap()
    }

    fn drain(ring: &UserRingbuf, count: u64) -> Result<Vec<Vec<u8>>, Errno> {
        let mut samples = Vec::new();
        ring.drain(count, &mut |addr, len| {
            let at = ring.pages.offset_of(addr, len as usize).unwrap();
            samples.push(ring.pages.to_vec(at, len as usize));
            Some(false)
        })
        .map(|_| samples)
    }

    #[test]
    fn samples_come_in_order_around_the_end() {
        let ring = ring(4096);
        for round in 0..100u8 {
            let (long, short) = (vec![round; 3000], vec![round, 1]);
            ring.write(&long).unwrap();
            ring.write(&short).unwrap();
            assert_eq!(ring.write(&long), Err(Errno::ENOSPC));
            assert_eq!(drain(&ring, 1), Ok(vec![long]));
            assert_eq!(drain(&ring, 9), Ok(vec![short]));
        }
        assert_eq!(ring.write(&[0; 4089]), Err(Errno::E2BIG));
        assert_eq!(ring.write(&[0; 4088]), Ok(()));
    }

    #[test]
    fn busy_samples_are_waited_for_and_discarded_ones_passed_over() {
        let ring = ring(4096);
        (0..3).for_each(|n| ring.write(&[n]).unwrap());
        ring.pages.u32(DATA).store(1 | DISCARD, Relaxed);
        ring.pages.u32(DATA + 16).store(1 | BUSY, Relaxed);
        assert_eq!(drain(&ring, 9), Ok(vec![]));
        ring.pages.u32(DATA + 16).store(1, Relaxed);
        assert_eq!(drain(&ring, 9), Ok(vec![vec![1], vec![2]]));
    }

    #[test]
    fn what_a_producer_got_wrong_is_refused() {
        let ring = ring(4096);
        ring.write(&[7]).unwrap();
        ring.pages.u64(PRODUCER).store(15, Relaxed);
        assert_eq!(drain(&ring, 1), Err(Errno::EINVAL));
        ring.pages.u64(PRODUCER).store(16, Relaxed);
        ring.pages.u32(DATA).store(9, Relaxed);
        assert_eq!(drain(&ring, 1), Err(Errno::EINVAL));
        ring.pages.u64(PRODUCER).store(1 << 20, Relaxed);
        ring.pages.u32(DATA).store(4096, Relaxed);
        assert_eq!(drain(&ring, 1), Err(Errno::E2BIG));
        ring.pages.u32(DATA).store(4088, Relaxed);
        assert_eq!(ring.drain(1, &mut |_, _| Some(true)), Ok(1));
        assert_eq!(ring.pages.u64(CONSUMER).load(Relaxed), 4096);
    }

    #[test]
    fn one_drains_at_a_time() {
        let ring = ring(4096);
        ring.write(&[7]).unwrap();
        let mut inner = Ok(0);
        let outer = ring.drain(1, &mut |_, _| {
            inner = ring.drain(1, &mut |_, _| Some(true));
            Some(true)
        });
        assert_eq!((inner, outer), (Err(Errno::EBUSY), Ok(1)));
    }
}

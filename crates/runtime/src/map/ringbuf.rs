//! `BPF_MAP_TYPE_RINGBUF`: records from programs to one consumer, in the kernel's mmap layout.
//!
//! ```text
//!   page 0        ours (the kernel's own state is not mapped either)
//!   page 1        u64 consumer position, written by the consumer
//!   page 2        u64 producer position
//!   data          max_entries bytes, mapped twice, so that records do not break at the end
//! ```
//!
//! A record is a header of two u32 (length with the bits [`BUSY`] and [`DISCARD`], and the number
//! of pages back to page 0) and the data, rounded up to 8 bytes. Positions count bytes and never
//! wrap.
//!
//! # Invariants
//! 1. Between consumer and producer position are complete records; those from the first busy one on
//!    are not consumed.
//! 2. The producer position is at most the buffer size ahead of the consumer's, and of the first
//!    busy record.
//!
//! Kernel: `ringbuf_map_ops`, `bpf_ringbuf_reserve` and siblings (6.18).

use super::kind::{MapKind, Resources};
use super::record_waiters;
use crate::{Errno, Error};
use skep_mem::Region;
use skep_mem::spin::Spin;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Instant;

/// `BPF_RINGBUF_BUSY_BIT`: reserved, not committed.
pub(crate) const BUSY: u32 = 1 << 31;
/// `BPF_RINGBUF_DISCARD_BIT`: committed, to be skipped.
pub(crate) const DISCARD: u32 = 1 << 30;
/// `BPF_RB_NO_WAKEUP`.
const NO_WAKEUP: u64 = 1;
/// `BPF_RINGBUF_HDR_SZ`.
pub(crate) const HEADER: u64 = 8;
/// Largest record, bytes.
const RECORD_MAX: u64 = u32::MAX as u64 / 4;

const PAGE: usize = skep_uapi::limits::PAGE_SIZE_BYTES as usize;
pub(super) const CONSUMER: usize = PAGE;
pub(super) const PRODUCER: usize = 2 * PAGE;
pub(super) const DATA: usize = 3 * PAGE;

pub(crate) struct Ringbuf {
    pages: Region,
    mask: u64,
    /// Position of the first record that may be busy.
    pending: Spin<u64>,
    /// One consumer at a time.
    consuming: Mutex<()>,
    /// Which it is.
    consumer: Mutex<Option<ThreadId>>,
}

impl Ringbuf {
    pub(super) fn new(bytes: u32, resources: &Resources) -> Result<Ringbuf, Error> {
        let pages =
            Region::ring(DATA, bytes as usize, &resources.budget).map_err(Error::no_memory)?;
        let (pending, consuming) = (Spin::new(0), Mutex::new(()));
        let (mask, consumer) = (u64::from(bytes) - 1, Mutex::new(None));
        Ok(Ringbuf { pages, mask, pending, consuming, consumer })
    }

    fn data(&self, position: u64) -> usize {
        DATA + (position & self.mask) as usize
    }

    /// Size of the record at `position`, header and padding included, if it is committed.
    fn committed(&self, position: u64) -> Option<u64> {
        let header = self.pages.u32(self.data(position)).load(Acquire);
        (header & BUSY == 0).then(|| record_bytes(u64::from(header & !DISCARD)))
    }

    /// Reserves a record of `size` bytes: returns its address, 0 if there is no room.
    pub(crate) fn reserve(&self, size: u64) -> u64 {
        if size > RECORD_MAX {
            return 0;
        }
        let bytes = record_bytes(size);
        if bytes > self.mask + 1 {
            return 0;
        }
        let mut pending = self.pending.lock();
        let consumed = self.pages.u64(CONSUMER).load(Acquire);
        let produced = self.pages.u64(PRODUCER).load(Relaxed);
        while *pending < produced {
            let Some(bytes) = self.committed(*pending) else { break };
            *pending += bytes;
        }
        let end = produced + bytes;
        if end.wrapping_sub(consumed) > self.mask || end - *pending > self.mask {
            return 0;
        }
        let at = self.data(produced);
        self.pages.u32(at).store(size as u32 | BUSY, Relaxed);
        self.pages.u32(at + 4).store((at / PAGE) as u32, Relaxed);
        self.pages.u64(PRODUCER).store(end, Release);
        self.pages.addr(at) + HEADER
    }

    /// A whole record at once.
    pub(crate) fn output(&self, data: &[u8], flags: u64) -> Result<(), Errno> {
        let addr = self.reserve(data.len() as u64);
        let at = self.pages.offset_of(addr, data.len()).ok_or(Errno::EAGAIN)?;
        self.pages.write(at, data);
        commit_record(self.pages.u32(at - HEADER as usize), false, flags);
        Ok(())
    }

    /// `bpf_ringbuf_query`.
    pub(crate) fn query(&self, what: u64) -> u64 {
        let consumed = self.pages.u64(CONSUMER).load(Acquire);
        let produced = self.pages.u64(PRODUCER).load(Acquire);
        match what {
            0 => produced.saturating_sub(consumed),
            1 => self.mask + 1,
            2 => consumed,
            3 => produced,
            _ => 0,
        }
    }

    /// Waits until the next record is committed, or until the deadline: returns whether there is
    /// one.
    pub(crate) fn wait(&self, until: Instant) -> bool {
        record_waiters::wait(until, || {
            let consumed = self.pages.u64(CONSUMER).load(Acquire);
            let produced = self.pages.u64(PRODUCER).load(Acquire);
            consumed < produced && self.committed(consumed).is_some()
        })
    }

    /// Takes committed records in order; stops before the first uncommitted one, when `each`
    /// returns false, and after what was there at first: otherwise it would not end if `each` runs
    /// a program that adds a record, or if producers are faster. Returns the number passed to
    /// `each`.
    ///
    /// # Errors
    ///
    /// `EBUSY`: called from within `each`.
    pub(crate) fn consume(&self, each: &mut dyn FnMut(&[u8]) -> bool) -> Result<usize, Errno> {
        let here = thread::current().id();
        if *lock(&self.consumer) == Some(here) {
            return Err(Errno::EBUSY);
        }
        let _one = lock(&self.consuming);
        *lock(&self.consumer) = Some(here);
        let _here = Consumer(&self.consumer);
        let mut consumed = self.pages.u64(CONSUMER).load(Acquire);
        let mut count = 0;
        let produced = self.pages.u64(PRODUCER).load(Acquire);
        while consumed < produced {
            let at = self.data(consumed);
            let header = self.pages.u32(at).load(Acquire);
            if header & BUSY != 0 {
                break;
            }
            let mut go_on = true;
            if header & DISCARD == 0 {
                go_on = each(&self.pages.to_vec(at + HEADER as usize, header as usize));
                count += 1;
            }
            consumed += record_bytes(u64::from(header & !DISCARD));
            self.pages.u64(CONSUMER).store(consumed, Release);
            if !go_on {
                break;
            }
        }
        Ok(count)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread is consuming until this is dropped.
struct Consumer<'a>(&'a Mutex<Option<ThreadId>>);

impl Drop for Consumer<'_> {
    fn drop(&mut self) {
        *lock(self.0) = None;
    }
}

/// Ends a reservation: the word is the first of the record's header. Wakes waiters unless the flags
/// say otherwise.
pub(crate) fn commit_record(header: &AtomicU32, discard: bool, flags: u64) {
    header.fetch_xor(if discard { BUSY | DISCARD } else { BUSY }, AcqRel);
    if flags & NO_WAKEUP == 0 {
        record_waiters::notify();
    }
}

/// Space taken by a record of `size` bytes.
pub(super) fn record_bytes(size: u64) -> u64 {
    (size + HEADER).next_multiple_of(8)
}

impl MapKind for Ringbuf {
    fn locate(&self, addr: u64, size: usize) -> Option<(&Region, usize)> {
        // Programs see records only.
        self.pages.locate(addr, size).filter(|(_, at)| *at >= DATA)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_mem::{Budget, epoch};
    use std::time::Duration;

    fn ringbuf(bytes: u32) -> Ringbuf {
        Ringbuf::new(bytes, &Resources { cpus: 1, budget: Budget::new(1 << 30) }).unwrap()
    }

    fn consume(ring: &Ringbuf) -> Vec<Vec<u8>> {
        let mut records = Vec::new();
        let mut count = 0;
        let consumed = ring.consume(&mut |record| {
            count += 1;
            // Not from inside.
            assert_eq!(ring.consume(&mut |_| true), Err(Errno::EBUSY));
            records.push(record.to_vec());
            true
        });
        assert_eq!(consumed, Ok(count));
        records
    }

    #[test]
    fn no_record_is_larger_than_the_ring() {
        let _run = epoch::enter().unwrap();
        let ring = ringbuf(4096);
        for size in [4096 - HEADER + 1, 4096, 1 << 32, u64::MAX - HEADER, u64::MAX] {
            assert_eq!(ring.reserve(size), 0, "{size}");
        }
    }

    #[test]
    fn records_come_in_order_and_wait_for_busy_ones() {
        let _run = epoch::enter().unwrap();
        let ring = ringbuf(4096);
        let (first, second) = (ring.reserve(5), ring.reserve(8));
        ring.output(b"third", 0).unwrap();
        assert_eq!(second - first, 16);
        assert_eq!(consume(&ring), Vec::<Vec<u8>>::new());
        let commit = |addr: u64, discard| {
            let at = ring.pages.offset_of(addr - HEADER, 8).unwrap();
            commit_record(ring.pages.u32(at), discard, 0);
        };
        commit(second, true);
        commit(first, false);
        assert_eq!(consume(&ring), [vec![0; 5], b"third".to_vec()]);
        assert_eq!((ring.query(0), ring.query(1), ring.query(2)), (0, 4096, 48));
    }

    #[test]
    fn consuming_ends_although_each_record_brings_another() {
        let _run = epoch::enter().unwrap();
        let ring = ringbuf(4096);
        ring.output(b"first", 0).unwrap();
        let mut records = 0;
        let consumed = ring.consume(&mut |_| {
            records += 1;
            ring.output(b"another", 0).unwrap();
            records < 10
        });
        assert_eq!(consumed, Ok(1));
        assert_eq!(consume(&ring), [b"another"]);
    }

    #[test]
    fn a_record_crosses_the_end_and_the_buffer_fills() {
        let _run = epoch::enter().unwrap();
        let ring = ringbuf(4096);
        for round in 0..100u8 {
            let record = vec![round; 3000];
            ring.output(&record, 0).unwrap();
            assert_eq!(ring.output(&record, 0), Err(Errno::EAGAIN));
            assert_eq!(consume(&ring), [record]);
        }
        assert_eq!(ring.reserve(4096 - 8), 0);
        assert_ne!(ring.reserve(4096 - 16), 0);
    }

    #[test]
    fn who_waits_is_woken_by_a_commit() {
        let ring = ringbuf(4096);
        let in_ms = |ms| Instant::now() + Duration::from_millis(ms);
        assert!(!ring.wait(in_ms(5)));
        // Not for records that ask for no waking, which are there all the same.
        let run = epoch::enter().unwrap();
        ring.output(b"quiet", NO_WAKEUP).unwrap();
        drop(run);
        assert!(ring.wait(in_ms(0)));
        assert_eq!(consume(&ring), [b"quiet"]);
        thread::scope(|scope| {
            scope.spawn(|| {
                let _run = epoch::enter().unwrap();
                for n in 0..200u8 {
                    while ring.query(0) > 0 {
                        std::hint::spin_loop();
                    }
                    ring.output(&[n], 0).unwrap();
                }
            });
            for n in 0..200u8 {
                // Much longer than the test is to take: what is not woken shows.
                assert!(ring.wait(in_ms(60_000)));
                assert_eq!(consume(&ring), [[n]]);
            }
        });
    }

    #[test]
    fn nothing_is_lost_between_threads() {
        let ring = ringbuf(4096);
        thread::scope(|scope| {
            for thread in 0..2u64 {
                let ring = &ring;
                scope.spawn(move || {
                    let _run = epoch::enter().unwrap();
                    for n in 0..20_000u64 {
                        let record = (thread << 32 | n).to_ne_bytes();
                        while ring.output(&record, 0).is_err() {
                            thread::yield_now();
                        }
                    }
                });
            }
            let mut next = [0u64; 2];
            while next != [20_000; 2] {
                for record in consume(&ring) {
                    let n = u64::from_ne_bytes(record.try_into().unwrap());
                    assert_eq!(n as u32 as u64, next[(n >> 32) as usize]);
                    next[(n >> 32) as usize] += 1;
                }
            }
        });
    }
}

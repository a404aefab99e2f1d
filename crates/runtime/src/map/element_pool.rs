//! Elements of a hash map: one region, with allocation and reclamation by shard.
//!
//! Freed elements wait in their shard's queue until no run can hold a pointer to them (`epoch`),
//! because readers walk chains without a lock and programs keep pointers to values.
//!
//! # Invariants
//! 1. An element is in exactly one state: never used (index above `fresh`), in one shard's queue or
//!    among its spares, or owned by a caller (linked in a chain, or about to be).
//! 2. A queue is sorted by age, linked by `LINK`; its elements keep `NEXT`, so that a reader at one
//!    can continue.
//! 3. `reused` of a shard is incremented before an element is reused that a run may still hold.
//!    That happens to a thread that is the only one and frees more than [`HELD_MIN`] elements of a
//!    shard in one run (more would not stay in the L1 cache), and if current runs hold all elements
//!    of the region. The kernel's maps reuse elements immediately.

use crate::{Errno, Error};
use skep_mem::epoch;
use skep_mem::spin::{Guard, Spin};
use skep_mem::{AtomicWords, Budget, Region};
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, fence};

/// Header of an element, byte offsets of its words: next in the chain, hash, next in the queue (or
/// [`LIVE`]), and the epoch of its removal, or for a live element whether it was looked up.
pub(super) const NEXT: usize = 0;
pub(super) const HASH: usize = 4;
const LINK: usize = 8;
const MARK: usize = 12;
/// Bytes of the header.
pub(super) const HEADER: usize = 16;

/// No element: elements are numbered from 1.
pub(super) const NIL: u32 = 0;
/// `LINK` of a live element.
const LIVE: u32 = u32::MAX;
/// Number of freed elements that a shard keeps before it checks whether runs have ended.
const QUEUE_MIN: u32 = 512;
/// The initial increment of that number if runs are still in progress.
const PATIENCE_MIN: u32 = 8;
/// Number of elements kept from reuse by the run that removed them, if its thread is the only one.
const HELD_MIN: u32 = 16;
/// The same for replaced elements: the spares of a shard.
const SPARES: usize = HELD_MIN as usize;

/// A shard's queue.
pub(super) struct Queue {
    oldest: u32,
    newest: u32,
    len: u32,
    /// Queue length from which on it is worth checking again.
    look_at: u32,
    /// The next increment after an unsuccessful check.
    patience: u32,
    /// Elements that a lone thread has replaced, in a ring; [`NIL`] until first used.
    spares: [u32; SPARES],
    spare_at: usize,
}

impl Queue {
    fn new() -> Queue {
        let (oldest, newest) = (NIL, NIL);
        let (look_at, patience, spares) = (QUEUE_MIN, 0, [NIL; SPARES]);
        Queue { oldest, newest, len: 0, look_at, patience, spares, spare_at: 0 }
    }

    /// Exchanges a replaced element for the oldest spare; `None` if there is none yet. For a thread
    /// that is the only one.
    #[inline(always)]
    pub(super) fn exchange(&mut self, replaced: u32) -> Option<u32> {
        let spare = &mut self.spares[self.spare_at % SPARES];
        if *spare == NIL {
            return None;
        }
        self.spare_at += 1;
        Some(std::mem::replace(spare, replaced))
    }

    /// Adds a replaced element to the spares, if the ring is not full yet.
    fn keep(&mut self, replaced: u32) -> bool {
        let spare = &mut self.spares[self.spare_at % SPARES];
        if *spare != NIL {
            return false;
        }
        *spare = replaced;
        self.spare_at += 1;
        true
    }
}

pub(super) struct ElementPool {
    region: Region,
    element_size: usize,
    capacity: u32,
    fresh: AtomicU32,
    shards: Box<[Shard]>,
}

/// The lock of a shard's chains, and data that readers access without it.
struct Shard {
    queue: Spin<Queue>,
    /// Changes under the lock.
    reused: AtomicU32,
}

/// Two words of a header in one.
fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

impl ElementPool {
    /// Space for `count` elements of `size` bytes, plus those in the queues.
    pub(super) fn new(
        count: u32,
        size: usize,
        shards: usize,
        budget: &Arc<Budget>,
    ) -> Result<ElementPool, Error> {
        let too_many = || Error::memory(Errno::E2BIG.to_string()).because(Errno::E2BIG);
        let capacity = u64::from(count) + shards as u64 * u64::from(QUEUE_MIN + HELD_MIN + 1);
        let capacity = u32::try_from(capacity).map_err(|_| too_many())?;
        let element_size = size.next_multiple_of(16);
        let bytes = element_size.checked_mul(capacity as usize).ok_or_else(too_many)?;
        let region = Region::zeroed(bytes, budget).map_err(Error::no_memory)?;
        Ok(ElementPool {
            region,
            element_size,
            capacity,
            fresh: AtomicU32::new(0),
            shards: (0..shards)
                .map(|_| Shard { queue: Spin::new(Queue::new()), reused: AtomicU32::new(0) })
                .collect(),
        })
    }

    #[inline]
    pub(super) fn region(&self) -> &Region {
        &self.region
    }

    /// Elements that can ever exist.
    pub(super) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Number of elements ever allocated.
    pub(super) fn used(&self) -> u32 {
        self.fresh.load(Acquire).min(self.capacity)
    }

    /// Offset of an element in the region.
    #[inline]
    pub(super) fn offset(&self, element: u32) -> usize {
        self.element_size * (element as usize - 1)
    }

    /// An element's words.
    #[inline(always)]
    pub(super) fn view<T: AtomicWords>(&self, element: u32) -> &T {
        self.region.view(self.offset(element))
    }

    /// Offset of the element that contains an address.
    pub(super) fn element_at(&self, addr: u64) -> Option<usize> {
        let off = self.region.offset_of(addr, 1)?;
        Some(off - off % self.element_size)
    }

    /// How often an element of a shard was reused that a run may still hold.
    #[inline]
    pub(super) fn reused(&self, hash: u32) -> u32 {
        self.shard_of(hash).reused.load(Acquire)
    }

    #[inline]
    fn shard_of(&self, hash: u32) -> &Shard {
        &self.shards[hash as usize & (self.shards.len() - 1)]
    }

    /// Locks the chains of `hash`'s shard.
    #[inline(always)]
    pub(super) fn lock(&self, hash: u32) -> Guard<'_, Queue> {
        self.shard_of(hash).queue.lock()
    }

    /// The lock for the chains of `other`, if that is another shard than `hash`'s and not locked.
    pub(super) fn try_lock_other(&self, hash: u32, other: u32) -> Option<Option<Guard<'_, Queue>>> {
        if std::ptr::eq(self.shard_of(hash), self.shard_of(other)) {
            return Some(None);
        }
        self.shard_of(other).queue.try_lock().map(Some)
    }

    /// Whether an element is live.
    pub(super) fn is_live(&self, element: u32) -> bool {
        self.region.u32(self.offset(element) + LINK).load(Acquire) == LIVE
    }

    /// Whether an element was looked up, or marked, since the last call.
    pub(super) fn take_mark(&self, element: u32) -> bool {
        let mark = self.region.u32(self.offset(element) + MARK);
        let marked = mark.load(Relaxed) != 0;
        if marked {
            mark.store(0, Relaxed);
        }
        marked
    }

    /// Marks the element at `off` as recently used.
    #[inline]
    pub(super) fn mark(&self, off: usize) {
        let mark = self.region.u32(off + MARK);
        if mark.load(Relaxed) == 0 {
            mark.store(1, Relaxed);
        }
    }

    /// Allocates an element, which is not yet visible to others.
    #[inline(always)]
    pub(super) fn take(&self, queue: &mut Queue) -> Option<u32> {
        self.take_waiting(queue).or_else(|| self.take_fresh()).or_else(|| {
            // Full: the rest is reserved for other shards' queues.
            self.steal(queue)
        })
    }

    /// Writes the header of an allocated element, before it becomes visible.
    #[inline(always)]
    pub(super) fn begin(&self, off: usize, next: u32, hash: u32, marked: bool) {
        self.region.u64(off + NEXT).store(pair(next, hash), Relaxed);
        self.region.u64(off + LINK).store(pair(LIVE, marked.into()), Relaxed);
    }

    /// Exchanges an element that is being replaced for a spare; for a thread that is the only one.
    #[inline(always)]
    pub(super) fn exchange(&self, queue: &mut Queue, replaced: u32) -> Option<u32> {
        if epoch::is_lone() { queue.exchange(replaced) } else { None }
    }

    /// Frees an element that was just replaced.
    #[inline(always)]
    pub(super) fn put_replaced(&self, queue: &mut Queue, element: u32) {
        if !epoch::is_lone() || !queue.keep(element) {
            self.put(queue, element);
        }
    }

    /// Frees an element that was just unlinked.
    #[inline(always)]
    pub(super) fn put(&self, queue: &mut Queue, element: u32) {
        let off = self.offset(element);
        self.region.u64(off + LINK).store(pair(NIL, epoch::tag() as u32), Relaxed);
        match queue.newest {
            NIL => queue.oldest = element,
            newest => self.region.u32(self.offset(newest) + LINK).store(element, Relaxed),
        }
        queue.newest = element;
        queue.len += 1;
    }

    #[inline(always)]
    fn take_waiting(&self, queue: &mut Queue) -> Option<u32> {
        if queue.oldest == NIL {
            return None;
        }
        let tag = self.removed_at(queue.oldest);
        if epoch::is_free(tag) {
            return Some(self.pop(queue));
        }
        if queue.len < HELD_MIN {
            return None;
        }
        if epoch::is_lone() {
            return Some(self.pop_held(queue));
        }
        if queue.len < queue.look_at {
            return None;
        }
        epoch::advance();
        if epoch::is_free(tag) {
            (queue.look_at, queue.patience) = (QUEUE_MIN, 0);
            return Some(self.pop(queue));
        }
        // Short runs, possibly including this one, end soon; for long ones, checking all the time
        // is wasteful.
        queue.patience = (2 * queue.patience).clamp(PATIENCE_MIN, QUEUE_MIN);
        queue.look_at = queue.len + queue.patience;
        None
    }

    fn take_fresh(&self) -> Option<u32> {
        if self.fresh.load(Relaxed) >= self.capacity {
            return None;
        }
        let index = self.fresh.fetch_add(1, AcqRel);
        (index < self.capacity).then(|| index + 1)
    }

    #[cold]
    fn steal(&self, queue: &mut Queue) -> Option<u32> {
        if queue.oldest != NIL {
            return Some(self.pop_held(queue));
        }
        self.shards.iter().find_map(|shard| {
            let mut other = shard.queue.try_lock()?;
            (other.oldest != NIL).then(|| self.pop_held(&mut other))
        })
    }

    /// The epoch in which a queued element was freed, from its low 32 bits.
    #[inline(always)]
    fn removed_at(&self, element: u32) -> u64 {
        let low = self.region.u32(self.offset(element) + MARK).load(Relaxed);
        let now = epoch::tag();
        now - u64::from((now as u32).wrapping_sub(low))
    }

    #[inline(always)]
    fn pop_held(&self, queue: &mut Queue) -> u32 {
        let element = self.pop(queue);
        // The element's chain belongs to the shard of its old hash, whose lock is held, and so does
        // the queue.
        let hash = self.region.u32(self.offset(element) + HASH).load(Relaxed);
        let reused = &self.shard_of(hash).reused;
        reused.store(reused.load(Relaxed).wrapping_add(1), Release);
        // Writes to the element are not visible before the counter.
        fence(Release);
        element
    }

    #[inline(always)]
    fn pop(&self, queue: &mut Queue) -> u32 {
        let element = queue.oldest;
        queue.oldest = self.region.u32(self.offset(element) + LINK).load(Relaxed);
        if queue.oldest == NIL {
            queue.newest = NIL;
        }
        queue.len -= 1;
        element
    }
}

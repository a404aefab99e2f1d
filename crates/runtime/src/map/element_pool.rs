//! Elements of a hash map: one region, handed out and taken back by shards.
//!
//! What is taken back waits in its shard's queue until no run can hold it (`epoch`), because
//! readers walk chains without a lock and programs keep pointers to values.
//!
//! # Invariants
//! 1. An element is in exactly one place: never used (index above `fresh`), in one shard's queue or
//!    among its spares, or the holder's (linked in a chain, or about to be).
//! 2. A queue is oldest first, linked by `LINK`; its elements keep `NEXT`, so that a reader who
//!    stands on one goes on.
//! 3. `reused` of a shard counts before an element is handed out that a run may still hold. That
//!    happens to a thread that is alone and takes more than [`HELD_MIN`] elements of a shard back
//!    in a run (more would not stay in the first-level cache), and where runs that go on keep all
//!    elements that the region has. The kernel's maps reuse at once.

use crate::{Errno, Error};
use skep_mem::epoch;
use skep_mem::spin::{Guard, Spin};
use skep_mem::{AtomicWords, Budget, Region};
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, fence};

/// Header of an element, byte offsets of its words: next in the chain, hash, next in the queue (or
/// [`LIVE`]), and the epoch of its removal, or while it lives whether it was looked up.
pub(super) const NEXT: usize = 0;
pub(super) const HASH: usize = 4;
const LINK: usize = 8;
const MARK: usize = 12;
/// Bytes of the header.
pub(super) const HEADER: usize = 16;

/// No element: elements count from 1.
pub(super) const NIL: u32 = 0;
/// `LINK` of an element in use.
const LIVE: u32 = u32::MAX;
/// Elements that a shard keeps back before it asks whether runs have ended.
const QUEUE_MIN: u32 = 512;
/// Elements more that a shard keeps back if some run goes on, the first time.
const PATIENCE_MIN: u32 = 8;
/// Elements that a shard keeps back from the run that has removed them itself, and is alone.
const HELD_MIN: u32 = 16;
/// The same, of elements that were replaced: their places are the spares of a shard.
const SPARES: usize = HELD_MIN as usize;

/// A shard's queue.
pub(super) struct Queue {
    oldest: u32,
    newest: u32,
    len: u32,
    /// Length from which on it is worth asking again.
    look_at: u32,
    /// How much longer it was to become when the last question was in vain.
    patience: u32,
    /// Elements that a lone thread has replaced, in a ring; [`NIL`] before the first time round.
    spares: [u32; SPARES],
    spare_at: usize,
}

impl Queue {
    fn new() -> Queue {
        let (oldest, newest) = (NIL, NIL);
        let (look_at, patience, spares) = (QUEUE_MIN, 0, [NIL; SPARES]);
        Queue { oldest, newest, len: 0, look_at, patience, spares, spare_at: 0 }
    }

    /// Gives the spare that has waited longest for an element that is replaced by it; `None` if
    /// there is none yet. For a thread that is alone.
    #[inline(always)]
    pub(super) fn exchange(&mut self, replaced: u32) -> Option<u32> {
        let spare = &mut self.spares[self.spare_at % SPARES];
        if *spare == NIL {
            return None;
        }
        self.spare_at += 1;
        Some(std::mem::replace(spare, replaced))
    }

    /// Keeps a replaced element as a spare where there is none yet.
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

/// The lock of a shard's chains, and what readers look at without it.
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
    /// Room for `count` elements of `size` bytes and what waits in the queues.
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

    /// Elements that were ever handed out.
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

    /// Offset of the element around an address.
    pub(super) fn element_at(&self, addr: u64) -> Option<usize> {
        let off = self.region.offset_of(addr, 1)?;
        Some(off - off % self.element_size)
    }

    /// How often an element of a shard was handed out that a run may still hold.
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

    /// The lock for the chains of `other`, if it is another one than that of `hash` and free.
    pub(super) fn try_lock_other(&self, hash: u32, other: u32) -> Option<Option<Guard<'_, Queue>>> {
        if std::ptr::eq(self.shard_of(hash), self.shard_of(other)) {
            return Some(None);
        }
        self.shard_of(other).queue.try_lock().map(Some)
    }

    /// Whether an element is in use.
    pub(super) fn is_live(&self, element: u32) -> bool {
        self.region.u32(self.offset(element) + LINK).load(Acquire) == LIVE
    }

    /// Whether an element was looked up since it was last asked, or marked.
    pub(super) fn take_mark(&self, element: u32) -> bool {
        let mark = self.region.u32(self.offset(element) + MARK);
        let marked = mark.load(Relaxed) != 0;
        if marked {
            mark.store(0, Relaxed);
        }
        marked
    }

    /// Marks the element at `off` as used recently.
    #[inline]
    pub(super) fn mark(&self, off: usize) {
        let mark = self.region.u32(off + MARK);
        if mark.load(Relaxed) == 0 {
            mark.store(1, Relaxed);
        }
    }

    /// Takes an element that nobody can see.
    #[inline(always)]
    pub(super) fn take(&self, queue: &mut Queue) -> Option<u32> {
        self.take_waiting(queue).or_else(|| self.take_fresh()).or_else(|| {
            // Full: what is reserved for other shards' queues is there.
            self.steal(queue)
        })
    }

    /// Writes the header of an element that was taken, before anybody sees it.
    #[inline(always)]
    pub(super) fn begin(&self, off: usize, (next, hash): (u32, u32), marked: bool) {
        self.region.u64(off + NEXT).store(pair(next, hash), Relaxed);
        self.region.u64(off + LINK).store(pair(LIVE, marked.into()), Relaxed);
    }

    /// A spare in exchange for an element that it replaces, for a thread that is alone.
    #[inline(always)]
    pub(super) fn exchange(&self, queue: &mut Queue, replaced: u32) -> Option<u32> {
        if epoch::is_lone() { queue.exchange(replaced) } else { None }
    }

    /// Takes an element back that another one has replaced just now.
    #[inline(always)]
    pub(super) fn put_replaced(&self, queue: &mut Queue, element: u32) {
        if !epoch::is_lone() || !queue.keep(element) {
            self.put(queue, element);
        }
    }

    /// Takes an element back that was unlinked just now.
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
        // Short runs, such as this one perhaps, have ended soon; long ones are not to be asked for
        // all the time.
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

    /// The epoch in which an element of a queue was put there, from its low 32 bits.
    #[inline(always)]
    fn removed_at(&self, element: u32) -> u64 {
        let low = self.region.u32(self.offset(element) + MARK).load(Relaxed);
        let now = epoch::tag();
        now - u64::from((now as u32).wrapping_sub(low))
    }

    #[inline(always)]
    fn pop_held(&self, queue: &mut Queue) -> u32 {
        let element = self.pop(queue);
        // The chain that the element was in belongs to the shard of its old hash, whose lock is
        // held: the queue is that shard's.
        let hash = self.region.u32(self.offset(element) + HASH).load(Relaxed);
        let reused = &self.shard_of(hash).reused;
        reused.store(reused.load(Relaxed).wrapping_add(1), Release);
        // What is written to the element now is not seen before the count.
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

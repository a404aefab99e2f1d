//! `BPF_MAP_TYPE_HASH`, `LRU_HASH`, and the per-CPU variants: chains that readers walk without a
//! lock.
//!
//! An update replaces the old element by a new one, so a reader sees the old or the new value; only
//! per-CPU values are written in place. Writers of a shard exclude each other.
//!
//! A full LRU map evicts an element that was not looked up since the clock hand last passed it
//! (second chance); the kernel's lists give a similar choice, but not the same.
//!
//! # Invariants
//! 1. A chain changes only under the lock of its shard; from every prefix that a reader has seen,
//!    the chain's end is reachable.
//! 2. At most `max_entries` elements are linked.
//!
//! Kernel: `htab_map_ops` and its three siblings (6.18). The order of keys differs, as the seed
//! does.

use super::element_pool::{ElementPool, HASH, HEADER, NEXT, NIL, Queue};
use super::hash_function::{hash_of, word};
use super::kind::{BPF_EXIST, BPF_F_LOCK, MapKind, Resources, check_exists};
use super::percpu_values::PercpuValues;
use super::value::ValueLayout;
use crate::{Errno, Error};
use skep_mem::Region;
use skep_uapi::{MapFlags, MapShape, MapType};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, fence};

/// Number of locks of a map that is large enough for several.
const SHARDS: usize = 8;
/// Number of buckets from which on a map is large enough.
const SHARDED_BUCKETS: usize = 64;
/// Rounds of the clock hand before an LRU map is considered full, because everything is being
/// looked up.
const HAND_TURNS: u32 = 3;

pub(crate) struct Hash {
    pub(super) pool: ElementPool,
    heads: Region,
    mask: u32,
    pub(super) seed: u64,
    /// Whether keys and values are words (`hash_word`).
    pub(super) words: bool,
    /// Offset of the value in an element, bytes.
    value_at: usize,
    layout: ValueLayout,
    /// The values, if each CPU has its own.
    percpu: Option<PercpuValues>,
    lru: bool,
    /// The position of an LRU map's clock hand.
    hand: AtomicU32,
    max_entries: u32,
    count: AtomicU32,
}

/// An element in its chain: the word that links it, and its index.
struct Found {
    /// Offset in `heads`, or of an element's `NEXT`.
    link: Link,
    element: u32,
}

#[derive(Clone, Copy)]
enum Link {
    Head(usize),
    Next(usize),
}

impl Hash {
    pub(super) fn new(
        map_type: MapType,
        shape: &MapShape,
        layout: ValueLayout,
        resources: &Resources,
    ) -> Result<Hash, Error> {
        use MapType as T;
        let max_entries = shape.max_entries;
        let too_big = || Error::memory(Errno::E2BIG.to_string()).because(Errno::E2BIG);
        let buckets = max_entries.checked_next_power_of_two().ok_or_else(too_big)? as usize;
        let shards = if buckets >= SHARDED_BUCKETS { SHARDS } else { 1 };
        let key_size = shape.key_size as usize;
        let value_at = HEADER + key_size.next_multiple_of(8);
        let is_percpu = matches!(map_type, T::PercpuHash | T::LruPercpuHash);
        let size = if is_percpu { value_at } else { value_at + layout.stride() };
        let pool = ElementPool::new(max_entries, size, shards, &resources.budget)?;
        let percpu = match is_percpu {
            true => Some(PercpuValues::new(
                pool.capacity(),
                &layout,
                resources.cpus,
                &resources.budget,
            )?),
            false => None,
        };
        let zero_seed = shape.flags.contains(MapFlags::ZERO_SEED);
        Ok(Hash {
            heads: Region::zeroed(4 * buckets, &resources.budget).map_err(Error::no_memory)?,
            pool,
            mask: buckets as u32 - 1,
            seed: if zero_seed { 0 } else { RandomState::new().hash_one(0) },
            words: !is_percpu && has_words(key_size, &layout),
            value_at,
            layout,
            percpu,
            lru: matches!(map_type, T::LruHash | T::LruPercpuHash),
            hand: AtomicU32::new(0),
            max_entries,
            count: AtomicU32::new(0),
        })
    }

    #[inline(always)]
    pub(super) fn head(&self, hash: u32) -> &AtomicU32 {
        self.link(self.bucket(hash))
    }

    #[inline(always)]
    fn link(&self, link: Link) -> &AtomicU32 {
        match link {
            Link::Head(off) => self.heads.u32(off),
            Link::Next(off) => self.pool.region().u32(off),
        }
    }

    #[inline(always)]
    fn bucket(&self, hash: u32) -> Link {
        Link::Head(4 * (hash & self.mask) as usize)
    }

    /// Walks a chain.
    #[inline(always)]
    fn walk(&self, hash: u32, key: &[u8]) -> Option<Found> {
        let region = self.pool.region();
        let mut link = self.bucket(hash);
        loop {
            let element = self.link(link).load(Acquire);
            if element == NIL {
                return None;
            }
            let off = self.pool.offset(element);
            let same = key.len() <= 8 || region.u32(off + HASH).load(Relaxed) == hash;
            if same && region.equals(off + HEADER, key) {
                return Some(Found { link, element });
            }
            link = Link::Next(off + NEXT);
        }
    }

    /// Finds an element without the lock.
    #[inline(always)]
    fn find(&self, key: &[u8]) -> Option<u32> {
        let hash = hash_of(key, self.seed);
        let before = self.pool.reused(hash);
        let found = self.walk(hash, key);
        fence(Acquire);
        if found.is_none() && self.pool.reused(hash) != before {
            // The walk may have strayed into another chain.
            let _lock = self.pool.lock(hash);
            return Some(self.walk(hash, key)?.element);
        }
        Some(found?.element)
    }

    /// Address of this thread's value in an element.
    #[inline]
    fn value_addr(&self, element: u32) -> u64 {
        match &self.percpu {
            None => self.pool.region().addr(self.pool.offset(element) + self.value_at),
            Some(values) => values.mine(element),
        }
    }

    /// Writes a value: for programs this CPU's, for user space (`all`) every CPU's.
    #[inline(always)]
    fn write_value(&self, element: u32, value: &[u8], all: bool) {
        match &self.percpu {
            None => {
                let at = self.pool.offset(element) + self.value_at;
                self.layout.write(self.pool.region(), at, value);
            }
            Some(values) if all => values.write_all(element, value),
            Some(values) => values.write_mine(element, value),
        }
    }

    #[inline(never)]
    fn set(&self, key: &[u8], value: &[u8], flags: u64, all: bool) -> Result<(), Errno> {
        let allowed = if self.layout.has_lock() { BPF_F_LOCK } else { 0 };
        if flags & !allowed > BPF_EXIST {
            return Err(Errno::EINVAL);
        }
        if flags & BPF_F_LOCK != 0
            && let Some(element) = self.find(key)
        {
            check_exists(true, flags)?;
            let at = self.pool.offset(element) + self.value_at;
            return self.layout.write_locked(self.pool.region(), at, value);
        }
        let hash = hash_of(key, self.seed);
        let mut queue = self.pool.lock(hash);
        let old = self.walk(hash, key);
        check_exists(old.is_some(), flags)?;
        if let (Some(old), true) = (&old, self.percpu.is_some()) {
            self.pool.mark(self.pool.offset(old.element));
            self.write_value(old.element, value, all);
            return Ok(());
        }
        let spare = old.as_ref().and_then(|old| self.pool.exchange(&mut queue, old.element));
        let element = match spare {
            Some(spare) => spare,
            None => self.take(&mut queue, hash, old.is_none())?,
        };
        // A reader finds the old or the new element.
        let (link, next) = match &old {
            Some(old) => (self.link(old.link), self.next_of(old.element)),
            None => (self.link(self.bucket(hash)), self.link(self.bucket(hash)).load(Relaxed)),
        };
        self.pool.begin(self.pool.offset(element), next, hash, old.is_some());
        self.fill(element, key, value, all);
        link.store(element, Release);
        if let Some(old) = old {
            self.forget_fields(old.element);
            if spare.is_none() {
                self.pool.put_replaced(&mut queue, old.element);
            }
        }
        Ok(())
    }

    /// A new, invisible element, counted if the number of elements grows.
    fn take(&self, queue: &mut Queue, hash: u32, more: bool) -> Result<u32, Errno> {
        if more {
            self.count_one(queue, hash)?;
        }
        self.pool.take(queue).ok_or_else(|| {
            if more {
                self.count.fetch_sub(1, Relaxed);
            }
            Errno::ENOMEM
        })
    }

    /// Counts a new element, evicting one from a full LRU map.
    fn count_one(&self, queue: &mut Queue, hash: u32) -> Result<(), Errno> {
        if self.count.fetch_add(1, Relaxed) < self.max_entries {
            return Ok(());
        }
        if self.lru && self.evict(queue, hash) {
            return Ok(());
        }
        self.count.fetch_sub(1, Relaxed);
        Err(if self.lru { Errno::ENOMEM } else { Errno::E2BIG })
    }

    /// Writes a new, invisible element.
    #[inline(always)]
    fn fill(&self, element: u32, key: &[u8], value: &[u8], all: bool) {
        let (region, off) = (self.pool.region(), self.pool.offset(element));
        region.write(off + HEADER, key);
        match &self.percpu {
            Some(values) => values.clear(element),
            None if self.layout.has_holes() => {
                self.layout.release(region, off + self.value_at);
                region.clear(off + self.value_at, self.layout.stride());
            }
            None => {}
        }
        self.write_value(element, value, all);
    }

    fn next_of(&self, element: u32) -> u32 {
        self.pool.region().u32(self.pool.offset(element) + NEXT).load(Relaxed)
    }

    /// Releases everything that values hold; no run that could use it is in progress.
    fn release_all(&self) {
        if self.layout.owns() {
            (1..=self.pool.used()).for_each(|element| self.forget_fields(element));
        }
    }

    /// Unlinks an element; the lock is held.
    #[inline(always)]
    fn unlink(&self, queue: &mut Queue, found: &Found) {
        self.link(found.link).store(self.next_of(found.element), Release);
        self.forget_fields(found.element);
        self.pool.put(queue, found.element);
    }

    /// Timers and objects in a value are freed with it.
    #[inline(always)]
    fn forget_fields(&self, element: u32) {
        if let Some(timer) = self.layout.timer() {
            let at = self.pool.offset(element) + self.value_at + timer;
            self.pool.region().u64(at).store(0, Relaxed);
        }
        if self.layout.owns() {
            let at = self.pool.offset(element) + self.value_at;
            self.layout.release(self.pool.region(), at);
        }
    }

    /// Evicts an element that was not used recently. The caller holds the lock for `hash`.
    fn evict(&self, queue: &mut Queue, hash: u32) -> bool {
        let used = self.pool.used();
        for _ in 0..used.saturating_mul(HAND_TURNS) {
            let element = self.hand.fetch_add(1, Relaxed) % used + 1;
            if !self.pool.is_live(element) || self.pool.take_mark(element) {
                continue;
            }
            let off = self.pool.offset(element);
            let its_hash = self.pool.region().u32(off + HASH).load(Relaxed);
            let Some(mut other) = self.pool.try_lock_other(hash, its_hash) else { continue };
            // It may have been removed before the lock was taken.
            let found = self.walk_to(its_hash, element);
            let queue = other.as_deref_mut().unwrap_or(queue);
            if let Some(found) = found {
                self.unlink(queue, &found);
                self.count.fetch_sub(1, Relaxed);
                return true;
            }
        }
        false
    }

    /// Finds an element by its index in the chain of `hash`; the lock is held.
    fn walk_to(&self, hash: u32, element: u32) -> Option<Found> {
        let mut link = self.bucket(hash);
        loop {
            match self.link(link).load(Relaxed) {
                NIL => return None,
                at if at == element => return Some(Found { link, element }),
                at => link = Link::Next(self.pool.offset(at) + NEXT),
            }
        }
    }

    /// Copies a value, if the key exists.
    pub(super) fn read_into(&self, key: &[u8], value: &mut [u8]) -> bool {
        let region = self.pool.region();
        let mut copy = |element| region.read(self.pool.offset(element) + self.value_at, value);
        self.copy(key, &mut copy).is_some()
    }

    /// Passes the element of `key` to `copy`, repeatedly if it may have been reused meanwhile.
    fn copy<T>(&self, key: &[u8], copy: &mut dyn FnMut(u32) -> T) -> Option<T> {
        let hash = hash_of(key, self.seed);
        self.settled(hash, || self.walk(hash, key).map(|found| copy(found.element)))
    }

    /// Runs `look` on the chains of a hash's shard; if elements were reused meanwhile, runs it
    /// again under the lock.
    fn settled<T>(&self, hash: u32, mut look: impl FnMut() -> T) -> T {
        let before = self.pool.reused(hash);
        let seen = look();
        fence(Acquire);
        if self.pool.reused(hash) == before {
            return seen;
        }
        // Nothing is allocated while the lock is held.
        let _lock = self.pool.lock(hash);
        look()
    }

    /// Reads the key of an element, if it is live.
    fn read_key(&self, element: u32, key: &mut [u8]) -> bool {
        if element != NIL {
            self.pool.region().read(self.pool.offset(element) + HEADER, key);
        }
        element != NIL
    }
}

/// Whether keys, of `key_size` bytes, and values are words, and values have no special fields.
fn has_words(key_size: usize, layout: &ValueLayout) -> bool {
    matches!(key_size, 4 | 8) && matches!(layout.size, 4 | 8) && !layout.has_holes()
}

impl Hash {
    /// `update`, monomorphised by the compiler for known lengths.
    #[inline(always)]
    pub(crate) fn update_entry(&self, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        if let (Some(k), Some(v), 0 | BPF_EXIST) = (word(key), word(value), flags)
            && self.replace_word(k, v)
        {
            return Ok(());
        }
        self.set(key, value, flags, false)
    }

    /// `lookup`, monomorphised by the compiler for a known key length.
    #[inline(always)]
    pub(crate) fn find_value(&self, key: &[u8]) -> u64 {
        let Some(element) = self.find(key) else { return 0 };
        if self.lru {
            self.pool.mark(self.pool.offset(element));
        }
        self.value_addr(element)
    }
}

impl Drop for Hash {
    fn drop(&mut self) {
        self.release_all();
    }
}

impl MapKind for Hash {
    fn lookup(&self, key: &[u8]) -> u64 {
        self.find_value(key)
    }

    fn lookup_cpu(&self, key: &[u8], cpu: u32) -> u64 {
        let (Some(values), Some(element)) = (&self.percpu, self.find(key)) else { return 0 };
        values.of_cpu(element, cpu)
    }

    fn update(&self, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        self.update_entry(key, value, flags)
    }

    fn delete(&self, key: &[u8]) -> Result<(), Errno> {
        let hash = hash_of(key, self.seed);
        let mut queue = self.pool.lock(hash);
        let found = self.walk(hash, key).ok_or(Errno::ENOENT)?;
        self.unlink(&mut queue, &found);
        self.count.fetch_sub(1, Relaxed);
        Ok(())
    }

    fn next_key(&self, key: Option<&[u8]>, next: &mut [u8]) -> Result<(), Errno> {
        let mut from = 0;
        if let Some(key) = key {
            let hash = hash_of(key, self.seed);
            let behind = self.settled(hash, || {
                let found = self.walk(hash, key)?;
                let link = Link::Next(self.pool.offset(found.element) + NEXT);
                Some(self.read_key(self.link(link).load(Acquire), next))
            });
            match behind {
                Some(true) => return Ok(()),
                Some(false) => from = (hash & self.mask) + 1,
                None => {}
            }
        }
        let first = |bucket: u32, next: &mut [u8]| {
            let head = self.head(bucket);
            // The bucket number determines the shard.
            head.load(Relaxed) != NIL
                && self.settled(bucket, || self.read_key(head.load(Acquire), next))
        };
        let found = (from..=self.mask).any(|bucket| first(bucket, next));
        if found { Ok(()) } else { Err(Errno::ENOENT) }
    }

    fn read(&self, key: &[u8]) -> Result<Vec<u8>, Errno> {
        let copied = self.copy(key, &mut |element| match &self.percpu {
            Some(values) => values.read_all(element),
            None => {
                let at = self.pool.offset(element) + self.value_at;
                self.layout.read(self.pool.region(), at)
            }
        });
        copied.ok_or(Errno::ENOENT)
    }

    fn write(&self, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        self.set(key, value, flags, true)
    }

    fn entry_at(&self, addr: u64) -> Option<(u64, u64)> {
        let off = self.pool.element_at(addr)?;
        let region = self.pool.region();
        Some((region.addr(off + HEADER), region.addr(off + self.value_at)))
    }

    fn for_each(&self, each: &mut dyn FnMut(u64, u64) -> bool) -> Result<u32, Errno> {
        let mut count = 0;
        for bucket in 0..=self.mask as usize {
            let mut element = self.heads.u32(4 * bucket).load(Acquire);
            while element != NIL {
                let off = self.pool.offset(element);
                count += 1;
                if each(self.pool.region().addr(off + HEADER), self.value_addr(element)) {
                    return Ok(count);
                }
                element = self.pool.region().u32(off + NEXT).load(Acquire);
            }
        }
        Ok(count)
    }

    fn locate(&self, addr: u64, size: usize) -> Option<(&Region, usize)> {
        let percpu = || self.percpu.as_ref()?.locate(addr, size);
        self.pool.region().locate(addr, size).or_else(percpu)
    }

    fn user_value_size(&self, shape: &MapShape) -> usize {
        let one = || shape.value_size as usize;
        self.percpu.as_ref().map_or_else(one, PercpuValues::user_size)
    }
}

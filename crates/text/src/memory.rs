//! `Memory`: the allocated ranges of the pools, in this process and its children.
//!
//! The mappings are not inherited by `fork` (`pool`): writing to a shared one would change the
//! parent's code. Before `fork` the text lock is taken, so that no batch is incomplete in the
//! child, and each pool is copied to new memory, which the child maps in place of the pool. The
//! copy is made before the fork, because the parent continues while the child starts: it may have
//! freed programs that the child has, and reused their memory. Machine code, sites and addresses
//! stay valid, and neither process sees changes of the other.
//!
//! A child without a copy (the host refused, or it was created by a raw system call, which is not
//! reported) has no code; in the first case [`fork::is_lost`] returns true.
//!
//! # Invariants
//! 1. A range that was freed is reused only after all threads have synchronised their instruction
//!    streams; if the host refuses that, only while no thread runs code
//!    ([`epoch::may_replace_code`]).

#![allow(unsafe_code)]

use crate::pool::{Copied, Pool, Region, memfd_is_refused};
use rustix::io::Errno;
use skep_mem::fork::Hooks;
use skep_mem::{Answer, barrier, epoch, fork};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Size of a pool, bytes. Only pages that hold code take memory.
const POOL_BYTES: usize = 32 << 20;
/// Ranges are multiples of a cache line.
const GRAIN: usize = 64;

/// All memory for machine code.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    region: Option<Region>,
    pools: Vec<Share>,
}

/// An allocated range.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The number of its pool.
    pub(crate) pool: usize,
    pub(crate) range: Range<usize>,
}

/// A pool, and its free ranges.
#[derive(Debug)]
struct Share {
    pool: Pool,
    /// Sorted.
    free: Vec<Range<usize>>,
    /// Start of the memory that was never used.
    fresh: usize,
}

static MEMORY: Mutex<Memory> = Mutex::new(Memory { region: None, pools: Vec::new() });

/// The text lock.
pub(crate) fn lock() -> MutexGuard<'static, Memory> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Addresses within reach of a call from any possible position of code.
pub(crate) fn reach() -> Result<Range<u64>, Errno> {
    if fork::is_lost() {
        return Err(Errno::NOMEM);
    }
    watch_forks();
    let mut memory = lock();
    let region = match memory.region.take() {
        Some(region) => region,
        None => Region::new()?,
    };
    let reach = region.reach();
    memory.region = Some(region);
    Ok(reach)
}

impl Memory {
    /// Before `fork`: a copy of all code, for the child.
    pub(crate) fn copy(&self) -> Result<Vec<Copied>, Errno> {
        // SAFETY: `fresh` bytes of the pool were given away; `&self` is behind the text lock.
        let copy = |share: &Share| unsafe { share.pool.copy(share.fresh) };
        self.pools.iter().map(copy).collect()
    }

    /// In a child: puts its copy in place.
    pub(crate) fn adopt(&mut self, copies: Vec<Copied>) -> Result<(), Errno> {
        if self.pools.is_empty() {
            return Ok(());
        }
        barrier::register_child()?;
        let mut pools = self.pools.iter_mut().zip(copies);
        pools.try_for_each(|(share, copy)| share.pool.adopt(copy))
    }

    /// Allocates a range.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<Place, Errno> {
        let bytes = bytes.next_multiple_of(GRAIN);
        let used_before = |share: &Share| share.free.iter().position(|free| free.len() >= bytes);
        let found = self.pools.iter().enumerate();
        let found = found.filter_map(|(number, share)| Some((number, used_before(share)?))).next();
        if let Some((number, at)) = found
            && epoch::may_replace_code()
        {
            let free = &mut self.pools[number].free;
            let range = free[at].start..free[at].start + bytes;
            free[at].start = range.end;
            if free[at].is_empty() {
                free.remove(at);
            }
            return Ok(Place { pool: number, range });
        }
        let has_room = |share: &Share| share.pool.len - share.fresh >= bytes;
        let number = match self.pools.iter().position(has_room) {
            Some(number) => number,
            None => {
                let region = self.region.as_mut().ok_or(Errno::NOMEM)?;
                let len = POOL_BYTES.max(bytes.next_multiple_of(POOL_BYTES));
                let pool = Pool::new(region, len, memfd_is_refused_here().is_none())?;
                self.pools.push(Share { pool, free: Vec::new(), fresh: 0 });
                self.pools.len() - 1
            }
        };
        let fresh = &mut self.pools[number].fresh;
        let range = *fresh..*fresh + bytes;
        *fresh = range.end;
        Ok(Place { pool: number, range })
    }

    /// A pool by its number.
    pub(crate) fn pool(&self, number: usize) -> &Pool {
        &self.pools[number].pool
    }

    pub(crate) fn give_back(&mut self, Place { pool, range }: Place) {
        let Some(share) = self.pools.get_mut(pool) else { return };
        let free = &mut share.free;
        let at = free.partition_point(|other| other.start < range.start);
        free.insert(at, range);
        if at + 1 < free.len() && free[at].end == free[at + 1].start {
            free[at].end = free[at + 1].end;
            free.remove(at + 1);
        }
        if at > 0 && free[at - 1].end == free[at].start {
            free[at - 1].end = free[at].end;
            free.remove(at);
        }
    }
}

/// Why the host does not allow patching, if so: it refuses sealed `memfd`s, or core-synchronising
/// `membarrier`. Checked once.
pub fn patching_is_refused() -> Option<(&'static str, Errno)> {
    let memfd = memfd_is_refused_here().map(|errno| ("memfd_create", errno));
    memfd.or_else(|| barrier::synchronising_is_refused().map(|errno| ("membarrier", errno)))
}

/// Why a `memfd` is refused, if it is. Checked once.
pub(crate) fn memfd_is_refused_here() -> Option<Errno> {
    static ANSWER: Answer = Answer::unknown();
    ANSWER.get(memfd_is_refused)
}

/// Keeps machine code valid in children of `fork`.
fn watch_forks() {
    static HOOKS: Hooks = Hooks { before: hold, in_parent: release, in_child: adopt };
    // The child finds these results already known.
    patching_is_refused();
    // Registered first, so that a child has its code before it checks which threads run.
    epoch::watch_forks();
    fork::add_hooks(&HOOKS);
}

thread_local! {
    /// Held while this thread forks.
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

struct Held {
    memory: MutexGuard<'static, Memory>,
    /// The child's code, if the host has provided memory for it.
    copies: Result<Vec<Copied>, Errno>,
}

fn hold() {
    let memory = lock();
    let copies = memory.copy();
    let _ = HELD.try_with(|held| held.replace(Some(Held { memory, copies })));
}

fn release() {
    let _ = HELD.try_with(RefCell::take);
}

fn adopt() {
    let held = HELD.try_with(RefCell::take).ok().flatten();
    let adopted = held
        .is_some_and(|Held { mut memory, copies }| copies.and_then(|it| memory.adopt(it)).is_ok());
    if !adopted {
        fork::lose_code();
    }
}

//! `Memory`: who has which range of the pools, in this process and in its children.
//!
//! The mappings are not inherited by `fork` (`pool`): writing to a shared one would change the
//! parent's code. Before `fork` the text lock is taken, so that no batch is half done in the child,
//! and each pool is copied to new memory; in the child that is mapped where the pool was. The copy
//! is made before, since the parent goes on while the child starts: programs that the child has may
//! be gone there, and others lie in their place. Machine code, sites and addresses stay good, and
//! what one process patches the other does not see.
//!
//! A child without a copy (the host refuses, or it was made by a raw system call, of which nobody
//! tells us) has no code; in the first case [`fork::is_lost`] says so.
//!
//! # Invariants
//! 1. A range that was given back is given out again only after all threads have synchronised their
//!    instruction streams; where the host refuses to see to that, only while no thread runs code
//!    ([`epoch::may_replace_code`]).

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

/// A pool, and which of its ranges no image has.
#[derive(Debug)]
struct Share {
    pool: Pool,
    /// In order.
    free: Vec<Range<usize>>,
    /// Where never used memory starts.
    fresh: usize,
}

static MEMORY: Mutex<Memory> = Mutex::new(Memory { region: None, pools: Vec::new() });

/// The text lock.
pub(crate) fn lock() -> MutexGuard<'static, Memory> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Addresses that a call from wherever code may be placed reaches.
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
        self.pools.iter().map(|share| share.pool.copy(share.fresh)).collect()
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

    /// Takes a range: pool and place in it.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(usize, Range<usize>), Errno> {
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
            return Ok((number, range));
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
        Ok((number, range))
    }

    /// A pool by its number.
    pub(crate) fn pool(&self, number: usize) -> &Pool {
        &self.pools[number].pool
    }

    pub(crate) fn give_back(&mut self, (pool, range): (usize, Range<usize>)) {
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

/// Machine code is to be right in children of `fork`.
fn watch_forks() {
    static HOOKS: Hooks = Hooks { before: hold, in_parent: release, in_child: adopt };
    // What the child asks is known by then.
    patching_is_refused();
    // First of all, so that a child has its code before it looks who runs.
    epoch::watch_forks();
    fork::add_hooks(&HOOKS);
}

thread_local! {
    /// Held while this thread forks.
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

struct Held {
    memory: MutexGuard<'static, Memory>,
    /// The child's code, if the host gives memory for it.
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

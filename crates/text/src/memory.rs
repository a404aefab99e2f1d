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

use crate::pool::{At, Copied, Placed, Pool, Region, Supply, memfd_is_refused};
use rustix::io::Errno;
use skep_mem::fork::Hooks;
use skep_mem::{Answer, barrier, epoch, fork};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Size of a pool, bytes. Only pages that hold code take memory.
const POOL_BYTES: usize = 32 << 20;

/// All memory for machine code.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    region: Option<Region>,
    pools: Vec<Pool>,
}

/// The place of a program's code.
#[derive(Debug)]
pub(crate) struct Place {
    /// The number of its pool.
    pool: usize,
    placed: Placed,
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
        self.pools.iter().map(Pool::copy).collect()
    }

    /// In a child: puts its copy in place.
    pub(crate) fn adopt(&mut self, copies: Vec<Copied>) -> Result<(), Errno> {
        if self.pools.is_empty() {
            return Ok(());
        }
        barrier::register_child()?;
        let mut pools = self.pools.iter_mut().zip(copies);
        pools.try_for_each(|(pool, copy)| pool.adopt(copy))
    }

    /// Writes code, which `relocate` adapts to its address.
    pub(crate) fn put(
        &mut self,
        code: &mut [u8],
        relocate: &dyn Fn(&mut [u8], u64),
    ) -> Result<(Place, At), Errno> {
        let has_freed = self.pools.iter().any(|pool| pool.has_freed(code.len()));
        let freed = (has_freed && epoch::may_replace_code()).then_some(Supply::Freed);
        for supply in freed.into_iter().chain([Supply::Fresh]) {
            for (number, pool) in self.pools.iter_mut().enumerate() {
                if let Some((placed, at)) = pool.put(code, supply, relocate) {
                    return Ok((Place { pool: number, placed }, at));
                }
            }
        }
        let region = self.region.as_mut().ok_or(Errno::NOMEM)?;
        let len = POOL_BYTES.max(code.len().next_multiple_of(POOL_BYTES));
        let mut pool = Pool::new(region, len, memfd_is_refused_here().is_none())?;
        let put = pool.put(code, Supply::Fresh, relocate);
        self.pools.push(pool);
        let (placed, at) = put.ok_or(Errno::NOMEM)?;
        Ok((Place { pool: self.pools.len() - 1, placed }, at))
    }

    pub(crate) fn free(&mut self, Place { pool, placed }: Place) {
        if let Some(pool) = self.pools.get_mut(pool) {
            pool.free(placed);
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

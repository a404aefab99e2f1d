//! Barriers between threads that run programs and those that reclaim memory: the heavy side pays,
//! if the kernel has `membarrier`.

use super::local::slot;
use crate::barrier;
use rustix::io::Errno;
use rustix::thread::{MembarrierCommand, MembarrierQuery, membarrier, membarrier_query};
use std::sync::atomic::{AtomicU32, Ordering, compiler_fence, fence};

/// One past the highest slot ever used.
pub(super) static SLOTS_USED: AtomicU32 = AtomicU32::new(0);

/// One past the highest number of a slot that any thread has had.
#[inline]
pub fn slots_used() -> usize {
    SLOTS_USED.load(Ordering::SeqCst) as usize
}

/// All threads' earlier stores are visible, and their later loads are later; false if the host
/// refuses.
pub fn heavy_barrier() -> bool {
    try_heavy_barrier().is_ok()
}

pub(super) fn try_heavy_barrier() -> Result<(), Errno> {
    fence(Ordering::SeqCst);
    // The only thread that runs programs need not wait for others.
    let mine = usize::from(slot().is_some());
    if slots_used() > mine && has_membarrier() {
        return membarrier(MembarrierCommand::PrivateExpedited);
    }
    Ok(())
}

/// The counterpart in a thread that enters a run.
#[inline]
pub(super) fn light_barrier() {
    if has_membarrier() {
        compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
}

/// Whether the kernel provides barriers; otherwise every entry has a fence of its own. Threads that
/// do not know yet query it, and the first one sets the result: no thread waits for another, which
/// may not exist in a child of `fork`.
#[inline]
pub(super) fn has_membarrier() -> bool {
    match MEMBARRIER.load(Ordering::Relaxed) {
        UNKNOWN => register_membarrier(),
        state => state == YES,
    }
}

/// What [`has_membarrier`] knows.
static MEMBARRIER: AtomicU32 = AtomicU32::new(UNKNOWN);
const UNKNOWN: u32 = 0;
const YES: u32 = 1;
const NO: u32 = 2;

#[cold]
fn register_membarrier() -> bool {
    // Miri has none: there every entry has a fence.
    let is_there = !cfg!(miri)
        && membarrier_query().contains(MembarrierQuery::PRIVATE_EXPEDITED)
        && barrier::synchronising_is_refused().is_none()
        && membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok();
    let mine = if is_there { YES } else { NO };
    let set = Ordering::Relaxed;
    let known = MEMBARRIER.compare_exchange(UNKNOWN, mine, set, set).err();
    known.unwrap_or(mine) == YES
}

/// In a child of `fork`: registers as the parent did, since it is not documented to be inherited.
pub(super) fn register_again() {
    if has_membarrier() {
        let _ = membarrier(MembarrierCommand::RegisterPrivateExpedited);
    }
}

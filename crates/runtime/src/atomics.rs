//! Atomic insns of interpreted programs, on the memory of the run.

use skep_interp::{AtomicAccess, AtomicOp};
use skep_mem::Region;
use std::sync::atomic::Ordering::SeqCst;

/// An atomic change of 4 or 8 aligned bytes; the old value.
pub(crate) fn atomic(region: &Region, off: usize, access: AtomicAccess) -> u64 {
    let value = access.value;
    if access.size == 4 {
        let (word, value) = (region.u32(off), value as u32);
        return u64::from(match access.op {
            AtomicOp::Add => word.fetch_add(value, SeqCst),
            AtomicOp::Or => word.fetch_or(value, SeqCst),
            AtomicOp::And => word.fetch_and(value, SeqCst),
            AtomicOp::Xor => word.fetch_xor(value, SeqCst),
            AtomicOp::Xchg => word.swap(value, SeqCst),
            AtomicOp::Cmpxchg(old) => {
                word.compare_exchange(old as u32, value, SeqCst, SeqCst).unwrap_or_else(|seen| seen)
            }
        });
    }
    let word = region.u64(off);
    match access.op {
        AtomicOp::Add => word.fetch_add(value, SeqCst),
        AtomicOp::Or => word.fetch_or(value, SeqCst),
        AtomicOp::And => word.fetch_and(value, SeqCst),
        AtomicOp::Xor => word.fetch_xor(value, SeqCst),
        AtomicOp::Xchg => word.swap(value, SeqCst),
        AtomicOp::Cmpxchg(old) => {
            word.compare_exchange(old, value, SeqCst, SeqCst).unwrap_or_else(|seen| seen)
        }
    }
}

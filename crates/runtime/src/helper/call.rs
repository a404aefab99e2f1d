//! Access to the arguments of some helper calls, and calls of program functions.
//!
//! The invariants are those of [`Call`].

#![allow(unsafe_code)]

use super::dynptr::{Dynptr, Span};
use crate::current::Frames;
use crate::run::{Call, Func};
use skep_jit::RunEnv;
use skep_mem::Mem;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

impl Call {
    /// The string to which argument `n` points, `ARG_PTR_TO_CONST_STR`.
    pub(super) fn constant_string(&self, n: usize) -> &[u8] {
        // SAFETY: invariants: the verifier has found its end, in a read-only map.
        unsafe { std::ffi::CStr::from_ptr(self.arg(n) as *const std::ffi::c_char) }.to_bytes()
    }

    /// The header of the ring buffer record to which argument `n` points.
    pub(super) fn record_header(&self, n: usize) -> &AtomicU32 {
        // SAFETY: invariants: what `bpf_ringbuf_reserve` gave.
        unsafe { header_of(self.arg(n)) }
    }

    /// The same for a record behind a dynptr.
    pub(super) fn header_behind(&self, record: &Dynptr) -> &AtomicU32 {
        // SAFETY: invariants: what `bpf_ringbuf_reserve_dynptr` gave.
        unsafe { header_of(record.addr()) }
    }

    /// For the per-CPU object to which argument `n` points: the distance between copies, and their
    /// number.
    pub(super) fn copies(&self, n: usize) -> (u64, u64) {
        let head = self.arg(n).wrapping_sub(crate::objects::COPIES_HEAD as u64);
        // SAFETY: invariants: the result of `bpf_percpu_obj_new`, which lives as long as the run;
        // the bytes before it were written before any program had it.
        let head = unsafe { Mem::new(head, 16) };
        (head.u64(0).load(Relaxed), head.u64(8).load(Relaxed))
    }

    /// Memory behind a dynptr.
    pub(super) fn behind(&self, span: Span) -> Mem<'_> {
        // SAFETY: invariants: the verifier knows that the dynptr refers to memory that still
        // belongs to the program; the span is inside its bounds.
        unsafe { Mem::new(span.addr(), span.len()) }
    }

    /// The pointer to which argument `n` points, shared with other threads: a kptr.
    pub(super) fn pointer(&self, n: usize) -> &AtomicU64 {
        // SAFETY: invariants: a `__kptr` field of a map value, 8 bytes and aligned.
        unsafe { AtomicU64::from_ptr(self.arg(n) as *mut u64) }
    }

    /// The word to which argument `n` points, shared with other threads: a lock.
    pub(super) fn word(&self, n: usize) -> &AtomicU32 {
        // SAFETY: invariants: a `bpf_spin_lock` in a map value, 4 bytes and aligned.
        unsafe { AtomicU32::from_ptr(self.arg(n) as *mut u32) }
    }
}

/// # Safety
///
/// `record` belongs to a live ring buffer: it is preceded by an aligned header.
unsafe fn header_of<'a>(record: u64) -> &'a AtomicU32 {
    let at = (record as *mut u8).wrapping_sub(crate::map::ringbuf::HEADER as usize);
    // SAFETY: the caller's promise.
    unsafe { AtomicU32::from_ptr(at.cast()) }
}

/// Calls a compiled function of a program.
///
/// # Safety
///
/// The function's program is alive, `args` are as assumed by the verifier, and `env` belongs to the
/// run.
pub(crate) unsafe fn call_machine_code(
    func: Func,
    args: [u64; 5],
    env: Option<&RunEnv>,
    frames: &Frames,
) -> u64 {
    // Functions that verification did not reach are removed. It may be wrong about that, as the
    // kernel's is for values fetched by atomics: a call of such a function stops the run.
    let addr @ 1.. = func.addr() else { return 1 };
    // SAFETY: the caller's promise.
    unsafe { crate::processor::function(addr, args, env, frames.top()) }
}

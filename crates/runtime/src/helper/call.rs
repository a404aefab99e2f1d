//! What the arguments of some calls of helpers lead to, and how functions of programs are called.
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
    /// The string that argument `n` points to, `ARG_PTR_TO_CONST_STR`.
    pub(super) fn constant_string(&self, n: usize) -> &[u8] {
        // SAFETY: invariants: the verifier has seen its end, in a map that nobody writes.
        unsafe { std::ffi::CStr::from_ptr(self.arg(n) as *const std::ffi::c_char) }.to_bytes()
    }

    /// The header in front of the ring buffer's record that argument `n` points to.
    pub(super) fn record_header(&self, n: usize) -> &AtomicU32 {
        // SAFETY: invariants: what `bpf_ringbuf_reserve` gave.
        unsafe { header_of(self.arg(n)) }
    }

    /// The same of a record behind a dynptr.
    pub(super) fn header_behind(&self, record: &Dynptr) -> &AtomicU32 {
        // SAFETY: invariants: what `bpf_ringbuf_reserve_dynptr` gave.
        unsafe { header_of(record.addr()) }
    }

    /// Of the object of which each CPU has a copy, that argument `n` points to: the distance of the
    /// copies, and how many there are.
    pub(super) fn copies(&self, n: usize) -> (u64, u64) {
        let head = self.arg(n).wrapping_sub(crate::objects::COPIES_HEAD as u64);
        // SAFETY: invariants: what `bpf_percpu_obj_new` gave, which is there as long as the run,
        // and what stands in front of it was written before any program had it.
        let head = unsafe { Mem::new(head, 16) };
        (head.u64(0).load(Relaxed), head.u64(8).load(Relaxed))
    }

    /// Memory behind a dynptr.
    pub(super) fn behind(&self, span: Span) -> Mem<'_> {
        // SAFETY: invariants: the verifier knows the dynptr as one that was made of memory which
        // is still the program's; the span is inside of its bounds.
        unsafe { Mem::new(span.addr(), span.len()) }
    }

    /// The pointer that argument `n` points to, shared with other threads: a kptr.
    pub(super) fn pointer(&self, n: usize) -> &AtomicU64 {
        // SAFETY: invariants: a `__kptr` field of a map's value, 8 bytes and aligned.
        unsafe { AtomicU64::from_ptr(self.arg(n) as *mut u64) }
    }

    /// The word that argument `n` points to, shared with other threads: a lock.
    pub(super) fn word(&self, n: usize) -> &AtomicU32 {
        // SAFETY: invariants: a `bpf_spin_lock` in a map's value, 4 bytes and aligned.
        unsafe { AtomicU32::from_ptr(self.arg(n) as *mut u32) }
    }
}

/// # Safety
///
/// `record` is a ring buffer's, and the buffer is there: a header that is aligned is in front.
unsafe fn header_of<'a>(record: u64) -> &'a AtomicU32 {
    let at = (record as *mut u8).wrapping_sub(crate::map::ringbuf::HEADER as usize);
    // SAFETY: the caller's promise.
    unsafe { AtomicU32::from_ptr(at.cast()) }
}

/// Calls a program's function that was compiled.
///
/// # Safety
///
/// The program of the function is there, `args` are as the verifier assumed of them, and `env` is
/// that of the run.
pub(crate) unsafe fn call_machine_code(
    func: Func,
    args: [u64; 5],
    (env, frames): (*mut RunEnv, &Frames),
) -> u64 {
    // A function that no path walked is gone. The walk can be wrong about that, as the kernel's is
    // about numbers that atomics fetch: who would call it stops.
    let addr @ 1.. = func.addr() else { return 1 };
    // SAFETY: the caller's promise.
    unsafe { crate::enter::function(addr, args, env, frames.top()) }
}

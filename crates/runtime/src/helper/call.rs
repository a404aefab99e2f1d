//! `Call`: the arguments of one call of a helper, and the only way from them to memory.
//!
//! # Invariants
//! 1. A `Call` exists only while the helper runs that the program called, and the verifier has
//!    proved of its arguments what the helper's prototype says (`skep_uapi::helper`): maps are
//!    maps, memory has the size that goes with it, the context is the run's.
//! 2. A helper asks for what its prototype promises, no more.

#![allow(unsafe_code)]

use super::dynptr::{Dynptr, Span};
use crate::Errno;
use crate::current::Frames;
use crate::map::Map;
use crate::mem::{Bytes, Mem};
use skep_jit::RunEnv;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Arguments in the order of the registers.
pub(crate) struct Call {
    args: [u64; 5],
}

impl Call {
    /// # Safety
    ///
    /// Invariant 1.
    #[inline]
    pub(crate) unsafe fn new(args: [u64; 5]) -> Call {
        Call { args }
    }

    /// Argument `n`, from 0.
    #[inline]
    pub(crate) fn arg(&self, n: usize) -> u64 {
        self.args[n]
    }

    /// Argument `n` as an int.
    pub(crate) fn int(&self, n: usize) -> i32 {
        self.args[n] as i32
    }

    /// Argument `n`, `ARG_CONST_MAP_PTR`.
    #[inline]
    pub(crate) fn map(&self, n: usize) -> &Map {
        // SAFETY: invariants: a handle is `Arc::as_ptr` of a map that the program, or a map of
        // maps below this run's epoch, keeps alive.
        unsafe { &*(self.args[n] as *const Map) }
    }

    /// Memory of `len` bytes that argument `n` points to: readable for the size that the prototype
    /// goes with, and writable where it says so.
    #[inline(always)]
    pub(crate) fn mem(&self, n: usize, len: usize) -> Mem<'_> {
        // An argument that may be null comes with no bytes then.
        // SAFETY: invariants; what is memory of the run, of a map, or of an object of the runtime
        // is there as long as the run, and reached by atomic accesses only (`memory`).
        unsafe { Mem::new(self.args[n], len) }
    }

    /// A copy of `len` bytes that argument `n` points to.
    #[inline(always)]
    pub(crate) fn bytes(&self, n: usize, len: usize) -> Bytes {
        self.mem(n, len).copy()
    }

    /// Writes to the memory that argument `n` points to.
    #[inline]
    pub(crate) fn write(&self, n: usize, bytes: &[u8]) {
        self.mem(n, bytes.len()).write(bytes);
    }

    /// Writes `offset` bytes behind where argument `n` points to.
    pub(crate) fn write_at(&self, n: usize, offset: usize, bytes: &[u8]) {
        self.mem(n, offset + bytes.len()).part(offset, bytes.len()).write(bytes);
    }

    /// Zeroes `len` bytes of the memory that argument `n` points to.
    pub(crate) fn zero(&self, n: usize, len: usize) {
        self.mem(n, len).fill(0);
    }

    /// The function that argument `n` is, `ARG_PTR_TO_FUNC`.
    pub(crate) fn func(&self, n: usize) -> Func {
        Func(self.args[n])
    }

    /// The string that argument `n` points to, `ARG_PTR_TO_CONST_STR`.
    pub(super) fn constant_string(&self, n: usize) -> &[u8] {
        // SAFETY: invariants: the verifier has seen its end, in a map that nobody writes.
        unsafe { std::ffi::CStr::from_ptr(self.args[n] as *const std::ffi::c_char) }.to_bytes()
    }

    /// The header in front of the ring buffer's record that argument `n` points to.
    pub(super) fn record_header(&self, n: usize) -> &AtomicU32 {
        // SAFETY: invariants: what `bpf_ringbuf_reserve` gave.
        unsafe { header_of(self.args[n]) }
    }

    /// The same of a record behind a dynptr.
    pub(super) fn header_behind(&self, record: &Dynptr) -> &AtomicU32 {
        // SAFETY: invariants: what `bpf_ringbuf_reserve_dynptr` gave.
        unsafe { header_of(record.addr()) }
    }

    /// Of the object of which each CPU has a copy, that argument `n` points to: the distance of the
    /// copies, and how many there are.
    pub(super) fn copies(&self, n: usize) -> (u64, u64) {
        let head = self.args[n].wrapping_sub(crate::objects::COPIES_HEAD as u64);
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
        unsafe { AtomicU64::from_ptr(self.args[n] as *mut u64) }
    }

    /// The word that argument `n` points to, shared with other threads: a lock.
    pub(super) fn word(&self, n: usize) -> &AtomicU32 {
        // SAFETY: invariants: a `bpf_spin_lock` in a map's value, 4 bytes and aligned.
        unsafe { AtomicU32::from_ptr(self.args[n] as *mut u32) }
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

/// A function of a program: what that gave a helper for one, and nobody else makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Func(u64);

impl Func {
    /// Its address, to find the program by.
    pub(crate) fn addr(self) -> u64 {
        self.0
    }
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
    let Func(addr @ 1..) = func else { return 1 };
    // SAFETY: the caller's promise.
    unsafe { crate::enter::function(addr, args, env, frames.top()) }
}

/// What a helper that says 0 or an errno returns.
pub(super) fn ret(result: Result<(), Errno>) -> u64 {
    match result {
        Ok(()) => 0,
        Err(errno) => errno.as_ret(),
    }
}

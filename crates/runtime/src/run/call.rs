//! `Call`: the arguments of one call of a helper, and the only way from them to memory.
//!
//! # Invariants
//! 1. A `Call` exists only while the helper runs that the program called, and the verifier has
//!    proved of its arguments what the helper's prototype says (`skep_uapi::helper`): maps are
//!    maps, memory has the size that goes with it, the context is the run's.
//! 2. A helper asks for what its prototype promises, no more.

#![allow(unsafe_code)]

use crate::Errno;
use crate::map::Map;
use skep_mem::{Bytes, Mem};

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

/// What a helper that says 0 or an errno returns.
pub(crate) fn ret(result: Result<(), Errno>) -> u64 {
    match result {
        Ok(()) => 0,
        Err(errno) => errno.as_ret(),
    }
}

//! `Call`: the arguments of one helper call, and the helper's only access to memory through them.
//!
//! # Invariants
//! 1. A `Call` exists only while the called helper runs, and the verifier has proved that its
//!    arguments match the helper's prototype (`skep_uapi::helper`): maps are maps, memory has the
//!    corresponding size, the context is the run's.
//! 2. A helper only uses what its prototype guarantees.

#![allow(unsafe_code)]

use crate::Errno;
use crate::map::Map;
use skep_mem::{Bytes, Mem};

/// Arguments in register order.
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
        // SAFETY: invariants: a handle is `Arc::as_ptr` of a map that the program, or an outer map
        // below this run's epoch, keeps alive.
        unsafe { &*(self.args[n] as *const Map) }
    }

    /// Memory of `len` bytes to which argument `n` points: readable for the size given by the
    /// prototype, and writable where the prototype says so.
    #[inline(always)]
    pub(crate) fn mem(&self, n: usize, len: usize) -> Mem<'_> {
        // An argument that may be null has no bytes then. SAFETY: invariants; memory of the run, of
        // a map, or of an object of the runtime lives as long as the run, and is accessed
        // atomically only (`memory`).
        unsafe { Mem::new(self.args[n], len) }
    }

    /// A copy of the `len` bytes to which argument `n` points.
    #[inline(always)]
    pub(crate) fn bytes(&self, n: usize, len: usize) -> Bytes {
        self.mem(n, len).copy()
    }

    /// Writes to the memory to which argument `n` points.
    #[inline]
    pub(crate) fn write(&self, n: usize, bytes: &[u8]) {
        self.mem(n, bytes.len()).write(bytes);
    }

    /// Writes at `offset` bytes into the memory to which argument `n` points.
    pub(crate) fn write_at(&self, n: usize, offset: usize, bytes: &[u8]) {
        self.mem(n, offset + bytes.len()).part(offset, bytes.len()).write(bytes);
    }

    /// Zeroes `len` bytes of the memory to which argument `n` points.
    pub(crate) fn zero(&self, n: usize, len: usize) {
        self.mem(n, len).fill(0);
    }

    /// The function passed as argument `n`, `ARG_PTR_TO_FUNC`.
    pub(crate) fn func(&self, n: usize) -> Func {
        Func(self.args[n])
    }
}

/// A function of a program, which can only come from a helper argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Func(u64);

impl Func {
    /// Its address, which identifies the program.
    pub(crate) fn addr(self) -> u64 {
        self.0
    }
}

/// The result of a helper that returns 0 or an errno.
pub(crate) fn ret(result: Result<(), Errno>) -> u64 {
    match result {
        Ok(()) => 0,
        Err(errno) => errno.as_ret(),
    }
}

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
use skep_jit::RunEnv;

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

    /// Memory of `len` bytes that argument `n` points to.
    #[inline]
    pub(crate) fn bytes(&self, n: usize, len: usize) -> &[u8] {
        if len == 0 {
            return &[];
        }
        // SAFETY: invariants: readable for the size that the prototype goes with. Another thread
        // may write to it at the same time if it is a map's value; the bytes are then any of both,
        // as for a helper of the kernel.
        unsafe { std::slice::from_raw_parts(self.args[n] as *const u8, len) }
    }

    /// Writes to the memory that argument `n` points to.
    #[inline]
    pub(crate) fn write(&self, n: usize, bytes: &[u8]) {
        self.write_at(n, 0, bytes);
    }

    /// Writes `offset` bytes behind where argument `n` points to.
    pub(crate) fn write_at(&self, n: usize, offset: usize, bytes: &[u8]) {
        let to = (self.args[n] as *mut u8).wrapping_add(offset);
        // SAFETY: invariants: writable for the size that the prototype goes with, and the source
        // is not the program's memory or may overlap it.
        unsafe { std::ptr::copy(bytes.as_ptr(), to, bytes.len()) };
    }

    /// Zeroes `len` bytes of the memory that argument `n` points to.
    pub(crate) fn zero(&self, n: usize, len: usize) {
        // SAFETY: as for `write`.
        unsafe { std::ptr::write_bytes(self.args[n] as *mut u8, 0, len) };
    }

    /// The string that argument `n` points to, `ARG_PTR_TO_CONST_STR`.
    pub(super) fn constant_string(&self, n: usize) -> &[u8] {
        // SAFETY: invariants: the verifier has seen its end, in a map that nobody writes.
        unsafe { std::ffi::CStr::from_ptr(self.args[n] as *const std::ffi::c_char) }.to_bytes()
    }

    /// The header in front of the ring buffer's record that argument `n` points to.
    pub(super) fn record_header(&self, n: usize) -> &std::sync::atomic::AtomicU32 {
        self.header_of(self.args[n])
    }

    /// The header in front of a ring buffer's record; the address comes from an argument, or from
    /// a dynptr that one points to.
    pub(super) fn header_of(&self, record: u64) -> &std::sync::atomic::AtomicU32 {
        let at = (record as *mut u8).wrapping_sub(crate::map::ringbuf::HEADER as usize);
        // SAFETY: invariants: what `bpf_ringbuf_reserve` gave, behind a header that is aligned.
        unsafe { std::sync::atomic::AtomicU32::from_ptr(at.cast()) }
    }

    /// Of the object of which each CPU has a copy, that argument `n` points to: the distance of the
    /// copies, and how many there are.
    pub(super) fn copies(&self, n: usize) -> (u64, u64) {
        let head = self.args[n].wrapping_sub(crate::objects::COPIES_HEAD as u64) as *const [u64; 2];
        // SAFETY: invariants: what `bpf_percpu_obj_new` gave, which is there as long as the run,
        // and what stands in front of it was written before any program had it.
        let [stride, count] = unsafe { head.read() };
        (stride, count)
    }

    /// Memory behind a dynptr, inside of its bounds.
    pub(super) fn bytes_behind(&self, addr: u64, len: usize) -> &[u8] {
        if len == 0 {
            return &[];
        }
        // SAFETY: invariants: the verifier knows the dynptr as one that was made of memory which
        // is still the program's; the caller has checked the bounds.
        unsafe { std::slice::from_raw_parts(addr as *const u8, len) }
    }

    /// Writes to memory behind a dynptr, inside of its bounds.
    pub(super) fn write_behind(&self, addr: u64, bytes: &[u8]) {
        // SAFETY: as for `bytes_behind`; the dynptr is not read-only.
        unsafe { std::ptr::copy(bytes.as_ptr(), addr as *mut u8, bytes.len()) };
    }

    /// The pointer that argument `n` points to, shared with other threads: a kptr.
    pub(super) fn pointer(&self, n: usize) -> &std::sync::atomic::AtomicU64 {
        // SAFETY: invariants: a `__kptr` field of a map's value, 8 bytes and aligned.
        unsafe { std::sync::atomic::AtomicU64::from_ptr(self.args[n] as *mut u64) }
    }

    /// The word that argument `n` points to, shared with other threads: a lock.
    pub(super) fn word(&self, n: usize) -> &std::sync::atomic::AtomicU32 {
        // SAFETY: invariants: a `bpf_spin_lock` in a map's value, 4 bytes and aligned.
        unsafe { std::sync::atomic::AtomicU32::from_ptr(self.args[n] as *mut u32) }
    }
}

/// Calls a program's function that was compiled.
///
/// # Safety
///
/// `addr` is what the program gave as a callback, `args` are as the verifier assumed of them, and
/// `env` is that of the run.
pub(crate) unsafe fn call_machine_code(addr: u64, args: [u64; 5], env: *mut RunEnv) -> u64 {
    type Function = unsafe extern "sysv64" fn(u64, u64, u64, u64, u64, *mut RunEnv) -> u64;
    // A function that no path walked is gone. The walk can be wrong about that, as the kernel's is
    // about numbers that atomics fetch: who would call it stops.
    if addr == 0 {
        return 1;
    }
    let [a, b, c, d, e] = args;
    // SAFETY: the caller's promise, and the convention of `skep_jit::linkage`.
    unsafe {
        let function = std::mem::transmute::<*const u8, Function>(addr as *const u8);
        function(a, b, c, d, e, env)
    }
}

/// What a helper that says 0 or an errno returns.
pub(super) fn ret(result: Result<(), Errno>) -> u64 {
    match result {
        Ok(()) => 0,
        Err(errno) => errno.as_ret(),
    }
}

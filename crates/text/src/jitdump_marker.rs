//! `JitdumpMarker`: tells `perf record` that a process writes a jitdump file.

#![allow(unsafe_code)]

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use skep_mem::PAGE_BYTES;
use std::ffi::c_void;
use std::ptr;

/// A mapping of a jitdump file, noticed by `perf record`; it is never read or executed.
#[derive(Debug)]
pub struct JitdumpMarker {
    at: *mut c_void,
}

/// `perf` looks for any executable mapping of the file.
const MARKER_BYTES: usize = PAGE_BYTES;

impl JitdumpMarker {
    /// Maps the start of the file.
    ///
    /// # Errors
    ///
    /// The host refuses the mapping.
    pub fn new(file: &std::fs::File) -> std::io::Result<JitdumpMarker> {
        let runs = ProtFlags::READ | ProtFlags::EXEC;
        // SAFETY: a new private mapping at an address chosen by the kernel; the file contains data
        // written by this process, which is never executed.
        let at = unsafe { mmap(ptr::null_mut(), MARKER_BYTES, runs, MapFlags::PRIVATE, file, 0)? };
        Ok(JitdumpMarker { at })
    }
}

impl Drop for JitdumpMarker {
    fn drop(&mut self) {
        // SAFETY: the mapping is owned by this value, and its address is not known elsewhere.
        unsafe {
            let _ = munmap(self.at, MARKER_BYTES);
        }
    }
}

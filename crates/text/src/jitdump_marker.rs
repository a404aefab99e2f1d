//! `JitdumpMarker`: by what `perf record` notices that a process writes a jitdump file.

#![allow(unsafe_code)]

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::ptr;

/// A mapping of a jitdump file, by which `perf record` notices it; nobody reads or runs it.
#[derive(Debug)]
pub struct JitdumpMarker {
    at: *mut c_void,
}

/// `perf` looks for any executable mapping of the file.
const MARKER_BYTES: usize = 4096;

impl JitdumpMarker {
    /// Maps the start of the file.
    ///
    /// # Errors
    ///
    /// The host refuses the mapping.
    pub fn new(file: &std::fs::File) -> std::io::Result<JitdumpMarker> {
        let runs = ProtFlags::READ | ProtFlags::EXEC;
        // SAFETY: a new private mapping at an address of the kernel's choice; the file holds what
        // this process wrote, and nothing jumps there.
        let at = unsafe { mmap(ptr::null_mut(), MARKER_BYTES, runs, MapFlags::PRIVATE, file, 0)? };
        Ok(JitdumpMarker { at })
    }
}

impl Drop for JitdumpMarker {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and no one has its address.
        unsafe {
            let _ = munmap(self.at, MARKER_BYTES);
        }
    }
}

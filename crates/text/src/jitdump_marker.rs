//! `JitdumpMarker`: tells `perf record` that a process writes a jitdump file.

use crate::pool::Mapping;
use skep_mem::PAGE_BYTES;

/// A mapping of a jitdump file, noticed by `perf record`; it is never read or executed.
#[derive(Debug)]
pub struct JitdumpMarker {
    _mapping: Mapping,
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
        Ok(JitdumpMarker { _mapping: Mapping::executable(file, MARKER_BYTES)? })
    }
}

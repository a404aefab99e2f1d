//! Process-wide settings of the allocator.
//!
//! glibc adapts to large blocks that are freed: blocks of that size then come from its heaps, which
//! keep up to twice as much. After one heavy program each thread keeps tens of megabytes without
//! use. Below a memory limit that is too much; without one it saves page faults.

#![allow(unsafe_code)]

/// Blocks of this size and larger are returned to the system at once: smaller ones are
/// insignificant, and larger thresholds kept 15 MB more over the open corpus (for 7 % less CPU
/// time).
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_BYTES: i32 = 1 << 20;

/// From now on large blocks are returned to the system when freed.
pub(crate) fn return_memory_early() {
    // SAFETY: mallopt takes two numbers, and may be called at any time by any thread.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES);
    }
}

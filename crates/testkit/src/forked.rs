//! `forked`: runs a closure in a child of `fork`, for tests that are otherwise safe code.

#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work` in a child process and waits for it: 0, or 1 if it panicked; `None` if it was killed
/// by a signal or `fork` failed.
///
/// Only the calling thread exists in the child: a lock held by another thread at this time stays
/// locked there. (The C library handles its own allocator.)
pub fn forked(work: impl FnOnce()) -> Option<i32> {
    // SAFETY: the child runs the closure, which waits for no lock that another thread may hold, and
    // exits here without running exit handlers.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            let failed = catch_unwind(AssertUnwindSafe(work)).is_err();
            libc::_exit(i32::from(failed));
        }
        let mut status = 0;
        let waited = child > 0 && libc::waitpid(child, &raw mut status, 0) == child;
        (waited && libc::WIFEXITED(status)).then(|| libc::WEXITSTATUS(status))
    }
}

//! `forked`: work in a child of `fork`, for tests that are safe code otherwise.

#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Does `work` in a child of this process and waits for it: 0, or 1 if it panicked; `None` if it
/// was ended by a signal or could not be made.
///
/// Only the calling thread is in the child: what is locked by another thread when this is called
/// stays locked there. (The C library looks after its own allocator.)
pub fn forked(work: impl FnOnce()) -> Option<i32> {
    // SAFETY: the child does the work, which waits for no lock that another thread may hold, and
    // ends here without running what is to run at the end of the process.
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

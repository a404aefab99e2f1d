//! Threads: if the host does not provide as many as requested, fewer are used, which is not a
//! failure.

use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};
use std::io;
use std::thread::Builder;
use std::time::Duration;

/// Deep call chains in debug builds need more than the 2 MiB default.
const STACK_BYTES: usize = 32 << 20;

/// Address space that must be available when a thread is started: its stack, and what the threads
/// just started allocate before they run. Larger than anything the allocator keeps after it is
/// freed, so that allocating it asks the host.
const THREAD_BYTES: usize = 128 << 20;

/// Whether there is memory for one more thread: a thread that finds none when it starts would abort
/// the process.
///
/// # Errors
///
/// There is not.
pub(crate) fn room() -> io::Result<()> {
    Ok(Vec::<u8>::new().try_reserve_exact(THREAD_BYTES)?)
}

/// A pool with this many threads, or fewer if the host does not provide them; `None` if there are
/// none. Then work split with rayon stays on the calling thread.
pub(crate) fn pool(wanted: usize) -> Option<ThreadPool> {
    let start = |thread: ThreadBuilder| {
        room()?;
        Builder::new().stack_size(STACK_BYTES).spawn(|| thread.run()).map(drop)
    };
    let mut threads = wanted;
    while threads > 0 {
        let pool = ThreadPoolBuilder::new().num_threads(threads).spawn_handler(start).build();
        if pool.is_ok() {
            return pool.ok();
        }
        threads /= 2;
    }
    // Fails if there is one already, which is fine.
    let _ = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
    None
}

/// Waits for about this long. Not with `std::thread::sleep`, which panics if the host denies the
/// system call.
pub(crate) fn pause(time: Duration) {
    std::thread::park_timeout(time);
}

//! Threads, as many as the host gives: one that cannot be had is one fewer, and no failure.

use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};
use std::io;
use std::thread::Builder;
use std::time::Duration;

/// Deep call chains in debug builds need more than the 2 MiB default.
const STACK_BYTES: usize = 32 << 20;

/// Address space that must be left when a thread is started: its stack, and what the threads just
/// started ask for before they run. More than the allocator ever keeps of what is freed, so that
/// asking for it asks the host.
const THREAD_BYTES: usize = 64 << 20;

/// Whether there is memory for one more thread: one that finds none when it begins would abort the
/// process.
///
/// # Errors
///
/// There is not.
pub(crate) fn room() -> io::Result<()> {
    Ok(Vec::<u8>::new().try_reserve_exact(THREAD_BYTES)?)
}

/// A pool of so many threads, or of fewer where the host gives no more; `None` if it gives none.
/// Then what is split up with rayon stays on the calling thread.
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
    // Fails if there is one already, which is as good.
    let _ = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
    None
}

/// Waits for about so long. Not by `std::thread::sleep`, which panics where the host refuses the
/// system call.
pub(crate) fn pause(time: Duration) {
    std::thread::park_timeout(time);
}

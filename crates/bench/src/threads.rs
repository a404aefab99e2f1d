//! Threads and pauses on hosts that may deny both: an error or a shorter wait, never a panic or a
//! thread that nobody ends.

use skep_cli::Error;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

/// Waits for about this long. Not with `std::thread::sleep`, which panics if the host denies the
/// system call.
pub(crate) fn pause(time: Duration) {
    thread::park_timeout(time);
}

/// Starts a thread.
///
/// # Errors
///
/// The host has none.
pub(crate) fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    run: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, Error> {
    let started = Builder::new().spawn_scoped(scope, run);
    started.map_err(|e| Error::io("while starting a thread", e))
}

/// Waits for the thread's result.
///
/// # Errors
///
/// It panicked.
pub(crate) fn join<T>(thread: ScopedJoinHandle<'_, T>) -> Result<T, Error> {
    thread.join().map_err(|_| "a thread panicked".into())
}

/// Works while this many threads `run` until `done`, which is set however the work ends. Returns
/// the results of both.
///
/// # Errors
///
/// That of the work; or the host has no thread.
pub(crate) fn beside<T, R: Send>(
    count: u32,
    done: &AtomicBool,
    run: impl Fn() -> R + Sync,
    work: impl FnOnce() -> Result<T, Error>,
) -> Result<(T, Vec<R>), Error> {
    thread::scope(|scope| {
        let end = SetOnDrop(done);
        let runners = (0..count).map(|_| start(scope, &run)).collect::<Result<Vec<_>, _>>()?;
        let result = work();
        drop(end);
        let ran = runners.into_iter().map(join).collect::<Result<_, _>>()?;
        Ok((result?, ran))
    })
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Counts when it is dropped: what others wait for, even if its thread panics.
pub(crate) struct CountOnDrop<'a> {
    pub(crate) counter: &'a AtomicU32,
    pub(crate) by: u32,
}

impl Drop for CountOnDrop<'_> {
    fn drop(&mut self) {
        self.counter.fetch_add(self.by, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_end_however_the_work_does() {
        let run = |done: &AtomicBool| {
            while !done.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            1
        };
        let done = AtomicBool::new(false);
        assert_eq!(beside(3, &done, || run(&done), || Ok("x")), Ok(("x", vec![1; 3])));
        let done = AtomicBool::new(false);
        let failed = beside(2, &done, || run(&done), || Err::<(), _>("no".into()));
        assert_eq!(failed, Err("no".into()));
        let done = AtomicBool::new(false);
        let panics = || beside(2, &done, || run(&done), || -> Result<(), Error> { panic!() });
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).unwrap_err();
    }
}

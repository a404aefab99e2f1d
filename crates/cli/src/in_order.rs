//! Runs numbered jobs on several threads and hands their results over in the order of the numbers.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

/// Deep call chains in debug builds need more than the 2 MiB default.
const STACK_BYTES: usize = 32 << 20;

/// Calls `work(0..count)` on `jobs` threads and `sink` with each result, on the calling thread, in
/// order and as early as possible. An error of `sink` ends the run: jobs not begun are dropped.
///
/// # Errors
///
/// The sink's, or that no thread could be started.
pub(crate) fn in_order<T: Send>(
    count: usize,
    jobs: usize,
    work: impl Fn(usize) -> T + Sync,
    mut sink: impl FnMut(T) -> io::Result<()>,
) -> io::Result<()> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(jobs.max(1))
        .stack_size(STACK_BYTES)
        .build()
        .map_err(io::Error::other)?;
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    let run_jobs = |sender: mpsc::Sender<(usize, T)>| {
        while !stop.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count || sender.send((index, work(index))).is_err() {
                return;
            }
        }
    };
    std::thread::scope(|threads| {
        threads.spawn(|| {
            pool.scope(|scope| {
                for sender in std::iter::repeat_n(sender, jobs.max(1)) {
                    let run_jobs = &run_jobs;
                    scope.spawn(move |_| run_jobs(sender));
                }
            });
        });
        let mut early = BTreeMap::new();
        let mut wanted = 0;
        let mut result = Ok(());
        for (index, value) in receiver {
            early.insert(index, value);
            while let (true, Some(value)) = (result.is_ok(), early.remove(&wanted)) {
                wanted += 1;
                result = sink(value);
            }
            if result.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
        }
        result
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn results_come_in_order() {
        let slow_first = |i: usize| {
            if i == 0 {
                std::thread::sleep(Duration::from_millis(20));
            }
            i
        };
        let mut seen = Vec::new();
        let sink = |i| {
            seen.push(i);
            Ok(())
        };
        in_order(100, 4, slow_first, sink).unwrap();
        assert_eq!(seen, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_failing_sink_ends_the_run() {
        let broken = |i: usize| if i < 3 { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) };
        let error = in_order(1_000_000, 2, |i| i, broken).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        in_order(0, 2, |i| i, |_| Ok(())).unwrap();
    }
}

//! Runs numbered jobs on several threads and passes their results on in order.
//!
//! A slow job delays the results after it. The total size of waiting results is bounded, and so is
//! their number, whose limit is so high that no thread has to wait (with 64 per thread, two
//! threads over the open corpus lost a tenth of their time behind one program).
//!
//! Deliberately absent: starting jobs in another order. Their cost is not known beforehand; with
//! the largest files first two threads took longer, because the heaviest programs known, infinite
//! loops, are in files of 6 to 17 KB.
//!
//! # Invariants
//! 1. The job whose result is needed next never waits, so there is always progress.
//! 2. Each thread takes its numbers in one loop that is not re-entered while it waits: meanwhile it
//!    only executes parts split off by other jobs.

use crate::threads;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// Maximum number of waiting results per thread.
const AHEAD_PER_JOB: usize = 4_096;
/// How long an idle thread sleeps.
const PAUSE: Duration = Duration::from_micros(500);

/// Limits of parallelism.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flow {
    /// Threads.
    pub(crate) jobs: usize,
    /// Maximum size of waiting results, in bytes.
    pub(crate) waiting_bytes_max: usize,
}

/// Size of a waiting result.
pub trait Weigh {
    /// Bytes, roughly.
    fn bytes(&self) -> usize
    where
        Self: Sized,
    {
        size_of::<Self>()
    }
}

/// Progress of the run.
#[derive(Default)]
struct Progress {
    /// The next number to begin.
    next: AtomicUsize,
    /// The number of the result to be passed on next.
    wanted: AtomicUsize,
    /// Total size of waiting results.
    waiting_bytes: AtomicUsize,
    stop: AtomicBool,
}

impl Progress {
    /// Takes a number, and waits until it may begin.
    fn take(&self, count: usize, flow: Flow) -> Option<usize> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        while index < count && !self.stop.load(Ordering::Relaxed) {
            let ahead = index.saturating_sub(self.wanted.load(Ordering::Acquire));
            let full = self.waiting_bytes.load(Ordering::Acquire) > flow.waiting_bytes_max;
            if ahead == 0 || (ahead < flow.jobs * AHEAD_PER_JOB && !full) {
                return Some(index);
            }
            // Helps other threads, if they have split their work.
            if rayon::yield_now() != Some(rayon::Yield::Executed) {
                threads::pause(PAUSE);
            }
        }
        None
    }
}

/// Calls `work(0..count)` on several threads and `sink` with each result, on the calling thread, in
/// order and as early as possible. An error of `sink` ends the run: jobs not begun are dropped.
/// Work that a job splits with rayon is shared by the same threads; there are no more threads than
/// jobs or processors.
///
/// # Errors
///
/// The sink's.
pub(crate) fn in_order<T: Send + Weigh>(
    count: usize,
    flow: Flow,
    work: impl Fn(usize) -> T + Sync,
    mut sink: impl FnMut(T) -> io::Result<()>,
) -> io::Result<()> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let pool = threads::pool(flow.jobs.clamp(1, count.max(processors)));
    let Some(pool) = pool else { return (0..count).try_for_each(|index| sink(work(index))) };
    let flow = Flow { jobs: pool.current_num_threads(), ..flow };
    let progress = Progress::default();
    let (sender, receiver) = mpsc::channel();
    let (progress, work) = (&progress, &work);
    let run_jobs = move |sender: &mpsc::Sender<(usize, T)>| {
        while let Some(index) = progress.take(count, flow) {
            let result = work(index);
            progress.waiting_bytes.fetch_add(result.bytes(), Ordering::AcqRel);
            if sender.send((index, result)).is_err() {
                return;
            }
        }
    };
    pool.in_place_scope(|scope| {
        scope.spawn_broadcast(move |_, _| run_jobs(&sender));
        let mut early = BTreeMap::new();
        let mut wanted = 0;
        let mut result = Ok(());
        for (index, value) in receiver {
            early.insert(index, value);
            while let (true, Some(value)) = (result.is_ok(), early.remove(&wanted)) {
                wanted += 1;
                progress.waiting_bytes.fetch_sub(value.bytes(), Ordering::AcqRel);
                progress.wanted.store(wanted, Ordering::Release);
                result = sink(value);
            }
            if result.is_err() {
                progress.stop.store(true, Ordering::Relaxed);
            }
        }
        result
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Weigh for usize {
        fn bytes(&self) -> usize {
            1 << 20
        }
    }

    const FLOW: Flow = Flow { jobs: 4, waiting_bytes_max: 8 << 20 };

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
        in_order(100, FLOW, slow_first, sink).unwrap();
        assert_eq!(seen, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_failing_sink_ends_the_run() {
        let broken = |i: usize| if i < 3 { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) };
        let error = in_order(1_000_000, FLOW, |i| i, broken).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        in_order(0, FLOW, |i| i, |_| Ok(())).unwrap();
    }

    #[test]
    fn results_that_wait_for_a_slow_one_are_bounded() {
        let begun = AtomicUsize::new(0);
        let slow_first = |i: usize| {
            begun.fetch_add(1, Ordering::Relaxed);
            if i == 0 {
                std::thread::sleep(Duration::from_millis(50));
                return begun.load(Ordering::Relaxed);
            }
            i
        };
        let mut first = None;
        let sink = |i| {
            first.get_or_insert(i);
            Ok(())
        };
        in_order(1_000, FLOW, slow_first, sink).unwrap();
        // 8 MiB of results of 1 MiB, and one more for each thread.
        assert!(first.unwrap() <= 8 + 1 + 2 * FLOW.jobs, "{first:?}");
    }

    #[test]
    fn a_job_that_splits_is_helped_by_those_that_wait() {
        use rayon::prelude::*;
        let threads = std::sync::Mutex::new(std::collections::HashSet::new());
        let split = |i: usize| {
            if i == 0 {
                (0..64).into_par_iter().for_each(|_| {
                    std::thread::sleep(Duration::from_millis(1));
                    threads.lock().unwrap().insert(std::thread::current().id());
                });
            }
            i
        };
        in_order(2, FLOW, split, |_| Ok(())).unwrap();
        assert!(threads.into_inner().unwrap().len() > 1);
    }
}

//! Threads that measure at the same time: each on a CPU of its own if there are enough, starting
//! together, none stopping before the last has measured. Otherwise, threads that need less time
//! than a wake-up would run one after the other, and share nothing.
//!
//! Each begins at a random depth of its stack: some times change by a fifth if the stack and the
//! measured data have the same offset in their pages.

use crate::threads::{CountOnDrop, join, start};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use skep_cli::Error;
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// Measures in this many threads. `make` is called in each and returns a function that does one
/// block of work; `blocks` of them are measured.
///
/// The result is the mean of the threads' own CPU times, ns per block (waiting for a CPU does not
/// count, waiting for a cache line does), and the number of blocks that all did, including
/// unmeasured ones.
///
/// # Errors
///
/// The first error of `make` or of a block; or the host has no thread.
pub(super) fn together<F>(
    threads: u32,
    blocks: u32,
    make: impl Fn(u32) -> Result<F, Error> + Sync,
) -> Result<(f64, u64), Error>
where
    F: FnMut() -> Result<(), Error>,
{
    let cpus = allowed_cpus();
    let (ready, done) = (AtomicU32::new(0), AtomicU32::new(0));
    let run = |number: u32| {
        if threads > 1 && cpus.len() >= threads as usize {
            let mut set = CpuSet::new();
            // If the host refuses, threads are not pinned.
            let _ = set
                .set(cpus[number as usize])
                .and_then(|()| sched_setaffinity(Pid::from_raw(0), &set));
        }
        // Counted even after an error: the others wait for this thread.
        let is_done = CountOnDrop { counter: &done, by: 1 };
        let is_ready = CountOnDrop { counter: &ready, by: 1 };
        let made = make(number);
        drop(is_ready);
        while ready.load(Ordering::Acquire) < threads {
            thread::yield_now();
        }
        let measured = made.and_then(|mut block| {
            let mut measure = || {
                let started = thread_ns();
                (0..blocks).try_for_each(|_| block())?;
                Ok::<_, Error>((thread_ns() - started) / f64::from(blocks))
            };
            let ns = deep(depth(), &mut measure)?;
            Ok((ns, block))
        });
        drop(is_done);
        let (ns, mut block) = measured?;
        let mut all = u64::from(blocks);
        while done.load(Ordering::Relaxed) < threads {
            block()?;
            all += 1;
        }
        Ok::<_, Error>((ns, all))
    };
    thread::scope(|scope| {
        let run = &run;
        let mut runners = Vec::new();
        for number in 0..threads {
            let runner = start(scope, move || run(number)).inspect_err(|_| {
                // Nobody waits for threads that there will not be.
                for counter in [&ready, &done] {
                    drop(CountOnDrop { counter, by: threads - number });
                }
            })?;
            runners.push(runner);
        }
        let mut all = (0.0f64, 0);
        for runner in runners {
            let (ns, blocks): (f64, u64) = join(runner)??;
            all = (all.0 + ns / f64::from(threads), all.1 + blocks);
        }
        Ok(all)
    })
}

/// Approximate size of a step down the stack, in bytes.
const STEP: usize = 48;
/// Number of steps that cover at least a page.
const STEPS: u32 = 128;

/// The next depth.
fn depth() -> u32 {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let mut lot = StdRng::seed_from_u64(CALLS.fetch_add(1, Ordering::Relaxed).into());
    lot.random_range(0..STEPS)
}

/// Calls `work` this many steps further down the stack.
#[inline(never)]
fn deep<T>(steps: u32, work: &mut dyn FnMut() -> T) -> T {
    let room = black_box([0u8; STEP]);
    let result = if steps > 0 { deep(steps - 1, work) } else { work() };
    black_box(&room);
    result
}

/// CPUs that this thread may run on.
fn allowed_cpus() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(Pid::from_raw(0)) else { return Vec::new() };
    (0..CpuSet::count()).filter(|cpu| set.is_set(*cpu) == Ok(true)).collect()
}

/// CPU time of this thread, ns.
fn thread_ns() -> f64 {
    let now = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    now.map_or(f64::NAN, |now| now.num_nanoseconds() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn all_work_until_the_last_has_measured() {
        for threads in [1, 2, 5] {
            let counts: Vec<AtomicU64> = (0..threads).map(|_| AtomicU64::new(0)).collect();
            let make = |number: u32| {
                let count = &counts[number as usize];
                Ok(move || {
                    count.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                })
            };
            let (ns, blocks) = together(threads, 1000, make).unwrap();
            let counts: Vec<u64> = counts.into_iter().map(AtomicU64::into_inner).collect();
            assert!(ns > 0.0 && counts.iter().all(|count| *count >= 1000));
            assert_eq!(counts.iter().sum::<u64>(), blocks);
        }
    }

    #[test]
    fn the_stack_is_somewhere_else_each_time() {
        let at = |steps| {
            deep(steps, &mut || {
                let here = 0u8;
                &raw const here as usize
            })
        };
        assert!(at(0) - at(STEPS) >= 4096);
        assert!((0..9).map(|_| depth()).any(|depth| depth != super::depth()));
    }

    #[test]
    fn one_that_fails_ends_all() {
        let make = |number| match number {
            0 => Err("no".into()),
            _ => Ok(|| Ok(())),
        };
        assert_eq!(together(3, 5, make).unwrap_err().to_string(), "no");
        let made = together(3, 5, |_| Ok(|| Err("broken".into())));
        assert_eq!(made.unwrap_err().to_string(), "broken");
    }
}

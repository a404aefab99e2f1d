//! Estimates: the time represented by a timed run, if one run in N is timed.
//!
//! N times its own time would be wrong: one run that was preempted for 4 ms would count as 256 ms
//! for 64 runs. So a run counts with its own time, and for the others with at most what runs of
//! this program are known to take; and the total time of a thread cannot exceed the elapsed time.
//!
//! What is known about the others is `StatsSlot::limit`: 256 times the mean of the runs timed by
//! the thread, with the last 256 weighted most, each capped at the limit of its time. Long runs
//! that occur at least once in about 256 timed ones are typical of the program and count in full;
//! rarer ones count once.
//!
//! Timed runs are not evenly spaced, so time not used by one is available to later ones, up to some
//! 0.1 s: an hour without runs does not provide an hour for the next ones.
//!
//! # Invariants
//! 1. The total time assigned to a slot's sampled runs since statistics were requested is at most
//!    the time elapsed since then: `StatsSlot::covered` advances by each assigned time, and never
//!    beyond now.
//! 2. Assigned time is never taken back: times only grow.
//! 3. A run that only represents itself has its own time, as in the kernel.
//! 4. Machine code does the same for runs that are not longer than the limit (`skep-jit`, the stubs
//!    of the statistics).

use super::StatsSlot;
use super::atomic::Ordering::Relaxed;
use skep_jit::stats::{BANK_BITS, LIMIT_BITS};

/// A finished timed run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    /// Its ticks.
    pub(crate) elapsed: u64,
    /// The number of runs that it represents, including itself.
    pub(crate) weight: u64,
    /// When it ended.
    pub(crate) now: u64,
}

/// The ticks that it counts for in its thread's slot; statistics have been requested since `since`.
pub(crate) fn ticks(slot: &StatsSlot, since: u64, run: Ended) -> u64 {
    if run.weight == 1 {
        slot.covered.store(run.now, Relaxed);
        return run.elapsed;
    }
    let others = (run.weight - 1).saturating_mul(usual(slot, run.elapsed));
    let from = covered(slot, since, run.now);
    let given = run.elapsed.saturating_add(others).min(run.now.wrapping_sub(from));
    slot.covered.store(from.wrapping_add(given), Relaxed);
    given
}

/// The part of a run's time that is extrapolated to others.
fn usual(slot: &StatsSlot, elapsed: u64) -> u64 {
    let limit = slot.limit.load(Relaxed);
    if limit == 0 {
        slot.limit.store(elapsed << LIMIT_BITS, Relaxed);
        return elapsed;
    }
    let usual = elapsed.min(limit);
    slot.limit.store(limit - (limit >> LIMIT_BITS) + usual, Relaxed);
    usual
}

/// The end of the assigned time: the latest moment not after now. An embedder's clock may differ
/// between threads; values in the future are ignored.
fn covered(slot: &StatsSlot, since: u64, now: u64) -> u64 {
    let saved = now.wrapping_sub(1 << BANK_BITS);
    let known = [slot.covered.load(Relaxed), since].into_iter();
    let passed = known.filter(|moment| *moment as i64 <= now as i64);
    passed.chain([saved]).max_by_key(|moment| *moment as i64).unwrap_or(saved)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads of runs with these lengths and pauses, one in `weight` timed; the elapsed time, the
    /// exact time of all runs, and the estimate.
    fn simulate(weight: u64, runs: impl Iterator<Item = (u64, u64)>) -> [u64; 3] {
        const START: u64 = 1_000_000;
        let slot = StatsSlot::default();
        let (mut now, mut exact, mut estimate) = (START, 0, 0);
        for (number, (length, pause)) in (1u64..).zip(runs) {
            now += length;
            exact += length;
            let scattered = (number as u32).wrapping_mul(skep_jit::stats::GOLDEN);
            if u64::from(scattered) < (1 << 32) / weight {
                let before = estimate;
                estimate += ticks(&slot, START, Ended { elapsed: length, weight, now });
                assert!(estimate >= before && estimate <= now - START, "{estimate} of {now}");
            }
            now += pause;
        }
        [now - START, exact, estimate]
    }

    fn is_near(exact: u64, estimate: u64, percent: u64) -> bool {
        exact.abs_diff(estimate) * 100 <= exact * percent
    }

    #[test]
    fn steady_programs_are_as_if_all_runs_were_timed() {
        for length in [1, 20, 3000] {
            for pause in [0, 7, 100_000] {
                let [_, exact, estimate] = simulate(64, (0..100_000).map(|_| (length, pause)));
                assert!(is_near(exact, estimate, 1), "{length} {pause}: {estimate} of {exact}");
            }
        }
    }

    #[test]
    fn programs_with_long_runs_too_count_them() {
        // One run in 100 is 300 times as long; one in 7, 10,000 times.
        for (every, long) in [(100, 6000), (7, 200_000)] {
            let runs = (0..1_000_000).map(|n| (if n % every == 0 { long } else { 20 }, 5000));
            let [_, exact, estimate] = simulate(64, runs);
            assert!(is_near(exact, estimate, 5), "{every}: {estimate} of {exact}");
        }
    }

    /// 10 million ticks lost to another thread, in one timed run or in each of three, once the
    /// program is known: those ticks, and what 256 times the mean adds to them.
    #[test]
    fn a_run_that_lost_its_processor_counts_once() {
        for lost in [vec![30], vec![30, 31, 700]] {
            let mut timed = 0;
            let runs = (1..=100_000u32).map(|number| {
                let is_timed = number.wrapping_mul(skep_jit::stats::GOLDEN) < 1 << 26;
                timed += u32::from(is_timed);
                (if is_timed && lost.contains(&timed) { 10_000_000 } else { 100 }, 1000)
            });
            let [_, exact, estimate] = simulate(64, runs);
            assert!(is_near(exact, estimate, 20), "{estimate} of {exact}");
        }
    }
}

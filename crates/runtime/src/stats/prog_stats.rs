//! `ProgStats`: the statistics of a program's runs.

use super::clock::ClockError;
use skep_jit::stats::BUCKETS;

/// A program's run statistics, over all threads. Every number only grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgStats {
    /// Time in the program, ns; an estimate if not all runs were timed
    /// ([`ProgStats::is_estimate`]), which never exceeds the time elapsed on the threads that ran
    /// it. A program ends when its main function tail calls another; after a tail call from a
    /// subprog it continues, and its time includes the target's. Stopped runs are included up to
    /// that point.
    pub run_time_ns: u64,
    /// Runs that began, started by the host or by a tail call, including stopped ones.
    pub run_cnt: u64,
    /// Runs skipped because the thread was already in this program.
    pub recursion_misses: u64,
    /// Timed runs that have ended.
    pub timed_cnt: u64,
    /// The timed runs that also represent others, which were not timed.
    pub estimated_cnt: u64,
    /// Runs whose time is unknown because the clock jumped ([`ProgStats::check_clock`]).
    pub clock_jumps: u64,
    /// Times exist, but in ticks of a clock without a constant rate: `run_time_ns` is 0.
    pub is_uncalibrated: bool,
    /// Bucket `i` counts runs that took at least 2^i ns (the first also counts 0) and less than
    /// twice that, with each timed run weighted as in `run_time_ns`. Zeros if no histogram was
    /// requested.
    pub histogram: [u64; BUCKETS],
    /// The part of `run_time_ns` that belongs to the runs in `histogram`.
    pub histogram_time_ns: u64,
}

impl Default for ProgStats {
    fn default() -> ProgStats {
        ProgStats {
            run_time_ns: 0,
            run_cnt: 0,
            recursion_misses: 0,
            timed_cnt: 0,
            estimated_cnt: 0,
            clock_jumps: 0,
            is_uncalibrated: false,
            histogram: [0; BUCKETS],
            histogram_time_ns: 0,
        }
    }
}

impl ProgStats {
    /// Mean time per run, ns.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.run_cnt > 0).then(|| self.run_time_ns as f64 / self.run_cnt as f64)
    }

    /// Whether `run_time_ns` is an estimate: not all runs were timed.
    pub fn is_estimate(&self) -> bool {
        self.estimated_cnt > 0
    }

    /// Whether the times include every timed run. On a difference ([`ProgStats::since`]), this is
    /// about what happened in between.
    ///
    /// # Errors
    ///
    /// See [`ClockError`]; `run_cnt` is correct regardless.
    pub fn check_clock(&self) -> Result<(), ClockError> {
        match (self.is_uncalibrated, self.clock_jumps) {
            (true, _) => Err(ClockError::NoRate),
            (false, 0) => Ok(()),
            (false, jumps) => Err(ClockError::Jumped(jumps)),
        }
    }

    /// What has happened since `earlier`.
    pub fn since(&self, earlier: &ProgStats) -> ProgStats {
        ProgStats {
            run_time_ns: self.run_time_ns.saturating_sub(earlier.run_time_ns),
            run_cnt: self.run_cnt.saturating_sub(earlier.run_cnt),
            recursion_misses: self.recursion_misses.saturating_sub(earlier.recursion_misses),
            timed_cnt: self.timed_cnt.saturating_sub(earlier.timed_cnt),
            estimated_cnt: self.estimated_cnt.saturating_sub(earlier.estimated_cnt),
            clock_jumps: self.clock_jumps.saturating_sub(earlier.clock_jumps),
            is_uncalibrated: self.is_uncalibrated,
            histogram: std::array::from_fn(|i| {
                self.histogram[i].saturating_sub(earlier.histogram[i])
            }),
            histogram_time_ns: self.histogram_time_ns.saturating_sub(earlier.histogram_time_ns),
        }
    }
}

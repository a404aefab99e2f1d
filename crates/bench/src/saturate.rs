//! Several processes at once for a fixed time: the report of each, and the totals.
//!
//! A process prints its report as one line of JSON; the parent adds them up.

use crate::cost::{Cost, METRICS, Metric};
use crate::verification::{Counter, Counts, counters, counts, verify};
use crate::{Meter, interleave::Rounds};
use serde::{Deserialize, Serialize};
use skep_cli::Error;
use skep_program::Program;
use skep_verifier::Config;
use std::time::Instant;

/// Report of one process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Verifications.
    pub iterations: u64,
    /// Total cost.
    pub cost: Cost,
    /// Counts of each verification.
    pub counts: Counts,
    /// Counters that the kernel does not have.
    pub counters: Vec<Counter>,
}

impl Report {
    /// Verifies repeatedly, without a warm-up.
    ///
    /// # Errors
    ///
    /// The program has no verdict.
    pub fn of(program: &Program, config: &Config, rounds: Rounds) -> Result<Report, Error> {
        let mut iterations = 0;
        let started = Instant::now();
        let (last, cost) = Meter::new().measure(|| {
            loop {
                let outcome = verify(program, config);
                iterations += 1;
                let over = match rounds {
                    Rounds::Repeat(count) => iterations >= u64::from(count),
                    Rounds::Time(time) => started.elapsed() >= time,
                };
                if over {
                    return outcome;
                }
            }
        });
        Ok(Report { iterations, cost, counts: counts(&last)?, counters: counters(&last) })
    }
}

/// Several reports.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Reports (a process may send several).
    pub instances: u64,
    /// Verifications of all.
    pub iterations: u64,
    /// Total cost; of the peak, the maximum.
    pub total: Cost,
    /// Cost of one verification.
    pub per_iteration: Cost,
}

impl Totals {
    /// Adds up reports.
    pub fn of(reports: &[Report]) -> Totals {
        let mut reports_left = reports.iter();
        let Some(first) = reports_left.next() else { return Totals::default() };
        let mut total = reports_left.fold(first.cost, |sum, report| sum.plus(&report.cost));
        let peaks = reports.iter().filter_map(|report| report.cost.get(Metric::RssPeak));
        total.set(Metric::RssPeak, peaks.reduce(f64::max));
        let iterations = reports.iter().map(|report| report.iterations).sum();
        Totals {
            instances: reports.len() as u64,
            iterations,
            total,
            per_iteration: total.per(iterations),
        }
    }

    /// Which metrics were counted.
    pub fn counted(&self) -> impl Iterator<Item = Metric> {
        METRICS.iter().map(|def| def.metric).filter(|&metric| self.total.get(metric).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_add_up_and_peaks_do_not() {
        let report = |iterations, wall, rss| {
            let mut cost = Cost::default();
            cost.set(Metric::Wall, Some(wall));
            cost.set(Metric::RssPeak, Some(rss));
            Report { iterations, cost, counts: Counts::default(), counters: Vec::new() }
        };
        let totals = Totals::of(&[report(3, 10.0, 5.0), report(1, 30.0, 4.0)]);
        assert_eq!((totals.instances, totals.iterations), (2, 4));
        assert_eq!(totals.total.get(Metric::Wall), Some(40.0));
        assert_eq!(totals.per_iteration.get(Metric::Wall), Some(10.0));
        assert_eq!(totals.total.get(Metric::RssPeak), Some(5.0));
        assert_eq!(totals.counted().collect::<Vec<_>>(), [Metric::Wall, Metric::RssPeak]);
        assert_eq!(Totals::of(&[]).iterations, 0);
    }
}

//! `Cost`: the cost of one run, by metric. A metric that the machine does not count is absent,
//! never estimated.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Unit of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds.
    Micros,
    /// Bytes.
    Bytes,
    /// Events.
    Count,
}

/// How many values of a metric are summarised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Centre {
    /// The median: outliers do not move it.
    Median,
    /// The mean: for rare events, or times counted in clock ticks, where most runs have 0.
    Mean,
}

/// A metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "METRICS says what each is")]
pub enum Metric {
    Wall,
    Cpu,
    User,
    System,
    FaultsMinor,
    FaultsMajor,
    Switches,
    RssPeak,
    Instructions,
    Branches,
    BranchMisses,
    Cycles,
}

/// A row of [`METRICS`].
#[derive(Debug, Clone, Copy)]
pub struct MetricDef {
    /// Which.
    pub metric: Metric,
    /// Its name in JSON and in tables; that of `perf stat` where it has one.
    pub name: &'static str,
    /// Unit of its values.
    pub unit: Unit,
    /// How many values are summarised.
    pub centre: Centre,
    /// Description.
    pub about: &'static str,
}

type Row = (Metric, &'static str, Unit, Centre, &'static str);

const fn def((metric, name, unit, centre, about): Row) -> MetricDef {
    MetricDef { metric, name, unit, centre, about }
}

use Centre::{Mean, Median};
use Unit::{Bytes, Count, Micros};

/// All metrics, in the order of tables (and of [`Metric`]).
pub const METRICS: [MetricDef; 12] = [
    def((Metric::Wall, "wall-time", Micros, Median, "elapsed time")),
    def((Metric::Cpu, "cpu-time", Micros, Median, "CPU time of the thread")),
    def((Metric::User, "user-time", Micros, Mean, "... in user mode, in ticks")),
    def((Metric::System, "system-time", Micros, Mean, "... in the kernel, in ticks")),
    def((Metric::FaultsMinor, "page-faults", Count, Mean, "minor page faults (no I/O)")),
    def((Metric::FaultsMajor, "major-faults", Count, Mean, "major page faults (disk reads)")),
    def((Metric::Switches, "context-switches", Count, Mean, "context switches of the thread")),
    def((Metric::RssPeak, "peak-rss", Bytes, Median, "peak resident set of the process")),
    def((Metric::Instructions, "instructions", Count, Median, "instructions in user mode")),
    def((Metric::Branches, "branches", Count, Median, "branch instructions in user mode")),
    def((Metric::BranchMisses, "branch-misses", Count, Median, "mispredicted branches")),
    def((Metric::Cycles, "cycles", Count, Median, "CPU cycles in user mode")),
];

impl Metric {
    /// Its row.
    pub fn def(self) -> &'static MetricDef {
        // One row per variant, in their order (tested).
        &METRICS[self as usize]
    }
}

/// The cost of one run; values by [`Metric`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost([Option<f64>; METRICS.len()]);

impl Cost {
    /// The value, if it was counted.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.0[metric as usize]
    }

    /// Sets a value.
    pub fn set(&mut self, metric: Metric, value: Option<f64>) {
        self.0[metric as usize] = value;
    }

    /// The cost of one of `n` equal parts; a peak is no sum and stays.
    pub fn per(mut self, n: u64) -> Cost {
        for def in METRICS.iter().filter(|def| def.metric != Metric::RssPeak) {
            self.set(def.metric, self.get(def.metric).map(|value| value / n.max(1) as f64));
        }
        self
    }

    /// The sum; a metric that one of them lacks is absent.
    pub fn plus(mut self, other: &Cost) -> Cost {
        for def in &METRICS {
            let both = self.get(def.metric).zip(other.get(def.metric));
            self.set(def.metric, both.map(|(a, b)| a + b));
        }
        self
    }
}

impl Serialize for Cost {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(METRICS.iter().map(|def| (def.name, self.get(def.metric))))
    }
}

impl<'de> Deserialize<'de> for Cost {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Cost, D::Error> {
        let values = BTreeMap::<String, Option<f64>>::deserialize(from)?;
        let mut cost = Cost::default();
        for def in &METRICS {
            cost.set(def.metric, values.get(def.name).copied().flatten());
        }
        Ok(cost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_a_metric_in_order() {
        for (index, def) in METRICS.iter().enumerate() {
            assert_eq!(def.metric as usize, index, "{}", def.name);
            assert_eq!(def.metric.def().name, def.name);
            assert!(!def.about.is_empty());
        }
        assert_eq!(Metric::Cycles as usize + 1, METRICS.len());
    }

    #[test]
    fn a_peak_is_not_divided_and_absence_is_kept() {
        let mut cost = Cost::default();
        cost.set(Metric::Wall, Some(10.0));
        cost.set(Metric::RssPeak, Some(4096.0));
        let each = cost.per(5);
        assert_eq!(each.get(Metric::Wall), Some(2.0));
        assert_eq!(each.get(Metric::RssPeak), Some(4096.0));
        assert_eq!(each.get(Metric::Cycles), None);
        let text = serde_json::to_string(&cost).expect("JSON");
        assert!(text.contains("\"cycles\":null"), "{text}");
        assert_eq!(serde_json::from_str::<Cost>(&text).expect("read back"), cost);
    }
}

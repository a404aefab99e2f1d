//! `Meter`: the cost of a piece of work in this thread, by `getrusage`, the clock and, where
//! available, hardware counters.

use crate::cost::{Cost, Metric};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};
use perf_event::events::Hardware;
use perf_event::{Builder, Counter};
use std::fs;
use std::time::Instant;

/// Hardware counters: what they count, and the event.
const HARDWARE: [(Metric, Hardware); 4] = [
    (Metric::Instructions, Hardware::INSTRUCTIONS),
    (Metric::Branches, Hardware::BRANCH_INSTRUCTIONS),
    (Metric::BranchMisses, Hardware::BRANCH_MISSES),
    (Metric::Cycles, Hardware::CPU_CYCLES),
];

/// Counters of the calling thread.
pub struct Meter {
    /// Those that this machine provides.
    counters: Vec<(Metric, Counter)>,
}

impl Meter {
    /// Opens the counters that are available: virtual machines often have none, and a process may
    /// lack the permission.
    pub fn new() -> Meter {
        let open =
            |(metric, event): (Metric, Hardware)| Some((metric, Builder::new(event).build().ok()?));
        Meter { counters: HARDWARE.into_iter().filter_map(open).collect() }
    }

    /// Runs `work`, which must stay in this thread, and returns its cost.
    pub fn measure<T>(&mut self, work: impl FnOnce() -> T) -> (T, Cost) {
        // 5 resets the peak to the current resident size; without the file it is the process's
        // peak.
        let _ = fs::write("/proc/self/clear_refs", "5");
        for (_, counter) in &mut self.counters {
            let _ = counter.reset().and_then(|()| counter.enable());
        }
        let before = getrusage(UsageWho::RUSAGE_THREAD).ok();
        let cpu = cpu_us();
        let started = Instant::now();
        let result = work();
        let wall = started.elapsed();
        let cpu = cpu.zip(cpu_us()).map(|(before, after)| after - before);
        let after = getrusage(UsageWho::RUSAGE_THREAD).ok();
        let mut cost = Cost::default();
        for (metric, counter) in &mut self.counters {
            let counted = counter.disable().and_then(|()| counter.read());
            cost.set(*metric, counted.ok().map(|count| count as f64));
        }
        cost.set(Metric::Wall, Some(wall.as_secs_f64() * 1e6));
        cost.set(Metric::Cpu, cpu);
        if let (Some(before), Some(after)) = (before, after) {
            spent(&mut cost, &before, &after);
        }
        cost.set(Metric::RssPeak, rss_peak_bytes());
        (result, cost)
    }
}

impl Default for Meter {
    fn default() -> Self {
        Meter::new()
    }
}

fn spent(cost: &mut Cost, before: &Usage, after: &Usage) {
    let of = |read: fn(&Usage) -> i64| Some((read(after) - read(before)) as f64);
    cost.set(Metric::User, of(|usage| usage.user_time().num_microseconds()));
    cost.set(Metric::System, of(|usage| usage.system_time().num_microseconds()));
    cost.set(Metric::FaultsMinor, of(Usage::minor_page_faults));
    cost.set(Metric::FaultsMajor, of(Usage::major_page_faults));
    cost.set(
        Metric::Switches,
        of(|usage| usage.voluntary_context_switches() + usage.involuntary_context_switches()),
    );
}

/// CPU time of this thread so far, microseconds.
fn cpu_us() -> Option<f64> {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).ok()?;
    Some(time.num_nanoseconds() as f64 / 1e3)
}

/// `VmHWM` of this process.
fn rss_peak_bytes() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_memory_faults_and_time_passes() {
        let mut meter = Meter::new();
        let (sum, cost) = meter.measure(|| {
            let pages = vec![1u8; 64 << 20];
            std::hint::black_box(&pages).iter().map(|&b| u64::from(b)).sum::<u64>()
        });
        assert_eq!(sum, 64 << 20);
        assert!(cost.get(Metric::Wall) > Some(0.0));
        assert!(cost.get(Metric::Cpu) > Some(0.0));
        // One large page may serve many accesses.
        assert!(cost.get(Metric::FaultsMinor) >= Some(1.0), "{cost:?}");
        assert!(cost.get(Metric::RssPeak) >= Some(f64::from(64 << 20)), "{cost:?}");
    }
}

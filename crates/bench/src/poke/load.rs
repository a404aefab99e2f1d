//! Switching under load: threads run all sites while another one switches them, and every result is
//! compared with the state that a sequence number announces.
//!
//! The number is even while the state is settled (half of it is the number of the state) and odd
//! during a change. A site returns where it led: whether it was off or on, or which target it
//! jumped to. An execution is *wrong* if its result belongs to no state of its site, and *late* if
//! the number was even and the same before and after, but the result belongs to another state.

use super::code::STATES;
use super::mechanism::{Kind, Mechanism, Switched, Switcher};
use crate::Spread;
use crate::threads::{beside, pause};
use serde::Serialize;
use skep_cli::Error;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Executions between two reads of the sequence number.
const CHUNK: usize = 16;
/// Time between two changes.
const PAUSE: Duration = Duration::from_micros(200);
/// Phases with and without switching, alternating.
const PHASES: u32 = 9;

/// Results of threads.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Seen {
    /// Executions that were checked.
    pub executions: u64,
    /// Executions between two changes, which had to return the state of the last one.
    pub settled: u64,
    /// Results of no state.
    pub wrong: u64,
    /// Results of another state than the settled one.
    pub late: u64,
}

impl Seen {
    /// Adds another thread's results.
    pub(super) fn add(&mut self, other: &Seen) {
        self.executions += other.executions;
        self.settled += other.settled;
        self.wrong += other.wrong;
        self.late += other.late;
    }
}

/// Results of one combination.
#[derive(Debug, Clone, Serialize)]
pub struct Toggled {
    /// What changes.
    pub kind: Kind,
    /// How it changes.
    pub mechanism: Mechanism,
    /// Sites.
    pub sites: u32,
    /// Threads that run them.
    pub threads: u32,
    /// Switching all sites once, us.
    pub latency_us: Option<Spread>,
    /// 99th percentile, us.
    pub p99_us: f64,
    /// Executions per second with switching over those without; medians of nine.
    pub throughput: Option<crate::Ratio>,
    /// Results of the threads.
    pub seen: Seen,
    /// Signals per change of all sites.
    pub traps: f64,
}

/// State shared by the threads and the switcher.
#[derive(Default)]
struct Shared {
    /// Even: settled; odd: changing.
    sequence: Apart<AtomicU64>,
    done: Apart<AtomicBool>,
    /// Executions so far.
    executions: Apart<AtomicU64>,
}

/// On cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
pub(super) struct Apart<T>(pub(super) T);

/// Runs all sites until the end is signalled.
fn run_sites(sites: &super::Sites, shared: &Shared) -> Seen {
    let mut seen = Seen::default();
    while !shared.done.0.load(Ordering::Relaxed) {
        let before_all = seen.executions;
        for start in (0..sites.len()).step_by(CHUNK) {
            let end = (start + CHUNK).min(sites.len());
            let before = shared.sequence.0.load(Ordering::SeqCst);
            let state = (before / 2) as u32 % STATES;
            let (mut wrong, mut others) = (0, 0);
            for n in start..end {
                let (found, mask) = (sites.call(n), sites.mask(n));
                wrong += u64::from(found > mask);
                others += u64::from(found != state & mask);
            }
            let settled =
                shared.sequence.0.load(Ordering::SeqCst) == before && before.is_multiple_of(2);
            let count = (end - start) as u64;
            seen.executions += count;
            seen.wrong += wrong;
            if settled {
                seen.settled += count;
                seen.late += others - wrong;
            }
        }
        shared.executions.0.fetch_add(seen.executions - before_all, Ordering::Relaxed);
    }
    seen
}

/// Puts all sites into the next state, with the sequence number before and after; us.
fn toggle(switcher: &mut Switcher<'_>, shared: &Shared) -> Result<f64, Error> {
    let number = shared.sequence.0.fetch_add(1, Ordering::SeqCst);
    let state = (number / 2 + 1) as u32 % STATES;
    let started = Instant::now();
    let result = switcher.put(state);
    let us = started.elapsed().as_nanos() as f64 / 1e3;
    shared.sequence.0.fetch_add(1, Ordering::SeqCst);
    result.map(|()| us)
}

/// Starts threads, runs `work` with the switcher, and stops them.
fn under_load<T>(
    switched: &mut Switched,
    threads: u32,
    work: impl FnOnce(&mut Switcher<'_>, &Shared) -> Result<T, Error>,
) -> Result<(T, Seen), Error> {
    let shared = Shared::default();
    let (sites, mut switcher) = switched.split();
    let run = || run_sites(sites, &shared);
    let (result, seen) = beside(threads, &shared.done.0, run, || work(&mut switcher, &shared))?;
    let mut all = Seen::default();
    seen.iter().for_each(|seen| all.add(seen));
    Ok((result, all))
}

/// What runs while sites are switched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Sites.
    pub sites: u32,
    /// Threads that run them.
    pub threads: u32,
}

/// Measures one mechanism for about this long.
///
/// # Errors
///
/// The mechanism does not work here.
pub fn toggled(
    kind: Kind,
    mechanism: Mechanism,
    load: Load,
    time: Duration,
) -> Result<Toggled, Error> {
    let Load { sites, threads } = load;
    let mut switched = Switched::new(kind, mechanism, sites)?;
    let phase = time / (2 * PHASES);
    let ((latencies, rates), seen) = under_load(&mut switched, threads, |switcher, shared| {
        let mut latencies = Vec::new();
        let mut rates = [Vec::new(), Vec::new()];
        for number in 0..2 * PHASES {
            let switching = number % 2 == 1;
            let started = Instant::now();
            let before = shared.executions.0.load(Ordering::Relaxed);
            let mut first = true;
            while first || started.elapsed() < phase {
                pause(PAUSE);
                if switching {
                    latencies.push(toggle(switcher, shared)?);
                }
                first = false;
            }
            let ran = shared.executions.0.load(Ordering::Relaxed) - before;
            rates[usize::from(switching)].push(ran as f64 / started.elapsed().as_secs_f64());
        }
        Ok((latencies, rates))
    })?;
    let toggles = latencies.len() as f64;
    Ok(Toggled {
        kind,
        mechanism,
        sites,
        threads,
        p99_us: percentile(&latencies, 0.99),
        latency_us: Spread::of(&latencies),
        throughput: crate::Ratio::of(&rates[1], &rates[0]),
        seen,
        traps: switched.traps() as f64 / toggles.max(1.0),
    })
}

pub(super) fn percentile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len() as f64 * part).ceil() as usize;
    sorted.get(at.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

/// A long run of checked executions.
#[derive(Debug, Clone, Serialize)]
pub struct Checked {
    /// What changed.
    pub kind: Kind,
    /// Sites.
    pub sites: u32,
    /// Threads that ran them.
    pub threads: u32,
    /// Number of times that all sites were switched.
    pub toggles: u64,
    /// Seconds.
    pub elapsed_s: f64,
    /// Results of the threads.
    pub seen: Seen,
}

/// Switches, each followed by a pause as long, until this many executions are checked.
///
/// # Errors
///
/// Patching does not work here.
pub fn checked(
    kind: Kind,
    executions: u64,
    load: Load,
    mut progress: impl FnMut(f64),
) -> Result<Checked, Error> {
    let Load { sites, threads } = load;
    let mut switched = Switched::new(kind, Mechanism::Commit, sites)?;
    let started = Instant::now();
    let (toggles, seen) = under_load(&mut switched, threads, |switcher, shared| {
        let mut toggles = 0u64;
        loop {
            for _ in 0..64 {
                toggles += 1;
                let us = toggle(switcher, shared)?;
                let pause = Instant::now();
                while pause.elapsed().as_nanos() as f64 / 1e3 < us {
                    std::hint::spin_loop();
                }
            }
            let ran = shared.executions.0.load(Ordering::Relaxed);
            if ran >= executions {
                return Ok(toggles);
            }
            progress(ran as f64 / executions as f64);
        }
    })?;
    let elapsed_s = started.elapsed().as_secs_f64();
    Ok(Checked { kind, sites, threads, toggles, elapsed_s, seen })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poke::ALL_KINDS;

    #[test]
    fn no_mechanism_is_ever_wrong_or_late() {
        for kind in ALL_KINDS {
            for &mechanism in kind.mechanisms() {
                let time = Duration::from_millis(40);
                let toggled =
                    toggled(kind, mechanism, Load { sites: 16, threads: 2 }, time).unwrap();
                assert_eq!(toggled.seen.wrong, 0, "{kind:?} {mechanism:?}");
                let is_bound = mechanism.is_bound();
                assert!(!is_bound || toggled.seen.late == 0, "{kind:?} {mechanism:?}");
                assert!(toggled.seen.executions > 0 && toggled.latency_us.is_some());
            }
        }
    }

    #[test]
    fn executions_are_checked_until_there_are_enough() {
        for kind in ALL_KINDS {
            let checked =
                checked(kind, 1_000_000, Load { sites: 164, threads: 2 }, |_| {}).unwrap();
            assert!(checked.seen.executions >= 1_000_000 && checked.toggles > 0);
            assert!(checked.seen.settled > 0);
            assert_eq!((checked.seen.wrong, checked.seen.late), (0, 0));
        }
    }

    /// A wrong sequence number is detected.
    #[test]
    fn what_is_late_or_wrong_is_seen() {
        let mut switched = Switched::new(Kind::Retarget, Mechanism::DataPointer, 16).unwrap();
        let ((), seen) = under_load(&mut switched, 1, |switcher, shared| {
            // In state 1 while the number says 0.
            switcher.put(1)?;
            // Executions before that may be right.
            let before = shared.executions.0.load(Ordering::Relaxed);
            while shared.executions.0.load(Ordering::Relaxed) < before + 100_000 {
                std::thread::yield_now();
            }
            Ok(())
        })
        .unwrap();
        assert!(seen.late > 0 && seen.wrong == 0 && seen.late <= seen.settled, "{seen:?}");
    }

    #[test]
    fn the_99th_of_a_hundred() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(percentile(&values, 0.99), 99.0);
    }
}

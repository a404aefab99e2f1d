//! Switching under load: threads run all sites while another one switches them, and every execution
//! is compared with what a sequence number says of the state.
//!
//! The number is even while the state is settled (on if it is 2 modulo 4) and odd while it changes.
//! An execution is *wrong* if it returns what its site returns in neither state, and *late* if the
//! number was even and the same before and after and it was the other state's value.

use super::mechanism::{Mechanism, Switched, Switcher};
use crate::Spread;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Executions between two looks at the sequence number.
const CHUNK: usize = 16;
/// Time between two switchings.
const PAUSE: Duration = Duration::from_micros(200);
/// Times with and without switching, in turn.
const PHASES: u32 = 9;

/// What threads saw.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Seen {
    /// Executions that were checked.
    pub executions: u64,
    /// Those of them that lay between two switches, and had to do what the last one said.
    pub settled: u64,
    /// Values of neither state.
    pub wrong: u64,
    /// Values of the state before, after it was settled.
    pub late: u64,
}

/// What was measured.
#[derive(Debug, Clone, Serialize)]
pub struct Toggled {
    /// The way.
    pub mechanism: Mechanism,
    /// Sites.
    pub sites: u32,
    /// Threads that run them.
    pub threads: u32,
    /// Switching all sites once, us.
    pub latency_us: Option<Spread>,
    /// 99 of 100 took less, us.
    pub p99_us: f64,
    /// Executions a second while sites are switched, over those while nobody does; medians of
    /// nine.
    pub throughput: Option<crate::Ratio>,
    /// What threads saw.
    pub seen: Seen,
    /// Signals a switching.
    pub traps: f64,
}

/// What the threads share with who switches.
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
struct Apart<T>(T);

/// Runs all sites until it is done.
fn run_sites(sites: &super::Sites, shared: &Shared) -> Seen {
    let mut seen = Seen::default();
    while !shared.done.0.load(Ordering::Relaxed) {
        let before_all = seen.executions;
        for start in (0..sites.len()).step_by(CHUNK) {
            let end = (start + CHUNK).min(sites.len());
            let before = shared.sequence.0.load(Ordering::SeqCst);
            let (mut wrong, mut on) = (0, 0);
            for n in start..end {
                // 0 off, 1 on.
                let state = sites.call(n).wrapping_sub(2 * n as u32);
                wrong += u64::from(state > 1);
                on += u64::from(state);
            }
            let settled =
                shared.sequence.0.load(Ordering::SeqCst) == before && before.is_multiple_of(2);
            let count = (end - start) as u64;
            seen.executions += count;
            seen.wrong += wrong;
            seen.settled += if settled { count } else { 0 };
            if settled && wrong == 0 {
                seen.late += if before % 4 == 2 { count - on } else { on };
            }
        }
        shared.executions.0.fetch_add(seen.executions - before_all, Ordering::Relaxed);
    }
    seen
}

/// Switches all sites, with the number told before and after; us.
fn toggle(switcher: &mut Switcher<'_>, shared: &Shared, on: bool) -> Result<f64, String> {
    shared.sequence.0.fetch_add(1, Ordering::SeqCst);
    let started = Instant::now();
    let result = switcher.toggle(on);
    let us = started.elapsed().as_nanos() as f64 / 1e3;
    shared.sequence.0.fetch_add(1, Ordering::SeqCst);
    result.map(|()| us)
}

/// Runs threads, gives `work` who switches, and ends.
fn under_load<T>(
    switched: &mut Switched,
    threads: u32,
    work: impl FnOnce(&mut Switcher<'_>, &Shared) -> Result<T, String>,
) -> Result<(T, Seen), String> {
    let shared = Shared::default();
    let (sites, mut switcher) = switched.split();
    thread::scope(|scope| {
        let runners: Vec<_> =
            (0..threads).map(|_| scope.spawn(|| run_sites(sites, &shared))).collect();
        let result = work(&mut switcher, &shared);
        shared.done.0.store(true, Ordering::Relaxed);
        let mut all = Seen::default();
        for runner in runners {
            let seen = runner.join().map_err(|_| "a thread panicked")?;
            all.executions += seen.executions;
            all.settled += seen.settled;
            all.wrong += seen.wrong;
            all.late += seen.late;
        }
        result.map(|result| (result, all))
    })
}

/// Measures one mechanism for about this long.
///
/// # Errors
///
/// It does not work here.
pub fn toggled(
    mechanism: Mechanism,
    (sites, threads): (u32, u32),
    time: Duration,
) -> Result<Toggled, String> {
    let mut switched = Switched::new(mechanism, sites)?;
    let phase = time / (2 * PHASES);
    let ((latencies, rates), seen) = under_load(&mut switched, threads, |switcher, shared| {
        let mut latencies = Vec::new();
        let mut rates = [Vec::new(), Vec::new()];
        let mut on = false;
        for number in 0..2 * PHASES {
            let switching = number % 2 == 1;
            let started = Instant::now();
            let before = shared.executions.0.load(Ordering::Relaxed);
            let mut first = true;
            while first || started.elapsed() < phase {
                thread::sleep(PAUSE);
                if switching {
                    on = !on;
                    latencies.push(toggle(switcher, shared, on)?);
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

fn percentile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len() as f64 * part).ceil() as usize;
    sorted.get(at.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

/// A long run of checked executions.
#[derive(Debug, Clone, Serialize)]
pub struct Checked {
    /// Sites.
    pub sites: u32,
    /// Threads that ran them.
    pub threads: u32,
    /// Times that all sites were switched.
    pub toggles: u64,
    /// Seconds.
    pub elapsed_s: f64,
    /// What threads saw.
    pub seen: Seen,
}

/// Switches, with as long a pause as a switch takes, until so many executions were checked.
///
/// # Errors
///
/// Patching does not work here.
pub fn checked(
    executions: u64,
    (sites, threads): (u32, u32),
    mut progress: impl FnMut(f64),
) -> Result<Checked, String> {
    let mut switched = Switched::new(Mechanism::Commit, sites)?;
    let started = Instant::now();
    let (toggles, seen) = under_load(&mut switched, threads, |switcher, shared| {
        let mut toggles = 0u64;
        loop {
            for _ in 0..64 {
                toggles += 1;
                let us = toggle(switcher, shared, toggles % 2 == 1)?;
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
    Ok(Checked { sites, threads, toggles, elapsed_s, seen })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poke::MECHANISMS;

    #[test]
    fn no_mechanism_is_ever_wrong_or_late() {
        for mechanism in MECHANISMS {
            let time = Duration::from_millis(40);
            let toggled = toggled(mechanism, (16, 2), time).unwrap();
            assert_eq!(toggled.seen.wrong, 0, "{mechanism:?}");
            assert!(!mechanism.is_bound() || toggled.seen.late == 0, "{mechanism:?}");
            assert!(toggled.seen.executions > 0 && toggled.latency_us.is_some());
        }
    }

    #[test]
    fn executions_are_checked_until_there_are_enough() {
        let checked = checked(1_000_000, (164, 2), |_| {}).unwrap();
        assert!(checked.seen.executions >= 1_000_000 && checked.toggles > 0);
        assert_eq!((checked.seen.wrong, checked.seen.late), (0, 0));
    }

    #[test]
    fn the_99th_of_a_hundred() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(percentile(&values, 0.99), 99.0);
    }
}

//! The clock used to time runs, and the conversion of its ticks to nanoseconds.
//!
//! The time stamp counter, if the CPU guarantees a constant rate in all states and on all
//! processors; otherwise `CLOCK_MONOTONIC`; or the embedder's own. The counter's rate is measured
//! against `CLOCK_MONOTONIC` from the first program on, over two intervals that must agree; reading
//! times before they are over waits for the rest of them (20 ms).
//!
//! # Invariants
//! 1. Once known, the rate does not change, so times only grow. The same holds for the absence of a
//!    rate.
//! 2. A rate must be one that a processor can have; otherwise there are no times
//!    ([`ClockError::NoRate`]).

use super::counts::add_timed;
use super::estimate::{self, Ended};
use crate::Error;
use crate::processor::{tsc, tsc_is_invariant};
use rustix::time::{ClockId, clock_gettime};
use skep_jit::stats::{StatsControl, StatsSlot};
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use thiserror::Error as ThisError;

/// Why times are unknown or incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ThisError)]
pub enum ClockError {
    /// The clock jumped back, or far ahead, during timed runs. They count as runs, but not in times
    /// or histograms.
    #[error("the clock jumped during {0} timed runs; their time is unknown")]
    Jumped(u64),
    /// The time stamp counter stands still, runs backwards, or has a rate that no processor has: it
    /// does not measure time.
    #[error("the time stamp counter does not advance at a constant rate against CLOCK_MONOTONIC")]
    NoRate,
}

/// Which clock statistics use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockSource {
    /// The time stamp counter if it is reliable, else `CLOCK_MONOTONIC`.
    #[default]
    Auto,
    /// The time stamp counter, or an error.
    Tsc,
    /// `CLOCK_MONOTONIC`.
    Monotonic,
    /// The embedder's own, for simulated time or a better clock.
    Host(HostClock),
}

/// The embedder's clock, in ns. It is read twice per timed run, on the thread of the run.
#[derive(Clone, Copy, Debug)]
pub struct HostClock(pub extern "C" fn() -> u64);

impl PartialEq for HostClock {
    fn eq(&self, other: &HostClock) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for HostClock {}

/// A clock that can be used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    Tsc,
    Monotonic,
    Host(HostClock),
}

impl Clock {
    pub(crate) fn new(source: ClockSource) -> Result<Clock, Error> {
        let clock = match (source, tsc_is_invariant()) {
            (ClockSource::Auto | ClockSource::Tsc, true) => Clock::Tsc,
            (ClockSource::Auto | ClockSource::Monotonic, _) => Clock::Monotonic,
            (ClockSource::Host(clock), _) => Clock::Host(clock),
            (ClockSource::Tsc, false) => {
                let text = "this processor has no constant-rate time stamp counter";
                return Err(Error::clock(text));
            }
        };
        if clock == Clock::Tsc {
            first_pair();
        }
        Ok(clock)
    }

    /// The calling thread's ticks.
    pub(crate) fn now(self) -> u64 {
        match self {
            Clock::Tsc => tsc(),
            Clock::Monotonic => monotonic(),
            Clock::Host(clock) => (clock.0)(),
        }
    }

    /// The function that machine code calls for it; 0 if it reads the counter itself.
    pub(crate) fn address(self) -> u64 {
        match self {
            Clock::Tsc => 0,
            Clock::Monotonic => monotonic as *const () as u64,
            Clock::Host(clock) => clock.0 as *const () as u64,
        }
    }

    /// The function that machine code calls for a run with a histogram, or that represents others.
    pub(crate) fn timed(self) -> u64 {
        match self {
            Clock::Tsc => timed_by_tsc as *const () as u64,
            Clock::Monotonic | Clock::Host(_) => timed_in_ns as *const () as u64,
        }
    }

    /// Adds a run to the calling thread's slot, and to its histogram if enabled.
    pub(crate) fn add_timed(self, slot: &StatsSlot, control: &StatsControl, run: Ended) {
        let has_histogram = control.has_histogram.load(Relaxed) != 0;
        let ns = has_histogram.then(|| self.ns(run.elapsed).ok()).flatten();
        let ticks = estimate::ticks(slot, control.since.load(Relaxed), run);
        add_timed(slot, ticks, ns.map(bucket), run.weight);
    }

    /// Ticks in ns.
    pub(crate) fn ns(self, ticks: u64) -> Result<u64, ClockError> {
        match self {
            Clock::Tsc => Ok(scaled(ticks, tsc_rate()?)),
            Clock::Monotonic | Clock::Host(_) => Ok(ticks),
        }
    }

    /// Whether runs can be timed, as far as known; with `calibrate` it is known afterwards.
    pub(crate) fn check(self, calibrate: bool) -> Result<(), ClockError> {
        if self != Clock::Tsc || !(calibrate || RATE.load(Relaxed) != UNKNOWN) {
            return Ok(());
        }
        tsc_rate().map(drop)
    }
}

extern "C" fn monotonic() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

extern "C" fn timed_by_tsc(
    slot: &StatsSlot,
    control: &StatsControl,
    elapsed: u64,
    weight: u64,
    now: u64,
) {
    Clock::Tsc.add_timed(slot, control, Ended { elapsed, weight, now });
}

extern "C" fn timed_in_ns(
    slot: &StatsSlot,
    control: &StatsControl,
    elapsed: u64,
    weight: u64,
    now: u64,
) {
    Clock::Monotonic.add_timed(slot, control, Ended { elapsed, weight, now });
}

/// The histogram bucket of a time.
fn bucket(ns: u64) -> usize {
    ns.max(1).ilog2() as usize
}

/// Fractional bits of a rate.
const RATE_BITS: u32 = 32;

fn scaled(ticks: u64, rate: u64) -> u64 {
    ((u128::from(ticks) * u128::from(rate)) >> RATE_BITS) as u64
}

/// The same moment on both clocks.
#[derive(Clone, Copy, Debug)]
struct Pair {
    ticks: u64,
    ns: u64,
}

/// The best of several attempts: the thread may be preempted between the two readings.
fn pair() -> Pair {
    let attempt = || {
        let (before, ns, after) = (tsc(), monotonic(), tsc());
        (after.wrapping_sub(before), Pair { ticks: before, ns })
    };
    let best = (0..8).map(|_| attempt()).min_by_key(|(width, _)| *width);
    best.map_or(Pair { ticks: 0, ns: 0 }, |(_, pair)| pair)
}

/// When the first program was loaded.
fn first_pair() -> Pair {
    static FIRST: OnceLock<Pair> = OnceLock::new();
    *FIRST.get_or_init(pair)
}

/// Length of one of the two intervals.
const STRETCH_NS: u64 = 10_000_000;
/// They agree if they differ by less than one in this many.
const AGREEMENT: u64 = 1000;
/// Number of attempts before the last one is accepted.
const ATTEMPTS: u32 = 10;

/// The result of [`tsc_rate`], or one of the two below. A thread that does not find it measures,
/// and the first one to finish sets it: no thread waits for another, which may not exist in a child
/// of `fork`.
static RATE: AtomicU64 = AtomicU64::new(UNKNOWN);
const UNKNOWN: u64 = 0;
const NONE: u64 = u64::MAX;

/// ns per tick, with `RATE_BITS` fractional bits.
fn tsc_rate() -> Result<u64, ClockError> {
    #[cfg(test)]
    if tests::HAS_NO_RATE.get() {
        return Err(ClockError::NoRate);
    }
    let mut rate = RATE.load(Relaxed);
    if rate == UNKNOWN {
        let mine = measured(first_pair(), wait_until).unwrap_or(NONE);
        let other = RATE.compare_exchange(UNKNOWN, mine, Relaxed, Relaxed);
        rate = other.err().unwrap_or(mine);
    }
    if rate == NONE { Err(ClockError::NoRate) } else { Ok(rate) }
}

/// The rate from a moment on; `wait_until` gives one that is at least that many ns later.
fn measured(first: Pair, wait_until: impl Fn(u64) -> Pair) -> Option<u64> {
    let mut from = first;
    for _ in 0..ATTEMPTS {
        let middle = wait_until(from.ns + STRETCH_NS);
        let end = wait_until(middle.ns + STRETCH_NS);
        if let Some(rate) = agreed([from, middle, end]) {
            return Some(rate);
        }
        from = end;
    }
    // If the clocks never agree for two intervals, the mean over all of them is used.
    rate(first, from).filter(is_plausible)
}

fn wait_until(ns: u64) -> Pair {
    loop {
        let now = pair();
        if now.ns >= ns {
            return now;
        }
        // `sleep` panics if the host denies the system call.
        std::thread::park_timeout(Duration::from_nanos(ns - now.ns));
    }
}

/// The rate over two intervals, if it is the same in both and a processor can have it.
fn agreed([from, middle, end]: [Pair; 3]) -> Option<u64> {
    let (one, two) = (rate(from, middle)?, rate(middle, end)?);
    (one.abs_diff(two) < one / AGREEMENT && is_plausible(&one)).then(|| rate(from, end))?
}

/// ns per tick between two moments.
fn rate(from: Pair, to: Pair) -> Option<u64> {
    let ticks = to.ticks.checked_sub(from.ticks).filter(|ticks| *ticks > 0)?;
    let rate = (u128::from(to.ns.checked_sub(from.ns)?) << RATE_BITS) / u128::from(ticks);
    u64::try_from(rate).ok()
}

/// 0.05 to 20 ns per tick: 50 MHz to 20 GHz.
fn is_plausible(rate: &u64) -> bool {
    ((1 << RATE_BITS) / 20..20 << RATE_BITS).contains(rate)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        /// On this thread the counter does not follow time.
        pub(crate) static HAS_NO_RATE: Cell<bool> = const { Cell::new(false) };
    }

    #[test]
    fn a_counter_that_is_no_clock_has_no_rate() {
        // Ticks at a time; all from 10^9 on.
        let measure = |ticks: fn(u64) -> u64| {
            let at = |ns| Pair { ticks: ticks(ns).wrapping_add(1 << 40), ns };
            measured(at(1_000_000_000), at)
        };
        assert_eq!(measure(|ns| 2 * ns), Some(1 << (RATE_BITS - 1)));
        // Stands still; goes backwards; a hundred to the ns, one in a hundred.
        assert_eq!(measure(|_| 5), None);
        assert_eq!(measure(|ns| 0u64.wrapping_sub(ns)), None);
        assert_eq!(measure(|ns| 100 * ns), None);
        assert_eq!(measure(|ns| ns / 100), None);
        // Jumps once: two later stretches agree. Jumps in each: the mean.
        let once = measure(|ns| ns + if ns > 1_015_000_000 { 1 << 30 } else { 0 });
        assert_eq!(once, Some(1 << RATE_BITS));
        let mean = measure(|ns| ns + ns / 10_000_000 % 2 * 1_000_000);
        assert_eq!(mean, Some(1 << RATE_BITS));
    }

    #[test]
    fn the_rate_makes_ticks_real_time() {
        let clock = Clock::new(ClockSource::Auto).unwrap();
        assert_eq!(clock.check(true), Ok(()));
        // The thread may be preempted between the two readings: one good attempt in several is
        // enough.
        let mut attempts = (0..10).map(|_| {
            let (ticks, started) = (clock.now(), std::time::Instant::now());
            std::thread::sleep(Duration::from_millis(30));
            (clock.ns(clock.now() - ticks).unwrap(), started.elapsed().as_nanos() as u64)
        });
        assert!(attempts.any(|(ns, real)| ns.abs_diff(real) < real / 50));
    }

    #[test]
    fn stretches_have_to_agree() {
        let at = |ticks, ns| Pair { ticks, ns };
        let half = agreed([at(0, 0), at(2000, 1000), at(4000, 2000)]);
        assert_eq!(half, Some(1 << 31));
        // A jump of either clock, forwards or backwards; clocks that stand still.
        assert_eq!(agreed([at(0, 0), at(2000, 1000), at(9000, 2000)]), None);
        assert_eq!(agreed([at(0, 0), at(2000, 1000), at(1000, 2000)]), None);
        assert_eq!(agreed([at(0, 0), at(2000, 9000), at(4000, 10000)]), None);
        assert_eq!(agreed([at(5, 0), at(5, 1000), at(5, 2000)]), None);
        assert_eq!(agreed([at(0, 0), at(1, 1000), at(2, 2000)]), None);
    }

    #[test]
    fn the_counter_is_refused_where_it_is_not_invariant() {
        let asked = Clock::new(ClockSource::Tsc);
        assert_eq!(asked.is_ok(), tsc_is_invariant());
        assert_eq!(Clock::new(ClockSource::Monotonic).unwrap(), Clock::Monotonic);
        let now = Clock::Monotonic.now();
        assert!(Clock::Monotonic.now() >= now && Clock::Monotonic.ns(17) == Ok(17));
    }
}

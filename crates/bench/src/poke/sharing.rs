//! What counting costs when several threads do it: one counter for all, a counter of each thread on
//! one cache line, and on lines apart.

use super::cost::thread_ns;
use crate::{Ratio, Rounds, Spread, interleave};
use serde::Serialize;
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Counts of one measurement and thread: far longer than it takes to wake a thread.
const COUNTS: u32 = 2_000_000;

/// Where counters are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Layout {
    /// One counter.
    Shared,
    /// Each thread its own, side by side.
    OneLine,
    /// Each thread its own, on a pair of lines.
    Apart,
}

/// All of them.
pub const LAYOUTS: [Layout; 3] = [Layout::Shared, Layout::OneLine, Layout::Apart];

impl Layout {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Layout::Shared => "one counter, atomic addition",
            Layout::OneLine => "a counter of each thread, on one line",
            Layout::Apart => "a counter of each thread, on lines apart",
        }
    }
}

/// What counting costs.
#[derive(Debug, Clone, Serialize)]
pub struct Counted {
    /// Where counters are.
    pub layout: Layout,
    /// ns a count, with one thread, two, and so on as was asked.
    pub ns: Vec<Option<Spread>>,
    /// The last over the first.
    pub ratio: Option<Ratio>,
}

#[repr(align(128))]
struct Pair([AtomicU64; 16]);

/// Counts in threads that start together; ns a count of the slowest, of its own
/// CPU time.
fn count(layout: Layout, threads: u32, counters: &[Pair]) -> f64 {
    let barrier = Barrier::new(threads as usize);
    let run = |number: usize| {
        let counter = match layout {
            Layout::Shared => &counters[0].0[0],
            Layout::OneLine => &counters[0].0[number % 8],
            Layout::Apart => &counters[number % counters.len()].0[0],
        };
        barrier.wait();
        let started = thread_ns();
        for _ in 0..COUNTS {
            let counter = black_box(counter);
            if layout == Layout::Shared {
                counter.fetch_add(1, Ordering::Relaxed);
            } else {
                counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            }
        }
        (thread_ns() - started) / f64::from(COUNTS)
    };
    thread::scope(|scope| {
        let runners: Vec<_> =
            (0..threads as usize).map(|number| scope.spawn(move || run(number))).collect();
        let times = runners.into_iter().filter_map(|runner| runner.join().ok());
        times.fold(0.0, f64::max)
    })
}

/// Measures each layout with each number of threads, all in turn.
pub fn counted(threads: &[u32], rounds: u32) -> Vec<Counted> {
    let most = threads.iter().copied().max().unwrap_or(1);
    let counters: Vec<Pair> = (0..most).map(|_| Pair([const { AtomicU64::new(0) }; 16])).collect();
    let sides: Vec<(Layout, u32)> = LAYOUTS
        .into_iter()
        .flat_map(|layout| threads.iter().map(move |threads| (layout, *threads)))
        .collect();
    let run = |side: usize| {
        let (layout, threads) = sides[side];
        Ok::<_, std::convert::Infallible>(count(layout, threads, &counters))
    };
    let Ok(values) = interleave(Rounds::Repeat(rounds), sides.len(), run, |_| {});
    let row = |(layout, values): (Layout, &[Vec<f64>])| Counted {
        layout,
        ns: values.iter().map(|values| Spread::of(values)).collect(),
        ratio: values.last().zip(values.first()).and_then(|(last, first)| Ratio::of(last, first)),
    };
    LAYOUTS.into_iter().zip(values.chunks(threads.len().max(1))).map(row).collect()
}

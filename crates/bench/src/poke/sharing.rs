//! The cost of counting in several threads: one counter for all, one per thread on the same cache
//! line, and one per thread on separate lines.

use super::together::together;
use crate::{Ratio, Rounds, Spread, interleave};
use serde::Serialize;
use skep_cli::Error;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of one measurement and thread.
const BLOCK: u32 = 10_000;
const BLOCKS: u32 = 100;

/// Layout of counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Layout {
    /// One counter.
    Shared,
    /// One per thread, side by side.
    OneLine,
    /// One per thread, on separate pairs of lines.
    Apart,
}

/// All of them.
pub const LAYOUTS: [Layout; 3] = [Layout::Shared, Layout::OneLine, Layout::Apart];

impl Layout {
    /// Name, for tables.
    pub fn name(self) -> &'static str {
        match self {
            Layout::Shared => "one counter, atomic addition",
            Layout::OneLine => "a counter of each thread, on one line",
            Layout::Apart => "a counter of each thread, on lines apart",
        }
    }
}

/// The cost of counting.
#[derive(Debug, Clone, Serialize)]
pub struct Counted {
    /// Layout of counters.
    pub layout: Layout,
    /// ns per count, for each number of threads.
    pub ns: Vec<Option<Spread>>,
    /// The last value over the first.
    pub ratio: Option<Ratio>,
}

#[repr(align(128))]
struct Pair([AtomicU64; 16]);

/// ns per count, the mean of the threads.
fn count(layout: Layout, threads: u32, counters: &[Pair]) -> Result<f64, Error> {
    let make = |number: u32| {
        let number = number as usize;
        let counter = match layout {
            Layout::Shared => &counters[0].0[0],
            Layout::OneLine => &counters[0].0[number % 8],
            Layout::Apart => &counters[number % counters.len()].0[0],
        };
        Ok(move || {
            for _ in 0..BLOCK {
                let counter = black_box(counter);
                if layout == Layout::Shared {
                    counter.fetch_add(1, Ordering::Relaxed);
                } else {
                    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                }
            }
            Ok(())
        })
    };
    let (ns, _) = together(threads, BLOCKS, make)?;
    Ok(ns / f64::from(BLOCK))
}

/// Measures each layout with each number of threads, all in turn.
///
/// # Errors
///
/// The host does not start threads.
pub fn counted(threads: &[u32], rounds: u32) -> Result<Vec<Counted>, Error> {
    let most = threads.iter().copied().max().unwrap_or(1);
    let counters: Vec<Pair> = (0..most).map(|_| Pair([const { AtomicU64::new(0) }; 16])).collect();
    let sides: Vec<(Layout, u32)> = LAYOUTS
        .into_iter()
        .flat_map(|layout| threads.iter().map(move |threads| (layout, *threads)))
        .collect();
    let run = |side: usize| {
        let (layout, threads) = sides[side];
        count(layout, threads, &counters)
    };
    let values = interleave(Rounds::Repeat(rounds), sides.len(), run, |_| {})?;
    let row = |(layout, values): (Layout, &[Vec<f64>])| Counted {
        layout,
        ns: values.iter().map(|values| Spread::of(values)).collect(),
        ratio: values.last().zip(values.first()).and_then(|(last, first)| Ratio::of(last, first)),
    };
    Ok(LAYOUTS.into_iter().zip(values.chunks(threads.len().max(1))).map(row).collect())
}

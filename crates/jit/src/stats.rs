//! Counting and timing of runs in machine code: the words that it writes, and the sites that switch
//! it on.
//!
//! A program's first insn is a switch site, so nothing is added to the program. When on, it jumps
//! to an out-of-line stub:
//!
//! ```text
//!   stub: slot.run_cnt += 1
//!         run_cnt * GOLDEN mod 2^32 <= control.rate ?        no: do the insn, continue after it
//!         push slot, weight of the rate, clock               the record of the run
//!         call (do the insn, continue after it)
//!   ret:  slot.ticks += clock - record.clock, or for more than one run what [`BANK_BITS`] says
//!         return
//! ```
//!
//! A tail call is a switch site too, after the epilogue: its stub ends the record, if the run that
//! continues in the target has one, which is the case if its return address is `ret`.
//!
//! A run with fuel may be stopped anywhere. Its records form a list that starts in its environment
//! ([`crate::RunEnv::record`]): stopping goes to the `ret` of each, as if the program returned.
//!
//! # Invariants
//! 1. A run that was counted when it began is counted whatever is switched in the meantime: the
//!    record is on its own stack, and the code that ends it follows the stub's call.
//! 2. A slot is only written by the thread that owns it; fields that belong together (`ticks`,
//!    `timed_cnt`, `buckets`) change while `seq` is odd.
//! 3. If one in N runs is timed, of every 2^32 consecutive runs of a thread exactly 2^32 / N are,
//!    spread evenly by the golden ratio, so that periodic behaviour is not sampled at one phase
//!    only.

mod rate;
mod slot;

use crate::sites::SwitchSite;
pub use rate::{GOLDEN, Rate};
pub use slot::{Buckets, StatsSlot};
use std::sync::atomic::{self, AtomicU32, AtomicU64};

/// If a run appears to be longer than 2 to the power of this, in ticks, the clock has jumped.
pub const JUMP_BITS: u8 = 42;
/// If a timed run represents others, these count with its time, but at most as given by
/// [`LIMIT_BITS`]; and all together with no more than the time elapsed for the thread since
/// statistics were requested, of which up to 2 to the power of this, in ticks, are carried over.
/// (`skep-runtime` explains this in `stats/estimate.rs`, and does the same for interpreted runs;
/// machine code calls it for complex cases.)
pub const BANK_BITS: u8 = 28;
/// A run that is not timed is assumed to be no longer than the mean times 2 to the power of this.
pub const LIMIT_BITS: u8 = 8;
/// Number of buckets, one for each power of two.
pub const BUCKETS: usize = 48;

/// The requested settings as read by machine code; rarely written.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct StatsControl {
    /// Which runs are timed.
    pub rate: Rate,
    /// Whether `StatsLink::timed` is called at the end of every run.
    pub has_histogram: AtomicU32,
    /// The time of the request, by the clock.
    pub since: AtomicU64,
}

/// Addresses for the statistics of one program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatsLink {
    /// The first [`StatsSlot`].
    pub slots: u64,
    /// The [`StatsControl`].
    pub control: u64,
    /// Where each thread stores the offset of its slot from the first, in bytes: at this offset
    /// from its thread pointer (`fs`).
    pub thread_word: i32,
    /// `extern "C" fn() -> u64`; 0 is the time stamp counter.
    pub clock: u64,
    /// `extern "C" fn(&StatsSlot, &StatsControl, elapsed: u64, weight: u64, now: u64)`, which
    /// handles the end of a run that has a histogram, or is unusually long.
    pub timed: u64,
}

/// The sites that switch statistics ([`crate::MachineCode::stats_switches`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StatsSites {
    pub(crate) entry: Option<SwitchSite>,
    pub(crate) tail_calls: Vec<SwitchSite>,
}

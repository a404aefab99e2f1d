//! How machine code counts and times its runs: the words that it writes, and the sites that switch
//! it on.
//!
//! A program's first insn is a switch site, so that nothing is added to the program. Switched on,
//! it leads to a stub outside the program's way:
//!
//! ```text
//!   stub: slot.run_cnt += 1
//!         run_cnt * GOLDEN mod 2^32 <= control.rate ?        no: do the insn, go on behind it
//!         push slot, weight of the rate, clock               the record of the run
//!         call (do the insn, go on behind it)
//!   ret:  slot.ticks += clock - record.clock, or for more than one run what [`BANK_BITS`] says
//!         return
//! ```
//!
//! A tail call is a switch site too, behind the epilogue: its stub ends the record, if the run that
//! goes over to the target has one. That is so if what it would return to is `ret`.
//!
//! A run with fuel may be stopped anywhere. Its records are a list that starts in its environment
//! ([`crate::RunEnv::record`]): who stops goes to the `ret` of each, as if the program returned.
//!
//! # Invariants
//! 1. A run that was counted when it began is one whatever is switched meanwhile: the record is on
//!    its own stack, and the code that ends it is what the stub called from.
//! 2. A slot is written by the thread that owns it and by no other; what belongs together
//!    (`ticks`, `timed_cnt`, `buckets`) changes while `seq` is odd.
//! 3. Where one in N runs is timed, of every 2^32 in a row of one thread exactly 2^32 / N are,
//!    spread as evenly as a golden section spreads them: nothing periodic is met at one phase only.

mod rate;
mod slot;

use crate::sites::SwitchSite;
pub use rate::Rate;
pub use slot::{Buckets, StatsSlot};
use std::sync::atomic::{self, AtomicU32, AtomicU64};

/// 2^32 divided by the golden ratio, odd.
pub const GOLDEN: u32 = 0x9e37_79b9;
/// Runs that seem to be longer than 2 to the power of this, in ticks, are a clock that jumped.
pub const JUMP_BITS: u8 = 42;
/// Where a timed run stands for others, these take its time, but at most as long as [`LIMIT_BITS`]
/// says; and all together no more than has passed for the thread since statistics were asked for,
/// of which it saves up 2 to the power of this, in ticks. (`skep-runtime` says why, in
/// `stats/estimate.rs`, and does the same for interpreted runs; machine code calls it where it does
/// not know on.)
pub const BANK_BITS: u8 = 28;
/// A run that is not timed is not taken to be longer than the mean times 2 to the power of this.
pub const LIMIT_BITS: u8 = 8;
/// Powers of two that have a bucket.
pub const BUCKETS: usize = 48;

/// What machine code reads of what was asked for; seldom written.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct StatsControl {
    /// Which runs are timed.
    pub rate: Rate,
    /// Whether `StatsLink::timed` is called at the end of every run.
    pub has_histogram: AtomicU32,
    /// When this was asked for, by the clock.
    pub since: AtomicU64,
}

/// Addresses for the statistics of one program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatsLink {
    /// The first [`StatsSlot`].
    pub slots: u64,
    /// The [`StatsControl`].
    pub control: u64,
    /// Where each thread keeps the distance of its slot from the first, in bytes: this far from
    /// its thread pointer (`fs`).
    pub thread_word: i32,
    /// `extern "C" fn() -> u64`; 0 is the time stamp counter.
    pub clock: u64,
    /// `extern "C" fn(&StatsSlot, &StatsControl, elapsed: u64, weight: u64, now: u64)`, which
    /// does what a run needs at its end that has a histogram, or is longer than is usual.
    pub timed: u64,
}

/// The sites that statistics are switched with ([`crate::CodeInfo::stats_entry`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StatsSites {
    pub(crate) entry: Option<SwitchSite>,
    pub(crate) tail_calls: Vec<SwitchSite>,
}

//! Events of the walk, reported as they happen: for explaining a rejection, counting what uses the
//! budget, or drawing the paths.
//!
//! The walk calls `Trace` (`sinks`, and `telling` with one function per kind of event), which
//! passes the event on to whoever is interested: a [`Listener`], which gets typed [`Event`]s in the
//! order of the walk, the kernel's log (`crate::log`), and the record for `cargo xtask embed`
//! (`crate::watch`). The log is never parsed.
//!
//! # Invariants
//! 1. Listening does not affect the walk: verdict, counts and log are the same.
//! 2. Without a listener, the only cost is the check whether there is a log (`Trace::is_followed`).
//! 3. `Waits` and `GoesOn` nest like brackets: each `GoesOn` belongs to the last `Waits` that has
//!    none yet; events in between are about other paths.

mod reg_value;
mod sides;
pub(crate) mod sinks;
pub(crate) mod telling;
mod traced;

pub use crate::log::reg_view::{Bounds, Pointee, RegView};
pub use reg_value::RegValue;
pub use sides::{SideValue, Sides};
pub use traced::verify_traced;

use crate::rejection::RejectKind;
use std::fmt;

/// An event of the walk.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'e> {
    /// The verification of a function starts: the program, or a global function verified on its
    /// own.
    Function {
        /// Number of the subprog.
        subprog: u32,
    },
    /// An insn is about to be walked.
    Insn {
        /// Its index.
        insn_idx: u32,
        /// Call frame, 0 for the entry function's.
        frame: u32,
    },
    /// Several consecutive insns on scalars were walked: replaces single events for listeners that
    /// do not want registers.
    Run {
        /// Index of the first insn.
        first: u32,
        /// Number of insns.
        insns: u32,
        /// Call frame, 0 for the entry function's.
        frame: u32,
    },
    /// Registers that have changed since the last report.
    Registers(Registers<'e>),
    /// A branch was pushed: the walk continues there after this path has ended.
    Waits {
        /// The branching insn.
        from: u32,
        /// Where the walk will continue.
        to: u32,
    },
    /// The path has ended; the branch pushed last continues.
    GoesOn {
        /// The branching insn.
        from: u32,
        /// The next insn.
        to: u32,
        /// The path exists only under branch misprediction.
        speculative: bool,
    },
    /// The state before the insn was saved for pruning.
    Saved {
        /// The insn.
        insn_idx: u32,
    },
    /// The path ends before the insn, because a saved state covers it.
    Pruned {
        /// The insn.
        insn_idx: u32,
        /// Call frame, 0 for the entry function's.
        frame: u32,
    },
    /// States saved at the insn do not cover the path.
    KeptApart {
        /// The insn.
        insn_idx: u32,
        /// Why.
        why: Apart,
        /// Number of states.
        times: u32,
        /// The differing values; `None` if the reason is the same as in the previous such event of
        /// the insn.
        values: Sides<'e>,
    },
    /// Registers or slots of a saved state became precise: only equal values are covered from now
    /// on. Reported at the current insn, or at the insn before which a path ends.
    Precise {
        /// The insn at which the state was saved.
        insn_idx: u32,
        /// The insn that required it, or the one before which the path ends.
        by: u32,
        /// The frame.
        frame: u32,
        /// Bit mask of registers.
        regs: u16,
        /// Bit mask of stack slots.
        slots: u64,
    },
    /// The program is rejected.
    Refused {
        /// At this insn.
        insn_idx: u32,
        /// In this frame.
        frame: u32,
        /// What is wrong.
        kind: &'e RejectKind,
    },
}

/// Why a saved state does not cover the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Apart {
    /// A register that may be read later.
    Register {
        /// Its frame.
        frame: u8,
        /// Its number.
        regno: u8,
    },
    /// A stack slot that may be read later.
    Slot {
        /// The frame.
        frame: u8,
        /// Its index, 0 for the topmost.
        spi: u8,
    },
    /// Frames, references, locks or critical sections differ.
    State,
    /// The paths from the saved state have not all been explored.
    Unfinished,
}

/// The difference, in a few words.
impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The entry function's frame needs no number.
        let of_frame = |f: &mut fmt::Formatter<'_>, frame| match frame {
            0 => Ok(()),
            _ => write!(f, " of frame {frame}"),
        };
        match *self {
            Apart::Register { frame, regno } => {
                write!(f, "r{regno}")?;
                of_frame(f, frame)
            }
            Apart::Slot { frame, spi } => {
                write!(f, "fp-{}", 8 * (u32::from(spi) + 1))?;
                of_frame(f, frame)
            }
            Apart::Unfinished => f.write_str("an iteration of a loop that has not ended"),
            Apart::State => f.write_str("calls, references or locks"),
        }
    }
}

/// Changed registers of a frame.
#[derive(Clone, Copy)]
pub struct Registers<'e> {
    /// The insn after which they have these values; `None` at the start of a function.
    pub by: Option<u32>,
    /// The frame.
    pub frame: u32,
    /// Bit mask of registers.
    pub changed: u16,
    pub(super) value: &'e dyn Fn(u8) -> RegValue,
}

impl Registers<'_> {
    /// The numbers of the changed registers.
    pub fn numbers(&self) -> impl Iterator<Item = u8> + use<> {
        let changed = self.changed;
        (0..11).filter(move |regno| changed >> regno & 1 == 1)
    }

    /// What a register holds.
    pub fn value(&self, regno: u8) -> RegValue {
        (self.value)(regno)
    }
}

impl fmt::Debug for Registers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.numbers().map(|regno| (regno, self.value(regno)));
        f.debug_struct("Registers")
            .field("by", &self.by)
            .field("frame", &self.frame)
            .field("values", &values.collect::<Vec<_>>())
            .finish()
    }
}

/// Receives the events of a walk.
pub trait Listener {
    /// Called for each event.
    fn tell(&mut self, event: Event<'_>);

    /// Whether to report registers ([`Event::Registers`]), which takes time.
    fn wants_registers(&self) -> bool {
        true
    }
}

//! Events of the walk, reported as they happen: for explaining a rejection, counting what uses the
//! budget, or drawing the paths.
//!
//! The walk tells `Trace` (`sinks`, `telling`: one function for each thing that happens), which
//! passes it on to whoever is there: a [`Listener`], which gets typed [`Event`]s in the order of
//! the walk, the kernel's log (`crate::log`), and the record for `cargo xtask embed`
//! (`crate::watch`). The log is never read back.
//!
//! # Invariants
//! 1. Listening changes nothing of the walk: verdict, counts and log are the same.
//! 2. Without a listener, the walk asks only where it asks whether there is a log
//!    (`Trace::is_followed`).
//! 3. Of `Waits` and `GoesOn`, as of brackets, each `GoesOn` belongs to the last `Waits` that has
//!    none yet: what was told between the two is of other paths.

mod sides;
pub(crate) mod sinks;
pub(crate) mod telling;
mod traced;

pub use sides::Sides;
pub use traced::verify_traced;

use crate::rejection::RejectKind;

/// An event of the walk.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'e> {
    /// A function begins that is walked on its own: the program, or a global function.
    Function {
        /// Its number.
        subprog: u32,
    },
    /// An insn is walked next.
    Insn {
        /// Its index.
        insn_idx: u32,
        /// Call frame, 0 for the entry function's.
        frame: u32,
    },
    /// Insns were walked one after the other, on scalars alone: what a listener gets that does not
    /// want registers, instead of as many insns.
    Run {
        /// The index of the first.
        first: u32,
        /// How many.
        insns: u32,
        /// Call frame, 0 for the entry function's.
        frame: u32,
    },
    /// Registers that are not what was told last.
    Registers(Registers<'e>),
    /// A branch waits: the walk goes on there once this path has ended.
    Waits {
        /// The insn that branches.
        from: u32,
        /// Where the walk will go on.
        to: u32,
    },
    /// The path has ended; the branch that began to wait last goes on.
    GoesOn {
        /// The insn that branched.
        from: u32,
        /// The insn that is next.
        to: u32,
        /// Only a processor that guesses wrong goes there.
        speculative: bool,
    },
    /// The state before the insn is kept, to end paths that come to the same.
    Saved {
        /// The insn.
        insn_idx: u32,
    },
    /// The path ends before the insn: a state that was kept there covers it.
    Pruned {
        /// The insn.
        insn_idx: u32,
        /// Call frame, 0 for the entry function's.
        frame: u32,
    },
    /// States that were kept before the insn do not cover the path.
    KeptApart {
        /// The insn.
        insn_idx: u32,
        /// Why.
        why: Apart,
        /// How many.
        times: u32,
        /// What is known of it; nothing if it was the reason that was told last.
        values: Sides<'e>,
    },
    /// Numbers of a kept state matter from now on: only a path that has no others is covered. Told
    /// of the insn at hand, or of the one that is next if a path ends before it.
    Precise {
        /// The insn that the state is kept before.
        insn_idx: u32,
        /// The insn that made them matter, or the one before which the path ends.
        by: u32,
        /// The frame.
        frame: u32,
        /// One bit for each register.
        regs: u16,
        /// One bit for each eight bytes of stack.
        slots: u64,
    },
    /// The program is refused.
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
    /// Eight bytes of stack that may be read later.
    Slot {
        /// The frame.
        frame: u8,
        /// Which: 0 is the one at the top.
        spi: u8,
    },
    /// What the path holds or where it stands: frames, references, locks, sections.
    State,
    /// The state is of a path that is still walked.
    Unfinished,
}

/// Registers of a frame.
#[derive(Clone, Copy)]
pub struct Registers<'e> {
    /// The insn after which they have these values; `None` at the start of a function.
    pub by: Option<u32>,
    /// The frame.
    pub frame: u32,
    /// One bit for each.
    pub changed: u16,
    pub(super) value: &'e dyn Fn(u8) -> String,
}

impl Registers<'_> {
    /// Their numbers.
    pub fn numbers(&self) -> impl Iterator<Item = u8> + use<> {
        let changed = self.changed;
        (0..11).filter(move |regno| changed >> regno & 1 == 1)
    }

    /// The value of one, in the notation of the kernel's log.
    pub fn value(&self, regno: u8) -> String {
        (self.value)(regno)
    }
}

impl std::fmt::Debug for Registers<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
    /// This happens now.
    fn tell(&mut self, event: Event<'_>);

    /// Whether it is told of registers ([`Event::Registers`]), which takes time.
    fn wants_registers(&self) -> bool {
        true
    }
}

//! What the emitter keeps until it emits the code that follows a function, or all of them.

use crate::asm::Label;
use crate::coverage::Place;
use crate::op::Op;
use crate::sites::SwitchSite;

/// An exit from a copy.
#[derive(Debug)]
pub(super) struct LoopExit {
    pub(super) label: Label,
    /// The op that leaves.
    pub(super) at: usize,
    pub(super) repairs: Vec<Op>,
    /// The counters, and how often each counts.
    pub(super) passed: Vec<(Place, u32)>,
    pub(super) to: Label,
}

/// Labels of stubs and their continuations.
#[derive(Debug)]
pub(super) struct Stubs {
    /// The stub of the entry, and where it continues: the program after the site, or a copy of the
    /// insn that is the site.
    pub(super) entry: (Label, Label),
    /// The insn that is the site, and its end.
    pub(super) insn: Option<(SwitchSite, Label)>,
    /// The return address of a counted run.
    pub(super) ret: Label,
    /// The stub of each tail call, and the jump after the site.
    pub(super) tail_calls: Vec<(Label, Label)>,
}

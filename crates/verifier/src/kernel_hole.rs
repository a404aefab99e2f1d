//! What the kernel accepts although to run it is unsafe.
//!
//! The verdict stays the kernel's, whose answer is what is asked for. Whoever is about to run the
//! program asks [`VerifiedProgram::kernel_hole`](crate::VerifiedProgram::kernel_hole) and does not.
//! `docs/kernel-findings.md` has a program for each.

use skep_insn::InsnIdx;
use std::fmt;

/// A hole that an accepted program goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelHole {
    /// The insn that does it.
    pub insn_idx: InsnIdx,
    /// What it does.
    pub kind: HoleKind,
}

/// Which hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HoleKind {
    /// An iterator or a saved irq flag at `fp+0`: its eight bytes lie above the stack, and the walk
    /// takes them for the slot below.
    ObjectAboveStack,
}

impl fmt::Display for KernelHole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            HoleKind::ObjectAboveStack => "an iterator or irq flag at fp+0, above the stack",
        };
        write!(f, "unsafe, though the kernel accepts it: insn {}: {what}", self.insn_idx.0)
    }
}

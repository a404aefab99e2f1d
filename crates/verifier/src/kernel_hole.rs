//! Programs that the kernel accepts although it is not safe to run them.
//!
//! The verdict is still the kernel's. An engine checks
//! [`VerifiedProgram::kernel_hole`](crate::VerifiedProgram::kernel_hole) and does not run such a
//! program. `docs/kernel-findings.md` has a program for each.
//!
//! Two holes are seen as such when the walk comes by ([`HoleKind::ObjectAboveStack`], and
//! [`HoleKind::NullMemory`], also of helpers that ask for NULL themselves). For the others a walk
//! that comes by is only a [`Doubt`]: most such programs are safe. Then the program is walked again
//! under the rules that the kernel lacks (`Facts::sound`); one that they refuse goes through the
//! hole. They may be stricter than need be, never laxer. Of one that they accept, the insns of this
//! second walk are run: what the first did not come by, it dropped as dead.

use crate::config::Config;
use skep_insn::InsnIdx;
use std::fmt;

/// An unsound rule of the kernel that an accepted program relies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelHole {
    /// The insn concerned, or the first that could be.
    pub insn_idx: InsnIdx,
    /// The kind of the hole.
    pub kind: HoleKind,
}

/// Kinds of unsound rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HoleKind {
    /// An iterator or a saved irq flag at `fp+0`: its eight bytes lie above the stack, and the walk
    /// takes them for the slot below.
    ObjectAboveStack,
    /// A pointer that may be NULL, with a size that may be more than 0, where a helper takes NULL
    /// for memory of no bytes.
    NullMemory,
    /// A fill that extends the sign of a spilled number keeps the number's id.
    SignExtendedFill,
    /// Precision of what an atomic insn fetches from the stack does not come to the slot.
    AtomicFetch,
    /// Precision of the number of rounds of `bpf_loop` does not come to states of the callback.
    LoopRounds,
    /// What a state at a call that calls back turns out to need does not come to the paths that
    /// ended there before.
    CallbackStates,
    /// A number to which a stack pointer is added points into the stack of the entry function.
    ForgottenFrame,
    /// A number to which a pointer with a reference is added stays valid when that is released.
    ForgottenReference,
    /// A number to which untrusted memory is added counts as the number that it was.
    UntrustedSum,
    /// A comparison decides of a pointer, or teaches, what it does not say: the low half of one
    /// that is not NULL may be 0; what equals one that may be anything may be NULL.
    ComparedPointer,
    /// Precision of the size of a slice of a dynptr, where there is no buffer, is not marked.
    SliceSize,
    /// Clones of a dynptr in other frames stay when it is submitted.
    DynptrClones,
    /// A reference to an object that nobody holds counts as taken for certain.
    RefcountedObject,
    /// Slices of a packet, of a dynptr that a global function was given, stay when it moves.
    PacketSlice,
}

impl fmt::Display for KernelHole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            HoleKind::ObjectAboveStack => "an iterator or irq flag at fp+0, above the stack",
            HoleKind::NullMemory => "memory that may be NULL, of a size that may not be 0",
            HoleKind::SignExtendedFill => "a sign-extending fill, taken for the spilled number",
            HoleKind::AtomicFetch => "a fetched number, of which not all paths were walked",
            HoleKind::LoopRounds => "rounds of bpf_loop, of which not all were walked",
            HoleKind::CallbackStates => "a loop around a callback, of which not all was walked",
            HoleKind::UntrustedSum => "a sum with untrusted memory, taken for a number",
            HoleKind::ComparedPointer => "a pointer that may be NULL, taken for one that is not",
            HoleKind::SliceSize => "a slice whose size was not compared",
            HoleKind::DynptrClones => "a clone of a dynptr that is no more",
            HoleKind::RefcountedObject => "an object that may be gone, taken for one that is held",
            HoleKind::PacketSlice => "a slice of a packet that may have moved",
            HoleKind::ForgottenReference => "memory that is held, and used when it no longer is",
            HoleKind::ForgottenFrame => "a stack pointer, taken for one of the entry function's",
        };
        write!(f, "unsafe, though the kernel accepts it: insn {}: {what}", self.insn_idx.0)
    }
}

/// Where the walk first came by a hole, and how it was walked.
#[derive(Clone, Debug)]
pub(crate) struct Doubt {
    pub(crate) hole: KernelHole,
    pub(crate) config: Config,
}

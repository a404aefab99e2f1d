//! Programs that the kernel accepts although they are not safe to run, because of bugs in its
//! verifier.
//!
//! The verdict is still the kernel's. An engine checks
//! [`VerifiedProgram::kernel_hole`](crate::VerifiedProgram::kernel_hole) and does not run such a
//! program. `docs/kernel-findings.md` has an example of each.
//!
//! Two kinds are certain when the walk finds them ([`HoleKind::ObjectAboveStack`], and
//! [`HoleKind::NullMemory`], also for helpers that check for NULL themselves). The others are only
//! a [`Doubt`]: most programs that use the unsound rule are safe. Such a program is walked again
//! under sound rules (`Facts::sound`). If they refuse it, it relies on the unsound rule. They may
//! be stricter than necessary, but never too weak. If they accept it, the insns of this second walk
//! are run: the first walk may have removed insns as dead that a run reaches.
//!
//! The rules of other kernels (`Config::profile`) have holes of their own, which are not listed:
//! 6.1 walks a callback once, 6.12 does not know that a tail call may end a function. A program
//! that was verified under such rules is walked again under those of the reference
//! ([`HoleKind::OtherRules`]).

use crate::config::Config;
use skep_insn::InsnIdx;
use std::fmt;

/// An unsound rule of the kernel that an accepted program relies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelHole {
    /// The insn concerned, or the first one that may be.
    pub insn_idx: InsnIdx,
    /// The kind of the hole.
    pub kind: HoleKind,
}

/// Kinds of unsound rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HoleKind {
    /// An iterator or a saved irq flag at `fp+0`: its eight bytes are above the stack, but the walk
    /// uses the slot below.
    ObjectAboveStack,
    /// A pointer that may be NULL, with a size that may be more than 0, passed to a helper that
    /// accepts NULL only for size 0.
    NullMemory,
    /// A sign-extending fill of a spilled scalar keeps the scalar's id.
    SignExtendedFill,
    /// Precision of a value that an atomic insn fetches from the stack is not propagated to the
    /// slot.
    AtomicFetch,
    /// Precision of the number of iterations of `bpf_loop` is not propagated to states in the
    /// callback.
    LoopRounds,
    /// Precision marks set later in a state at a call with a callback are not propagated to the
    /// paths that were pruned there earlier.
    CallbackStates,
    /// After `scalar += stack pointer`, the result points to the stack of the entry function.
    ForgottenFrame,
    /// After `scalar += pointer` with a reference, the result stays valid when the reference is
    /// released.
    ForgottenReference,
    /// After `scalar += pointer` to untrusted memory, the scalar is considered unchanged.
    UntrustedSum,
    /// A comparison is used to decide a branch, or to refine a pointer, although it does not imply
    /// that: the low half of a non-NULL pointer may be 0; a pointer equal to one of unknown
    /// nullness may be NULL.
    ComparedPointer,
    /// The size of a dynptr slice without a buffer is not marked precise.
    SliceSize,
    /// NULL that is passed where it is allowed is not marked precise.
    NullArgument,
    /// Clones of a dynptr in other frames stay valid when it is submitted.
    DynptrClones,
    /// Taking a reference to an object that may have none left is assumed to succeed.
    RefcountedObject,
    /// A global function may use a packet slice of its dynptr argument, or packet memory that is
    /// passed to it, after it has moved the packet.
    PacketSlice,
    /// Slices of a ring buffer record stay valid when its dynptr is submitted.
    RecordSlice,
    /// The lock of one element of a map is taken, that of another released.
    OtherLock,
    /// An allocated object has elements in an array without size at its end.
    BeyondAllocated,
    /// NULL is passed to a global function that takes memory which is not NULL.
    NullForMemory,
    /// A load-acquire into its own address register reads the kernel's context.
    AcquiredContext,
    /// What a function does after a tail call is assumed to be done, even if the call leaves it.
    LeftByTailCall,
    /// An object is stored where one for each CPU is expected.
    PlainForPercpu,
    /// A reference is taken through a pointer to the middle of an object.
    InnerReference,
    /// Nodes that were found in an RCU section may be read after it, and objects that were loaded
    /// under a lock after that.
    EndedSection,
    /// What only RCU protects may be used in a global function, even if a callback that may sleep
    /// calls it.
    SleepingCaller,
    /// The program passes only under the rules of another kernel than the reference.
    OtherRules,
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
            HoleKind::NullArgument => "a number passed as a pointer, where only NULL was compared",
            HoleKind::DynptrClones => "a clone of a dynptr that is no more",
            HoleKind::RefcountedObject => "an object that may be gone, taken for one that is held",
            HoleKind::LeftByTailCall => "a function that a tail call may leave",
            HoleKind::PlainForPercpu => "an object, taken for one that each CPU has",
            HoleKind::InnerReference => "the middle of an object, taken for its start",
            HoleKind::EndedSection => "an object that may be gone after its section",
            HoleKind::SleepingCaller => "what RCU protects, where no RCU section may be",
            HoleKind::OtherRules => "the rules of Linux 6.18.44 do not allow it",
            HoleKind::PacketSlice => "a part of a packet that may have moved",
            HoleKind::RecordSlice => "a slice of a record that is no more",
            HoleKind::OtherLock => "the lock of another element, taken for one that is held",
            HoleKind::BeyondAllocated => "memory behind an allocated object",
            HoleKind::NullForMemory => "NULL, passed to a function that wants none",
            HoleKind::AcquiredContext => "a load-acquire from the context",
            HoleKind::ForgottenReference => "memory that is held, and used when it no longer is",
            HoleKind::ForgottenFrame => "a stack pointer, taken for one of the entry function's",
        };
        write!(f, "unsafe, though the kernel accepts it: insn {}: {what}", self.insn_idx.0)
    }
}

/// Where the walk first used an unsound rule, if it did, and the configuration of the walk.
#[derive(Clone, Debug)]
pub(crate) struct Doubt {
    pub(crate) hole: Option<KernelHole>,
    pub(crate) config: Config,
}

/// Why a program that was verified must not be run.
#[derive(Clone, Debug)]
pub(crate) struct Unsound {
    pub(crate) hole: KernelHole,
    /// What the second walk says.
    pub(crate) why: Option<Box<str>>,
}

impl From<KernelHole> for Unsound {
    fn from(hole: KernelHole) -> Unsound {
        Unsound { hole, why: None }
    }
}

impl fmt::Display for Unsound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Some(why) => write!(f, "{}: {why}", self.hole),
            None => write!(f, "{}", self.hole),
        }
    }
}

//! The successor of an insn on the current path.

/// What follows an insn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The insn at this index.
    Insn(u32),
    /// The insn at this index in the frame of the caller, whose state is logged whole.
    Returned(u32),
    /// Nothing: the path ends here.
    PathEnd,
}

//! The successor of an insn on the current path.

/// Where the walk continues after an insn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The insn at this index.
    Insn(u32),
    /// The insn at this index in the caller's frame, whose state is logged in full.
    Returned(u32),
    /// The path ends here.
    PathEnd,
}

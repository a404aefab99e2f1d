//! The insns that a rewrite adds to one insn.

/// The insns that a rewrite adds to an insn.
#[derive(Clone, Copy)]
pub(super) enum Growth {
    Exactly(u32),
    AtMost(u32),
}

impl Growth {
    pub(super) fn max(self) -> u32 {
        match self {
            Growth::Exactly(n) | Growth::AtMost(n) => n,
        }
    }
}

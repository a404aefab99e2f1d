//! The input of rewrites, and their results.

use super::walked::Walked;
use crate::xlated::NotSupported;
use skep_insn::Insn;
use skep_program::Program;

/// What a rewrite looks at.
pub(super) struct Source<'a> {
    /// The program; none for bare insns.
    pub(super) program: Option<&'a Program>,
    pub(super) insns: &'a [Insn],
    pub(super) walked: &'a Walked,
}

/// Whether a rewrite took the insn.
pub(super) type Rewritten = Result<bool, NotSupported>;

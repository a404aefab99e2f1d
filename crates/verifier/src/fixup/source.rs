//! The input of rewrites, and their results.

use super::walked::Walked;
use crate::xlated::NotSupported;
use skep_insn::Insn;
use skep_program::Program;

/// Input of a rewrite.
pub(super) struct Source<'a> {
    /// The program; none for bare insns.
    pub(super) program: Option<&'a Program>,
    pub(super) insns: &'a [Insn],
    pub(super) walked: &'a Walked,
}

/// Whether the rewrite applied to the insn.
pub(super) type Rewritten = Result<bool, NotSupported>;

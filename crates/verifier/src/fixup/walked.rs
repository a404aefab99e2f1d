//! What the rewrites need of the walk, kept with an accepted program.
//!
//! It is moved out of the working set, not copied: an accepted program costs nothing until it is
//! asked to run.

use crate::env::{Env, InsnAux, SubprogInfo};
use skep_insn::Insn;

/// What the walk knew of each insn and subprog of an accepted program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walked {
    /// One for each insn; empty for bare insns, which all count as walked.
    pub(super) aux: Vec<InsnAux>,
    /// In order of their first insns.
    pub(super) subprogs: Vec<SubprogInfo>,
}

impl Walked {
    /// Takes it from `env`, which is done.
    pub(crate) fn take(env: &mut Env<'_>) -> Walked {
        Walked { aux: std::mem::take(&mut env.aux), subprogs: std::mem::take(&mut env.subprogs) }
    }

    /// Whether some path came to the insn. The second slot of `ld_imm64` is its first's.
    pub(super) fn seen(&self, insns: &[Insn], idx: usize) -> bool {
        let first = if idx > 0 && insns[idx - 1].is_ld_imm64() { idx - 1 } else { idx };
        self.aux.is_empty() || self.aux.get(first).is_some_and(|aux| aux.seen)
    }
}

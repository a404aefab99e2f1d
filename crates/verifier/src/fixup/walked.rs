//! The results of the walk that the rewrites need, kept with an accepted program.
//!
//! They are moved out of the working set, not copied: accepting a program has no extra cost until
//! it is to be run.

use crate::KernelHole;
use crate::env::{InsnAux, InsnFlags, Learned, Subprog, SubprogUse};
use skep_insn::Insn;

/// Results of the walk for each insn and subprog of an accepted program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walked {
    /// One for each insn; empty for bare insns, which all count as walked.
    pub(super) aux: Vec<InsnAux>,
    /// Ordered by first insn.
    pub(super) subprogs: Vec<Subprog>,
    /// Results for each subprog.
    pub(super) uses: Vec<SubprogUse>,
    /// Number of bytes of the context that callees receive as memory.
    pub(super) ctx_mem_end: u32,
    /// A kernel bug that makes it unsafe to run.
    pub(crate) kernel_hole: Option<KernelHole>,
}

impl Walked {
    /// Takes over the results of a walk.
    pub(crate) fn new(learned: Learned, subprogs: Vec<Subprog>) -> Walked {
        let Learned { aux, subprogs: uses, ctx_mem_end, kernel_hole, .. } = learned;
        Walked { aux, subprogs, uses, ctx_mem_end, kernel_hole }
    }

    /// Whether some path reached the insn. The second slot of `ld_imm64` counts as its first.
    pub(crate) fn seen(&self, insns: &[Insn], idx: usize) -> bool {
        let first = if idx > 0 && insns[idx - 1].is_ld_imm64() { idx - 1 } else { idx };
        self.aux.is_empty() || self.aux.get(first).is_some_and(|aux| aux.has(InsnFlags::SEEN))
    }

    /// The subprog that begins at `idx`.
    pub(super) fn subprog_at(&self, idx: usize) -> Option<usize> {
        self.subprogs.binary_search_by_key(&idx, |s| s.start as usize).ok()
    }

    /// The subprog that contains `idx`.
    pub(super) fn subprog_of(&self, idx: usize) -> usize {
        self.subprogs.partition_point(|s| s.start as usize <= idx).saturating_sub(1)
    }

    /// The insns of a subprog, in a program of `len` insns.
    pub(super) fn range(&self, subprog: usize, len: usize) -> std::ops::Range<usize> {
        let start = |i: usize| self.subprogs.get(i).map_or(len, |s| s.start as usize);
        start(subprog)..start(subprog + 1)
    }

    /// Stack used by a subprog according to the walk, in bytes; a multiple of 8.
    pub(super) fn depth(&self, subprog: usize) -> u32 {
        self.uses.get(subprog).map_or(0, |s| s.stack_depth.next_multiple_of(8))
    }
}

//! The results of the walk that the rewrites need, kept with an accepted program.
//!
//! They are moved out of the working set, not copied: an accepted program costs nothing until it is
//! to be run.

use crate::KernelHole;
use crate::env::{InsnAux, InsnFlags, Learned, Subprog, SubprogUse};
use skep_insn::Insn;

/// What the walk knew of each insn and subprog of an accepted program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walked {
    /// One for each insn; empty for bare insns, which all count as walked.
    pub(super) aux: Vec<InsnAux>,
    /// In order of their first insns.
    pub(super) subprogs: Vec<Subprog>,
    /// What was found of each.
    pub(super) uses: Vec<SubprogUse>,
    /// Bytes of the context that callees are given as memory.
    pub(super) ctx_mem_end: u32,
    /// What makes it unsafe to run.
    pub(crate) kernel_hole: Option<KernelHole>,
}

impl Walked {
    /// Takes it from what a walk left.
    pub(crate) fn new(learned: Learned, subprogs: Vec<Subprog>) -> Walked {
        let Learned { aux, subprogs: uses, ctx_mem_end, kernel_hole, .. } = learned;
        Walked { aux, subprogs, uses, ctx_mem_end, kernel_hole }
    }

    /// Whether some path came to the insn. The second slot of `ld_imm64` is its first's.
    pub(crate) fn seen(&self, insns: &[Insn], idx: usize) -> bool {
        let first = if idx > 0 && insns[idx - 1].is_ld_imm64() { idx - 1 } else { idx };
        self.aux.is_empty() || self.aux.get(first).is_some_and(|aux| aux.has(InsnFlags::SEEN))
    }

    /// The subprog that begins at `idx`.
    pub(super) fn subprog_at(&self, idx: usize) -> Option<usize> {
        self.subprogs.binary_search_by_key(&idx, |s| s.start as usize).ok()
    }

    /// The subprog that holds `idx`.
    pub(super) fn subprog_of(&self, idx: usize) -> usize {
        self.subprogs.partition_point(|s| s.start as usize <= idx).saturating_sub(1)
    }

    /// Insns of a subprog of a program of `len` insns.
    pub(super) fn range(&self, subprog: usize, len: usize) -> std::ops::Range<usize> {
        let start = |i: usize| self.subprogs.get(i).map_or(len, |s| s.start as usize);
        start(subprog)..start(subprog + 1)
    }

    /// Stack that the walk saw used by a subprog, bytes; a multiple of 8.
    pub(super) fn depth(&self, subprog: usize) -> u32 {
        self.uses.get(subprog).map_or(0, |s| s.stack_depth.next_multiple_of(8))
    }
}

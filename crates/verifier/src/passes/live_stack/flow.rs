//! The control flow graph as the backward pass wants it: successors, predecessors, order, marks.
//!
//! # Invariants
//!
//! 1. Predecessors and successors of an insn are in its subprog.
//! 2. `position` numbers the insns of each subprog from 0 in postorder; second halves of
//!    `ld_imm64` have none.

use super::super::cfg::{Cfg, mark};
use super::super::postorder::{Postorder, successors};
use super::super::subprogs::Subprogs;
use super::NONE;
use skep_insn::Insn;

/// See the module's header.
#[derive(Clone, Debug, Default)]
pub(super) struct Flow {
    /// For each insn; [`NONE`] where there is none.
    successors: Vec<[u32; 2]>,
    /// Predecessors of all insns, one insn after another.
    predecessors: Vec<u32>,
    /// Where each insn's predecessors begin, then their number.
    predecessor_starts: Vec<u32>,
    position: Vec<u32>,
    order: Postorder,
    /// First insn of each subprog, then the number of insns.
    starts: Vec<u32>,
    /// Bits of [`mark`].
    marks: Vec<u8>,
}

impl Flow {
    pub(super) fn new(insns: &[Insn], subprogs: &Subprogs, cfg: &Cfg, order: &Postorder) -> Flow {
        let mut succ = vec![[NONE; 2]; insns.len()];
        let mut position = vec![NONE; insns.len()];
        let mut counts = vec![0u32; insns.len() + 1];
        for subprog in 0..subprogs.count() {
            for (pos, &idx) in order.of(subprog).iter().enumerate() {
                position[idx as usize] = pos as u32;
                for (slot, &next) in successors(insns, idx as usize).as_slice().iter().enumerate() {
                    succ[idx as usize][slot] = next;
                    counts[next as usize] += 1;
                }
            }
        }
        // Counts become ends, and ends become starts while the lists are filled backwards.
        let mut total = 0;
        for count in &mut counts {
            total += *count;
            *count = total;
        }
        let mut predecessors = vec![0; total as usize];
        for (idx, nexts) in succ.iter().enumerate() {
            for &next in nexts.iter().filter(|&&next| next != NONE) {
                counts[next as usize] -= 1;
                predecessors[counts[next as usize] as usize] = idx as u32;
            }
        }
        let mut starts = subprogs.starts().to_vec();
        starts.push(insns.len() as u32);
        Flow {
            successors: succ,
            predecessors,
            predecessor_starts: counts,
            position,
            order: order.clone(),
            starts,
            marks: cfg.marks.clone(),
        }
    }

    /// The subprog that contains `insn`.
    pub(super) fn subprog_of(&self, insn: u32) -> usize {
        self.starts.partition_point(|&start| start <= insn).saturating_sub(1)
    }
    /// Slots of a subprog.
    pub(super) fn insn_cnt(&self, subprog: usize) -> usize {
        (self.starts[subprog + 1] - self.starts[subprog]) as usize
    }
    /// Place of an insn in its subprog's postorder.
    pub(super) fn position(&self, insn: u32) -> usize {
        self.position[insn as usize] as usize
    }
    /// The insns of a subprog in postorder.
    pub(super) fn order(&self, subprog: usize) -> &[u32] {
        self.order.of(subprog)
    }
    pub(super) fn successors(&self, insn: u32) -> impl Iterator<Item = u32> + '_ {
        self.successors[insn as usize].iter().copied().filter(|&next| next != NONE)
    }
    pub(super) fn predecessors(&self, insn: u32) -> &[u32] {
        let insn = insn as usize;
        let range =
            self.predecessor_starts[insn] as usize..self.predecessor_starts[insn + 1] as usize;
        &self.predecessors[range]
    }
    pub(super) fn is_prune_point(&self, insn: u32) -> bool {
        self.marks[insn as usize] & mark::PRUNE_POINT != 0
    }
    pub(super) fn calls_callback(&self, insn: u32) -> bool {
        self.marks[insn as usize] & mark::CALLS_CALLBACK != 0
    }
}

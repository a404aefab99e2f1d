//! The control flow graph for the backward pass: successors, predecessors, order, marks.
//!
//! # Invariants
//!
//! 1. Predecessors and successors of an insn are in its subprog.
//! 2. `position` numbers the insns of each subprog from 0 in postorder; second halves of
//!    `ld_imm64` have none.

use super::super::call_facts::is_tail_call;
use super::super::cfg::{Cfg, mark};
use super::super::postorder::{Postorder, is_plain, successors};
use super::super::subprogs::Subprogs;
use crate::memory::capacity_bytes;
use skep_insn::Insn;

/// Bits of `Flow::marks` in addition to those of [`mark`]: execution may continue with the next
/// insn.
const FALLS: u8 = 1 << 4;
/// The insn has two halves.
const WIDE: u8 = 1 << 5;
/// Some insn jumps here.
const TARGET: u8 = 1 << 6;
/// The insn may end its function.
const LEAVES: u8 = 1 << 7;

/// See the module's header.
#[derive(Clone, Debug, Default)]
pub(super) struct Flow {
    /// Jump target of each insn, or [`NONE`].
    jumps: Vec<u32>,
    /// All jumps, for finding predecessors: target and insn, sorted.
    jumps_to: Vec<(u32, u32)>,
    position: Vec<u32>,
    order: Postorder,
    /// First insn of each subprog, then the number of insns.
    starts: Vec<u32>,
    /// Bits of [`mark`] and those above.
    marks: Vec<u8>,
}

impl Flow {
    pub(super) fn new(
        insns: &[Insn],
        subprogs: &Subprogs,
        cfg: &Cfg,
        order: Postorder,
        leave: bool,
    ) -> Flow {
        let mut starts = subprogs.starts().to_vec();
        starts.push(insns.len() as u32);
        if !insns.iter().any(|insn| insn.dst == 10 || insn.src == 10) {
            // Without a frame pointer there are no stack accesses.
            return Flow { starts, marks: cfg.marks.clone(), ..Flow::default() };
        }
        let mut flow = Flow {
            jumps: vec![NONE; insns.len()],
            jumps_to: Vec::new(),
            position: vec![NONE; insns.len()],
            order,
            starts,
            marks: cfg.marks.clone(),
        };
        flow.add_edges(insns);
        if leave {
            let tail_calls = (0..insns.len()).filter(|&at| is_tail_call(&insns[at]));
            tail_calls.for_each(|at| flow.marks[at] |= LEAVES);
        }
        flow
    }

    fn add_edges(&mut self, insns: &[Insn]) {
        for bounds in self.order.starts.windows(2) {
            let order = &self.order.insns[bounds[0] as usize..bounds[1] as usize];
            for (pos, &idx) in order.iter().enumerate() {
                let i = idx as usize;
                self.position[i] = pos as u32;
                if is_plain(&insns[i]) {
                    self.marks[i] |= FALLS;
                    continue;
                }
                let wide = insns[i].is_ld_imm64();
                let after = idx + if wide { 2 } else { 1 };
                self.marks[i] |= if wide { WIDE } else { 0 };
                for &next in successors(insns, i).as_slice() {
                    if next == after && self.marks[i] & FALLS == 0 {
                        self.marks[i] |= FALLS;
                    } else {
                        self.jumps[i] = next;
                        self.jumps_to.push((next, idx));
                        self.marks[next as usize] |= TARGET;
                    }
                }
            }
        }
        self.jumps_to.sort_unstable();
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        let order = capacity_bytes(&self.order.insns) + capacity_bytes(&self.order.starts);
        let edges = capacity_bytes(&self.jumps) + capacity_bytes(&self.jumps_to);
        let insns = capacity_bytes(&self.position) + capacity_bytes(&self.marks);
        order + edges + insns + capacity_bytes(&self.starts)
    }

    /// The subprog that contains `insn`.
    pub(super) fn subprog_of(&self, insn: u32) -> usize {
        self.starts.partition_point(|&start| start <= insn).saturating_sub(1)
    }
    /// Slots of a subprog.
    pub(super) fn insn_cnt(&self, subprog: usize) -> usize {
        (self.starts[subprog + 1] - self.starts[subprog]) as usize
    }
    /// Position of an insn in its subprog's postorder.
    pub(super) fn position(&self, insn: u32) -> usize {
        self.position[insn as usize] as usize
    }
    /// The insns of a subprog in postorder.
    pub(super) fn order(&self, subprog: usize) -> &[u32] {
        self.order.of(subprog)
    }
    pub(super) fn may_leave(&self, insn: u32) -> bool {
        self.marks[insn as usize] & LEAVES != 0
    }
    #[inline]
    pub(super) fn successors(&self, insn: u32) -> impl Iterator<Item = u32> + '_ {
        let marks = self.marks[insn as usize];
        let falls = (marks & FALLS != 0).then_some(insn + if marks & WIDE != 0 { 2 } else { 1 });
        let jump = self.jumps[insn as usize];
        falls.into_iter().chain((jump != NONE).then_some(jump))
    }
    /// Calls a function for each predecessor.
    #[inline]
    pub(super) fn for_predecessors(&self, insn: u32, mut offer: impl FnMut(u32)) {
        let falls = |back: u32, kind: u8| {
            let before = insn.checked_sub(back)?;
            (self.marks[before as usize] & (FALLS | WIDE) == kind).then_some(before)
        };
        if let Some(before) = falls(1, FALLS).or_else(|| falls(2, FALLS | WIDE)) {
            offer(before);
        }
        if self.marks[insn as usize] & TARGET != 0 {
            let from = self.jumps_to.partition_point(|&(to, _)| to < insn);
            let jumps = self.jumps_to[from..].iter().take_while(|&&(to, _)| to == insn);
            jumps.for_each(|&(_, before)| offer(before));
        }
    }
    pub(super) fn is_prune_point(&self, insn: u32) -> bool {
        self.marks[insn as usize] & mark::PRUNE_POINT != 0
    }
    pub(super) fn calls_callback(&self, insn: u32) -> bool {
        self.marks[insn as usize] & mark::CALLS_CALLBACK != 0
    }
}

/// No masks for this frame, or no parent.
pub(crate) const NONE: u32 = u32::MAX;

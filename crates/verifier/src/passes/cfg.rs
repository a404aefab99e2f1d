//! Traverses the control flow graph once: refuses unreachable insns and jumps into `ld_imm64`, and
//! marks where the main walk compares states and where it records its history.
//!
//! The search is depth first, fall-through before branch, callees after the insn that follows the
//! call. Edges are followed in the kernel's order because the first error found is the one
//! reported.
//!
//! # Invariants
//!
//! 1. On success, every insn except the second halves of `ld_imm64` has been reached.
//! 2. A force checkpoint is always a prune point, too.
//!
//! Kernel: `check_cfg`, `visit_insn`, `visit_func_call_insn`, `push_insn`, 6.18.

use super::PassReject;
use super::call_facts::{CallFacts, Callees, callee_start};
use super::call_facts::{is_may_goto, is_pseudo_func};
use super::postorder::is_plain;
use super::subprogs::{Subprogs, jump_offset};
use crate::insn_aux::InsnFlags;
use crate::rejection::{FlowFault, InsnFault};
use skep_insn::Insn;
use skep_insn::code::*;
use skep_uapi::errno;

/// Marks of an insn, one bit each in [`Cfg::marks`]; [`InsnFlags`] documents them.
pub(crate) mod mark {
    use super::InsnFlags;

    pub(crate) const PRUNE_POINT: u8 = InsnFlags::PRUNE_POINT.bits();
    pub(crate) const JMP_POINT: u8 = InsnFlags::JMP_POINT.bits();
    pub(crate) const FORCE_CHECKPOINT: u8 = InsnFlags::FORCE_CHECKPOINT.bits();
    pub(crate) const CALLS_CALLBACK: u8 = InsnFlags::CALLS_CALLBACK.bits();
}

/// The marks of all insns, and the effects of calls in each subprog and its callees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cfg {
    /// Bits of [`mark`] for each insn.
    pub(crate) marks: Vec<u8>,
    /// For each subprog: whether a call in it or its callees may change packet data.
    pub(crate) changes_pkt_data: Vec<bool>,
    /// For each subprog: whether a call in it or its callees may sleep.
    pub(crate) might_sleep: Vec<bool>,
    /// For each subprog: whether it or its callees contain a call of `bpf_throw`.
    pub(crate) might_throw: Vec<bool>,
}

/// Which edges may go backwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loops {
    Refused,
    /// Only edges of jumps, and to a function whose address is taken; not those to the next insn or
    /// to a function that is called.
    ByJumps,
    Allowed,
}

/// Which edges there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edges {
    pub(crate) loops: Loops,
    /// To the second half of an `ld_imm64`, which is an insn like any other here; the walk refuses
    /// it where a path comes by.
    pub(crate) into_constants: bool,
}

impl Edges {
    /// Those that 6.18 allows to privileged programs.
    #[cfg(test)]
    pub(crate) const REFERENCE: Edges = Edges { loops: Loops::Allowed, into_constants: false };
}

/// Checks and marks the control flow graph.
///
/// `edges.loops`: without `CAP_BPF` any back-edge is refused.
/// Precondition: `insns` is not empty and `subprogs` was found from it.
pub(crate) fn check_cfg<C: Callees>(
    insns: &[Insn],
    subprogs: &Subprogs,
    callees: &C,
    edges: Edges,
) -> Result<Cfg, PassReject> {
    let mut search = Search::new(insns, subprogs, callees, edges);
    search.run_from(0)?;
    if let Some(subprog) = subprogs.exception_cb {
        search.run_from(subprogs.start(subprog))?;
    }
    search.check_reached()?;
    Ok(search.cfg)
}

/// How much of an insn has been searched.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    Unseen,
    /// On the path; no edge has been followed yet.
    Entered,
    /// On the path; the fall-through edge (of a jump: its only edge) has been followed.
    FellThrough,
    /// On the path; both edges have been followed.
    Branched,
    Done,
}

/// The two kinds of edges, in the order in which they are followed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    Fallthrough,
    Branch,
}

/// The result of following an edge.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pushed {
    /// The target is new and now on top of the path.
    Descended,
    /// Nothing (more) needs to be done for the edge.
    Finished,
}

struct Search<'a, C> {
    insns: &'a [Insn],
    subprogs: &'a Subprogs,
    callees: &'a C,
    edges: Edges,
    progress: Vec<Progress>,
    /// The path, as runs of insns (first and last).
    path: Vec<(u32, u32)>,
    cfg: Cfg,
}

impl<'a, C: Callees> Search<'a, C> {
    fn new(
        insns: &'a [Insn],
        subprogs: &'a Subprogs,
        callees: &'a C,
        edges: Edges,
    ) -> Search<'a, C> {
        let cfg = Cfg {
            marks: vec![0; insns.len()],
            changes_pkt_data: vec![false; subprogs.count()],
            might_sleep: vec![false; subprogs.count()],
            might_throw: vec![false; subprogs.count()],
        };
        Search {
            insns,
            subprogs,
            callees,
            edges,
            progress: vec![Progress::Unseen; insns.len()],
            path: Vec::new(),
            cfg,
        }
    }

    fn run_from(&mut self, start: u32) -> Result<(), PassReject> {
        self.enter(start as usize);
        while let Some(&(first, last)) = self.path.last() {
            if self.visit(last as usize)? == Pushed::Finished {
                self.progress[first as usize..=last as usize].fill(Progress::Done);
                self.path.pop();
            }
        }
        Ok(())
    }

    /// Pushes an insn, together with the following ones as long as each only leads to the next one
    /// and that is new.
    fn enter(&mut self, first: usize) {
        let mut last = first;
        self.progress[last] = Progress::Entered;
        while is_plain(&self.insns[last]) && self.progress.get(last + 1) == Some(&Progress::Unseen)
        {
            self.progress[last] = Progress::FellThrough;
            last += 1;
            self.progress[last] = Progress::Entered;
        }
        self.path.push((first as u32, last as u32));
    }

    fn mark(&mut self, idx: i64, bits: u8) {
        if let Some(marks) = usize::try_from(idx).ok().and_then(|i| self.cfg.marks.get_mut(i)) {
            *marks |= bits;
        }
    }

    /// Follows the next edge of the insn on top of the path. May set marks more than once.
    fn visit(&mut self, idx: usize) -> Result<Pushed, PassReject> {
        let insn = &self.insns[idx];
        let at = idx as i64;
        if is_pseudo_func(insn) {
            return self.visit_call(idx, true);
        }
        if !matches!(insn.class(), BPF_JMP | BPF_JMP32) {
            let is_whole = insn.is_ld_imm64() && !self.edges.into_constants;
            let slots = if is_whole { 2 } else { 1 };
            return self.push(idx, at + slots, Edge::Fallthrough);
        }
        match insn.op() {
            BPF_EXIT => Ok(Pushed::Finished),
            BPF_CALL => {
                self.note_callee(idx);
                self.visit_call(idx, insn.src == BPF_PSEUDO_CALL)
            }
            BPF_JA => self.visit_ja(idx),
            _ => {
                self.mark(at, mark::PRUNE_POINT);
                if is_may_goto(insn) {
                    self.mark(at, mark::FORCE_CHECKPOINT);
                }
                if self.push(idx, at + 1, Edge::Fallthrough)? == Pushed::Descended {
                    return Ok(Pushed::Descended);
                }
                self.push(idx, at + 1 + i64::from(insn.off), Edge::Branch)
            }
        }
    }

    fn visit_ja(&mut self, idx: usize) -> Result<Pushed, PassReject> {
        let insn = &self.insns[idx];
        if insn.is_src_reg() {
            // An opcode that does not exist, which has been refused before the graph is searched.
            return Err(PassReject::at(idx, errno::EINVAL, InsnFault::IndirectJump));
        }
        let target = idx as i64 + 1 + jump_offset(insn);
        let pushed = self.push(idx, target, Edge::Fallthrough)?;
        self.mark(target, mark::PRUNE_POINT | mark::JMP_POINT);
        Ok(pushed)
    }

    /// A call, or loading the address of a subprog: first the next insn, then the callee.
    fn visit_call(&mut self, idx: usize, enter_callee: bool) -> Result<Pushed, PassReject> {
        let insn = &self.insns[idx];
        let next = idx as i64 + if insn.is_ld_imm64() { 2 } else { 1 };
        if self.push(idx, next, Edge::Fallthrough)? == Pushed::Descended {
            return Ok(Pushed::Descended);
        }
        self.mark(next, mark::PRUNE_POINT | mark::JMP_POINT);
        if !enter_callee {
            return Ok(Pushed::Finished);
        }
        self.mark(idx as i64, mark::PRUNE_POINT);
        let callee = callee_start(idx, insn);
        self.merge_callee_effects(idx, callee);
        self.push(idx, callee, Edge::Branch)
    }

    /// Merges the callee's effects into the caller. The callee has been searched completely when
    /// its caller is left, except in a recursion, which the walk refuses.
    fn merge_callee_effects(&mut self, idx: usize, callee: i64) {
        let caller = self.subprogs.containing(idx);
        if let Some(callee) = self.subprogs.starting_at(callee) {
            self.cfg.changes_pkt_data[caller] |= self.cfg.changes_pkt_data[callee];
            self.cfg.might_sleep[caller] |= self.cfg.might_sleep[callee];
            self.cfg.might_throw[caller] |= self.cfg.might_throw[callee];
        }
    }

    /// Marks the call of a helper or kfunc, and records its effects on the subprog.
    fn note_callee(&mut self, idx: usize) {
        let facts: CallFacts = self.callees.of(&self.insns[idx]);
        let at = idx as i64;
        if facts.async_callback {
            self.mark(at, mark::PRUNE_POINT);
        }
        if facts.sync_callback {
            // The callback is walked until a state repeats, so the state before the call must be
            // saved.
            let bits = mark::CALLS_CALLBACK | mark::FORCE_CHECKPOINT;
            self.mark(at, bits | mark::PRUNE_POINT | mark::JMP_POINT);
        }
        if facts.iter_next {
            self.mark(at, mark::PRUNE_POINT | mark::FORCE_CHECKPOINT);
        }
        let subprog = self.subprogs.containing(idx);
        self.cfg.changes_pkt_data[subprog] |= facts.changes_pkt_data;
        self.cfg.might_sleep[subprog] |= facts.might_sleep;
        self.cfg.might_throw[subprog] |= facts.throws;
    }

    fn push(&mut self, from: usize, to: i64, edge: Edge) -> Result<Pushed, PassReject> {
        let done = match edge {
            Edge::Fallthrough => Progress::FellThrough,
            Edge::Branch => Progress::Branched,
        };
        if self.progress[from] >= done {
            return Ok(Pushed::Finished);
        }
        let Some(target) = usize::try_from(to).ok().filter(|&t| t < self.insns.len()) else {
            let kind = FlowFault::JumpOutOfRange { from, to };
            let reject = PassReject::at(from, errno::EINVAL, kind);
            return Err(reject.with_source(&[from as u32]));
        };
        if edge == Edge::Branch {
            self.mark(to, mark::PRUNE_POINT | mark::JMP_POINT);
        }
        match self.progress[target] {
            Progress::Unseen => {
                self.progress[from] = done;
                self.enter(target);
                Ok(Pushed::Descended)
            }
            Progress::Done => {
                self.progress[from] = done;
                Ok(Pushed::Finished)
            }
            _ if self.may_close_loop(from, edge) => Ok(Pushed::Finished),
            _ => {
                let kind = FlowFault::BackEdge { from, target };
                let reject = PassReject::at(from, errno::EINVAL, kind);
                Err(reject.with_source(&[from as u32, target as u32]))
            }
        }
    }

    fn may_close_loop(&self, from: usize, edge: Edge) -> bool {
        let insn = &self.insns[from];
        let is_jump = matches!(insn.class(), BPF_JMP | BPF_JMP32) && insn.op() != BPF_CALL;
        match self.edges.loops {
            Loops::Refused => false,
            Loops::ByJumps => is_jump || (is_pseudo_func(insn) && edge == Edge::Branch),
            Loops::Allowed => true,
        }
    }

    fn check_reached(&self) -> Result<(), PassReject> {
        let mut idx = 0;
        while let Some(insn) = self.insns.get(idx) {
            if self.progress[idx] != Progress::Done {
                let kind = FlowFault::Unreachable { idx };
                return Err(PassReject::at(idx, errno::EINVAL, kind));
            }
            if insn.is_ld_imm64() {
                let reached = self.progress.get(idx + 1).is_some_and(|&p| p != Progress::Unseen);
                if reached && !self.edges.into_constants {
                    let kind = FlowFault::IntoLdImm64 { idx };
                    return Err(PassReject::at(idx, errno::EINVAL, kind));
                }
                idx += 1;
            }
            idx += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::program_fixture::*;
    use super::*;
    use skep_uapi::helper::HelperId;

    fn check(insns: &[Insn], loops_allowed: bool) -> Result<Cfg, PassReject> {
        let loops = if loops_allowed { Loops::Allowed } else { Loops::Refused };
        let edges = Edges { loops, ..Edges::REFERENCE };
        check_cfg(insns, &subprogs_of(insns), &SocketFilter, edges)
    }

    #[test]
    fn refusals() {
        let [ld_lo, ld_hi] = Insn::ld_imm64(2, 0, 5);
        let table: [(&[Insn], &str); 4] = [
            (&[mov(0, 0), exit(), mov(0, 1), exit()], "unreachable insn 2"),
            (&[mov(0, 0), goto(-1), exit()], "unreachable insn 2"),
            (
                &[mov(0, 0), jeq(1, 0, 1), ld_lo, ld_hi, exit()],
                "jump into the middle of ldimm64 insn 2",
            ),
            (&[mov(0, 0), goto(-1)], "accepted"),
        ];
        for (insns, expected) in table {
            assert_eq!(message(check(insns, true)), expected, "{insns:?}");
        }
    }

    #[test]
    fn some_kernels_leave_jumps_into_constants_to_the_walk() {
        let [ld_lo, ld_hi] = Insn::ld_imm64(2, 0, 5);
        let insns = [mov(0, 0), jeq(1, 0, 1), ld_lo, ld_hi, exit()];
        let edges = Edges { into_constants: true, ..Edges::REFERENCE };
        assert!(check_cfg(&insns, &subprogs_of(&insns), &SocketFilter, edges).is_ok());
    }

    #[test]
    fn a_jump_back_to_a_constant_on_the_path_closes_its_loop() {
        let [ld_lo, ld_hi] = Insn::ld_imm64(2, 0, 5);
        let insns = [mov(0, 0), ld_lo, ld_hi, jeq(1, 0, -2), exit()];
        let edges = Edges { loops: Loops::ByJumps, into_constants: true };
        assert!(check_cfg(&insns, &subprogs_of(&insns), &SocketFilter, edges).is_ok());
    }

    #[test]
    fn calls_close_no_loop_where_only_jumps_may() {
        let insns = [call(-1), mov(0, 0), exit()];
        let edges = Edges { loops: Loops::ByJumps, into_constants: true };
        let found = check_cfg(&insns, &subprogs_of(&insns), &SocketFilter, edges);
        assert_eq!(message(found), "back-edge from insn 0 to 0");
        assert_eq!(message(check(&insns, true)), "accepted");
    }

    #[test]
    fn back_edges_need_privilege() {
        let reject = check(&[mov(0, 0), jeq(0, 0, -2), exit()], false).unwrap_err();
        assert_eq!(reject.kind.to_string(), "back-edge from insn 1 to 0");
        assert_eq!(reject.source_lines.iter().map(|i| i.0).collect::<Vec<_>>(), [1, 0]);
    }

    #[test]
    fn callees_pass_their_effects_up() {
        let insns =
            [call(2), call(3), exit(), call(1), exit(), helper(HelperId::TailCall as i32), exit()];
        let cfg = check(&insns, true).unwrap();
        assert_eq!(cfg.changes_pkt_data, [true, true, true]);
        let insns = [helper(HelperId::TailCall as i32), call(1), exit(), mov(0, 0), exit()];
        assert_eq!(check(&insns, true).unwrap().changes_pkt_data, [true, false]);
    }

    #[test]
    fn marks() {
        const P: u8 = mark::PRUNE_POINT;
        const J: u8 = mark::JMP_POINT;
        const F: u8 = mark::FORCE_CHECKPOINT;
        let insns = [jeq(1, 0, 1), goto(0), may_goto(1), helper(181), exit()];
        let callback = P | J | F | mark::CALLS_CALLBACK;
        let expected = [P, 0, P | J | F, callback, P | J];
        assert_eq!(check(&insns, true).unwrap().marks, expected);
    }
}

//! Strongly connected components of the control flow graph: which insns form a loop.
//!
//! A single insn is a component only if it jumps to itself; all other insns outside of loops have
//! 0. A call that runs a callback any number of times is a loop that the graph does not show; some
//! kernels treat it as a component (`Behaviours::callbacks_are_loops`).
//! Log level 2 prints the numbers, so components are numbered in the kernel's order.
//!
//! Kernel: `compute_scc`, 6.18 (Tarjan's algorithm over the successors of each insn).

use super::postorder::{is_plain, successors};
use skep_insn::Insn;

/// Component of each insn, from 1; 0 for an insn outside of loops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scc {
    /// One entry for each insn.
    pub(crate) of_insn: Vec<u32>,
    /// Number of components.
    pub(crate) count: u32,
}

/// `low` of an insn whose component is complete.
const DONE: u32 = u32::MAX;

struct Search<'a> {
    insns: &'a [Insn],
    /// Whether an insn is a loop by itself.
    loops: &'a dyn Fn(usize) -> bool,
    /// Order of discovery from 1; 0 if not visited.
    pre: Vec<u32>,
    /// `pre` of the earliest insn on `open` that is reachable.
    low: Vec<u32>,
    /// Visited insns whose component is not complete.
    open: Vec<u32>,
    next_pre: u32,
}

/// Finds the components; `loops` says which insns are loops by themselves.
pub(crate) fn compute_scc(insns: &[Insn], loops: &dyn Fn(usize) -> bool) -> Scc {
    let mut scc = Scc { of_insn: vec![0; insns.len()], count: 0 };
    // Every loop contains an edge that goes backwards or to the insn itself.
    let goes_back = |i: usize| {
        !is_plain(&insns[i]) && successors(insns, i).as_slice().iter().any(|&to| to as usize <= i)
    };
    if !(0..insns.len()).any(|at| goes_back(at) || loops(at)) {
        return scc;
    }
    let mut search = Search {
        insns,
        loops,
        pre: vec![0; insns.len()],
        low: vec![0; insns.len()],
        open: Vec::new(),
        next_pre: 1,
    };
    let mut path = Vec::new();
    for (root, insn) in insns.iter().enumerate() {
        // Skips the second half of `ld_imm64`, which has code 0; no other insn has it here.
        if search.pre[root] != 0 || insn.code == 0 {
            continue;
        }
        path.push(root as u32);
        while let Some(&top) = path.last() {
            if let Some(next) = search.visit(top) {
                path.push(next);
                continue;
            }
            path.pop();
            if search.low[top as usize] == search.pre[top as usize] {
                search.close(top, &mut scc);
            }
        }
    }
    scc
}

impl Search<'_> {
    /// Numbers `insn` if it is new, then merges its successors; returns the first one not visited
    /// yet.
    fn visit(&mut self, insn: u32) -> Option<u32> {
        let at = insn as usize;
        if self.pre[at] == 0 {
            self.pre[at] = self.next_pre;
            self.low[at] = self.next_pre;
            self.next_pre += 1;
            self.open.push(insn);
        }
        for &next in successors(self.insns, at).as_slice() {
            if self.pre[next as usize] == 0 {
                return Some(next);
            }
            self.low[at] = self.low[at].min(self.low[next as usize]);
        }
        None
    }

    /// Removes the component of `first`, its earliest insn, from the open insns.
    fn close(&mut self, first: u32, scc: &mut Scc) {
        let alone = self.open.last() == Some(&first);
        let to_self = || successors(self.insns, first as usize).as_slice().contains(&first);
        let is_loop = !alone || to_self() || (self.loops)(first as usize);
        scc.count += u32::from(is_loop);
        while let Some(insn) = self.open.pop() {
            self.low[insn as usize] = DONE;
            if is_loop {
                scc.of_insn[insn as usize] = scc.count;
            }
            if insn == first {
                break;
            }
        }
    }
}

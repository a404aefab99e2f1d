//! Strongly connected components of the control flow graph: which insns are in a loop together.
//!
//! An insn alone is a component only if it jumps to itself; all other insns have 0. A call that
//! runs a callback any number of times is a loop that the graph does not show: a component to those
//! kernels that close it (`Behaviours::callbacks_are_loops`).
//! Log level 2 prints the numbers, so components are numbered as the kernel finds them.
//!
//! Kernel: `compute_scc`, 6.18 (Tarjan's algorithm over the successors of each insn).

use super::postorder::{is_plain, successors};
use skep_insn::Insn;

/// Component of each insn, 1 and up; 0 for an insn in no loop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scc {
    /// One entry for each insn.
    pub(crate) of_insn: Vec<u32>,
    /// Number of components.
    pub(crate) count: u32,
}

/// Lowest number of an insn whose component is complete.
const DONE: u32 = u32::MAX;

struct Search<'a> {
    insns: &'a [Insn],
    /// Insns that are loops by themselves.
    loops: &'a dyn Fn(usize) -> bool,
    /// Order of discovery from 1; 0 is not seen yet.
    pre: Vec<u32>,
    /// Earliest insn on `open` that is reachable, as its `pre`.
    low: Vec<u32>,
    /// Insns found whose component is not complete.
    open: Vec<u32>,
    next_pre: u32,
}

/// Finds the components; `loops` says which insns are loops by themselves.
pub(crate) fn compute_scc(insns: &[Insn], loops: &dyn Fn(usize) -> bool) -> Scc {
    let mut scc = Scc { of_insn: vec![0; insns.len()], count: 0 };
    // A loop takes an edge that does not go forwards.
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
        // The second half of `ld_imm64` is no insn; its code 0 stands for nothing else here.
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
    /// Numbers `insn` when it is new, then folds in its successors; stops at one not seen yet.
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

    /// Takes the component of `first`, its earliest insn, off the open insns.
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

//! Recursion in the call graph. Kernels since 7.1 refuse it before the walk, but not in insns that
//! are unreachable by then; 6.18 finds it during the walk.

use super::call_facts::{callee_start, is_pseudo_call, is_pseudo_func};
use super::postorder::Postorder;
use super::subprogs::Subprogs;
use skep_insn::Insn;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    No,
    Open,
    Done,
}

/// The first call that closes a cycle in the graph of functions that call each other or take each
/// other's address: the caller and the callee.
pub(crate) fn find_recursion(
    insns: &[Insn],
    subprogs: &Subprogs,
    order: &Postorder,
) -> Option<(usize, usize)> {
    let mut reached = vec![false; insns.len()];
    order.insns.iter().for_each(|&idx| reached[idx as usize] = true);
    let graph = Graph { insns, subprogs, reached };
    let mut seen = vec![Seen::No; subprogs.count()];
    for first in 0..subprogs.count() {
        if seen[first] != Seen::No {
            continue;
        }
        // The functions whose calls are being followed, with the position in each.
        let mut open = vec![(first, subprogs.start(first))];
        seen[first] = Seen::Open;
        while let Some((subprog, at)) = open.pop() {
            let Some((next, callee, calls)) = graph.next(subprog, at) else {
                seen[subprog] = Seen::Done;
                continue;
            };
            open.push((subprog, next));
            match seen[callee] {
                Seen::Open if calls => return Some((subprog, callee)),
                Seen::No => {
                    seen[callee] = Seen::Open;
                    open.push((callee, subprogs.start(callee)));
                }
                Seen::Open | Seen::Done => {}
            }
        }
    }
    None
}

/// The functions that call each other or take each other's address.
struct Graph<'a> {
    insns: &'a [Insn],
    subprogs: &'a Subprogs,
    reached: Vec<bool>,
}

impl Graph<'_> {
    /// The next call or address in a function from `at` on: the position after it, the function
    /// meant, and whether it is called.
    fn next(&self, subprog: usize, at: u32) -> Option<(u32, usize, bool)> {
        (at..self.subprogs.end(subprog)).find_map(|idx| {
            let insn = self.insns.get(idx as usize).filter(|_| self.reached[idx as usize])?;
            let calls = is_pseudo_call(insn);
            if !calls && !is_pseudo_func(insn) {
                return None;
            }
            let callee = self.subprogs.starting_at(callee_start(idx as usize, insn))?;
            Some((idx + 1, callee, calls))
        })
    }
}

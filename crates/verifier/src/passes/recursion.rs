//! Recursion in the call graph. Kernels since 7.1 refuse it before the walk; 6.18 finds it during
//! the walk.

use super::call_facts::{callee_start, is_pseudo_call};
use super::subprogs::Subprogs;
use skep_insn::Insn;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    No,
    Open,
    Done,
}

/// The first call that closes a cycle in the call graph: the caller and the callee.
pub(crate) fn find_recursion(insns: &[Insn], subprogs: &Subprogs) -> Option<(usize, usize)> {
    let mut seen = vec![Seen::No; subprogs.count()];
    for first in 0..subprogs.count() {
        if seen[first] != Seen::No {
            continue;
        }
        // The functions whose calls are being followed, with the position in each.
        let mut open = vec![(first, subprogs.start(first))];
        seen[first] = Seen::Open;
        while let Some((subprog, at)) = open.pop() {
            let Some((next, callee)) = next_call(insns, subprogs, (subprog, at)) else {
                seen[subprog] = Seen::Done;
                continue;
            };
            open.push((subprog, next));
            match seen[callee] {
                Seen::Open => return Some((subprog, callee)),
                Seen::No => {
                    seen[callee] = Seen::Open;
                    open.push((callee, subprogs.start(callee)));
                }
                Seen::Done => {}
            }
        }
    }
    None
}

/// The next call in a function from `at` on: the position after it, and the callee.
fn next_call(
    insns: &[Insn],
    subprogs: &Subprogs,
    (subprog, at): (usize, u32),
) -> Option<(u32, usize)> {
    (at..subprogs.end(subprog)).find_map(|idx| {
        let insn = insns.get(idx as usize).filter(|insn| is_pseudo_call(insn))?;
        let callee = subprogs.starting_at(callee_start(idx as usize, insn))?;
        Some((idx + 1, callee))
    })
}

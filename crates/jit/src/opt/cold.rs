//! Code that a loop executes when it is left is emitted after the function: `if i != n goto more`
//! over it becomes `if i == n goto` there, which saves one taken jump per iteration.
//!
//! The ops are not moved; the emitter places their code elsewhere.

use crate::flow::Flow;
use crate::op::Op;
use std::collections::BTreeMap;

/// Maximum number of ops that may be moved.
const OPS_MAX: usize = 256;

/// The ops to be emitted after their function: from the op after a jump over them to its target.
pub(crate) fn plan(ops: &[Op], flow: &Flow) -> Vec<(u32, u32)> {
    let loops = innermost(ops);
    let mut moved: Vec<(u32, u32)> = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        let Op::Br { to, .. } = *op else { continue };
        let (from, to) = (at + 1, to as usize);
        let free = moved.last().is_none_or(|(_, end)| *end as usize <= at);
        if free && from < to && to - from <= OPS_MAX && leaves(ops, flow, (from, to), &loops) {
            moved.push((from as u32, to as u32));
        }
    }
    moved
}

/// By op: the innermost loop around it, as implied by backward jumps.
fn innermost(ops: &[Op]) -> Vec<Option<(u32, u32)>> {
    let mut ends = BTreeMap::new();
    for (at, op) in (0u32..).zip(ops) {
        if let Some(to) = op.target().filter(|to| *to <= at) {
            ends.insert(to, at);
        }
    }
    let mut loops = vec![None; ops.len()];
    // In the order of their starts: of two, one in the other, the inner comes later.
    for (start, end) in ends {
        for (at, inner) in (start..=end).zip(&mut loops[start as usize..=end as usize]) {
            let smaller = inner.is_none_or(|(from, to): (u32, u32)| end - start <= to - from);
            if smaller && at <= end {
                *inner = Some((start, end));
            }
        }
    }
    loops
}

/// Whether ops do nothing but leave the loop in which the jump over them stays.
fn leaves(
    ops: &[Op],
    flow: &Flow,
    (from, to): (usize, usize),
    loops: &[Option<(u32, u32)>],
) -> bool {
    let Some((start, end)) = loops[from - 1] else { return false };
    let inside = |op: u32| (start..=end).contains(&op);
    let last = (from..to).rfind(|at| ops[*at] != Op::Nop);
    // A jump to a position after the last op would fall back into the loop.
    let ends = last.is_some_and(|last| {
        let falls = (last + 1..to).any(|at| flow.is_target[at]);
        !falls && ops[last].is_end() && ops[last].target().is_none_or(|to| !inside(to))
    });
    let goes_back =
        |op: &Op| op.target().is_some_and(|at| inside(at) && !(from..to).contains(&(at as usize)));
    // There are no other predecessors, so this is where the loop is left.
    let entered = (from..to).any(|at| flow.is_jumped_back_to[at]);
    ends && inside(to as u32) && !entered && !ops[from..to].iter().any(goes_back)
}

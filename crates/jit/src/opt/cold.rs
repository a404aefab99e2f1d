//! What a loop runs when it is left is written behind the function: `if i != n goto more` over it
//! becomes `if i == n goto` there, and each round has one jump less to take.
//!
//! The ops stay where they are; the emitter writes their code elsewhere.

use crate::flow::Flow;
use crate::op::Op;
use std::collections::BTreeMap;

/// Ops that may be written elsewhere.
const OPS_MAX: usize = 256;

/// Where ops stand that are written behind their function: from the op behind a jump over them up
/// to where it goes.
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

/// By op: the smallest loop around it, as jumps backwards tell.
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

/// Whether ops do nothing but leave the loop that the jump over them stays in.
fn leaves(
    ops: &[Op],
    flow: &Flow,
    (from, to): (usize, usize),
    loops: &[Option<(u32, u32)>],
) -> bool {
    let Some((start, end)) = loops[from - 1] else { return false };
    let inside = |op: u32| (start..=end).contains(&op);
    let last = (from..to).rfind(|at| ops[*at] != Op::Nop);
    // A jump to what is no op any more behind the last would fall back into the loop.
    let ends = last.is_some_and(|last| {
        let falls = (last + 1..to).any(|at| flow.is_target[at]);
        !falls && ops[last].is_end() && ops[last].target().is_none_or(|to| !inside(to))
    });
    let goes_back =
        |op: &Op| op.target().is_some_and(|at| inside(at) && !(from..to).contains(&(at as usize)));
    // Nobody comes from elsewhere: this is where the loop is left.
    let entered = (from..to).any(|at| flow.is_jumped_back_to[at]);
    ends && inside(to as u32) && !entered && !ops[from..to].iter().any(goes_back)
}

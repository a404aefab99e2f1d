//! Jumps to jumps go to the final target; a jump over a jump becomes one jump with the inverse
//! condition; so does a loop end that leaves the loop by a condition and continues it by a jump.

use crate::coverage::Plan;
use crate::flow::Flow;
use crate::op::Op;
use crate::ops::Ops;

/// Maximum number of jumps followed: a program may contain cycles of jumps.
const HOPS_MAX: u32 = 8;

/// Returns whether something changed; then the flow's targets are outdated. Coverage counts are
/// preserved.
pub(super) fn run(ops: &mut Ops, flow: &Flow, plan: Option<&Plan>) -> bool {
    let mut changed = false;
    for at in 0..ops.len() {
        if let Some(to) = ops[at].target() {
            let last = followed(ops, to, plan);
            // A backward jump costs fuel: their number must not change.
            if last != to && (last > at as u32) == (to > at as u32) && last > to {
                let mut op = ops[at];
                set_target(&mut op, last);
                ops.set(at, op);
                changed = true;
            }
        }
        changed |= inverted(ops, flow, at, plan);
    }
    changed
}

fn followed(ops: &[Op], to: u32, plan: Option<&Plan>) -> u32 {
    let mut to = to;
    for _ in 0..HOPS_MAX {
        let jump = skipped(ops, to as usize);
        let is_free = plan.is_none_or(|plan| plan.is_free(to as usize, jump));
        match ops.get(jump) {
            Some(Op::Jmp { to: next }) if *next > to && is_free => to = *next,
            _ => break,
        }
    }
    to
}

/// The first op from `at` on that is not a no-op.
fn skipped(ops: &[Op], at: usize) -> usize {
    at + ops.iter().skip(at).take_while(|op| op.is_nop()).count()
}

fn set_target(op: &mut Op, target: u32) {
    if let Op::Jmp { to } | Op::Br { to, .. } = op {
        *to = target;
    }
}

/// `if c goto a; goto b`, where `a` is what follows, or `b` is backward.
fn inverted(ops: &mut Ops, flow: &Flow, at: usize, plan: Option<&Plan>) -> bool {
    let Op::Br { test, to } = ops[at] else { return false };
    let next = skipped(ops, at + 1);
    let Some(Op::Jmp { to: other }) = ops.get(next).copied() else { return false };
    let is_entered = (at + 1..=next).any(|between| flow.is_target[between]);
    let is_free = |plan: &Plan| plan.is_free_behind(at) && plan.is_free(at + 1, next);
    if is_entered || !plan.is_none_or(is_free) {
        return false;
    }
    let mut opposite = test;
    opposite.cond = test.cond.negated();
    let follows = to as usize > next && skipped(ops, next + 1) >= to as usize;
    if follows {
        ops.set(at, Op::Br { test: opposite, to: other });
        ops.set(next, Op::Nop);
        return true;
    }
    if other as usize <= at && to as usize > at {
        ops.set(at, Op::Br { test: opposite, to: other });
        ops.set(next, Op::Jmp { to });
        return true;
    }
    false
}

//! Jumps to jumps go to the last target; a jump over a jump becomes one jump of the other
//! condition; so does the end of a loop that leaves it by a condition and goes round by a jump.

use crate::flow::Flow;
use crate::op::Op;

/// How many jumps are followed: a program may jump in circles.
const HOPS_MAX: u32 = 8;

/// Whether something changed; then the flow's targets are not what they were.
pub(super) fn run(ops: &mut [Op], flow: &Flow) -> bool {
    let mut changed = false;
    for at in 0..ops.len() {
        if let Some(to) = ops[at].target() {
            let last = followed(ops, to);
            // A jump backwards costs fuel: as many after as before.
            if last != to && (last > at as u32) == (to > at as u32) && last > to {
                set_target(&mut ops[at], last);
                changed = true;
            }
        }
        changed |= inverted(ops, flow, at);
    }
    changed
}

fn followed(ops: &[Op], to: u32) -> u32 {
    let mut to = to;
    for _ in 0..HOPS_MAX {
        match ops.get(skipped(ops, to as usize)) {
            Some(Op::Jmp { to: next }) if *next > to => to = *next,
            _ => break,
        }
    }
    to
}

/// The first op from `at` on that does something.
fn skipped(ops: &[Op], at: usize) -> usize {
    at + ops.iter().skip(at).take_while(|op| **op == Op::Nop).count()
}

fn set_target(op: &mut Op, target: u32) {
    if let Op::Jmp { to } | Op::Br { to, .. } = op {
        *to = target;
    }
}

/// `if c goto a; goto b`, with `a` what follows, or `b` backwards.
fn inverted(ops: &mut [Op], flow: &Flow, at: usize) -> bool {
    let Op::Br { test, to } = ops[at] else { return false };
    let next = skipped(ops, at + 1);
    let Some(Op::Jmp { to: other }) = ops.get(next).copied() else { return false };
    if (at + 1..=next).any(|between| flow.is_target[between]) {
        return false;
    }
    let mut opposite = test;
    opposite.cond = test.cond.negated();
    let follows = to as usize > next && skipped(ops, next + 1) >= to as usize;
    if follows {
        ops[at] = Op::Br { test: opposite, to: other };
        ops[next] = Op::Nop;
        return true;
    }
    if other as usize <= at && to as usize > at {
        ops[at] = Op::Br { test: opposite, to: other };
        ops[next] = Op::Jmp { to };
        return true;
    }
    false
}

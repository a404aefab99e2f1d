//! A jump over one move becomes a conditional move.

use crate::asm::Width;
use crate::flow::Flow;
use crate::op::{Op, Src};

/// Whether something changed.
pub(super) fn run(ops: &mut [Op], flow: &Flow) -> bool {
    let mut changed = false;
    for at in 0..ops.len() {
        let Op::Br { test, to } = ops[at] else { continue };
        let mut body = at + 1;
        while ops.get(body) == Some(&Op::Nop) && body < to as usize {
            body += 1;
        }
        let Some(&Op::Mov { width: Width::W64, dst, src: Src::Reg(src) }) = ops.get(body) else {
            continue;
        };
        let range = at + 1..to as usize;
        let alone = range.clone().all(|i| i == body || ops[i] == Op::Nop)
            && range.clone().all(|i| !flow.is_target[i])
            && range.contains(&body);
        if alone {
            let test = crate::op::Test { cond: test.cond.negated(), ..test };
            ops[at] = Op::Cmov { test, dst, src };
            ops[body] = Op::Nop;
            changed = true;
        }
    }
    changed
}

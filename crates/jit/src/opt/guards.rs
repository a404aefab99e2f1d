//! The verifier's rewrites add a check for a zero divisor around each division, which the division
//! op includes: this removes it, so that it does not end a block.
//!
//! Source: RFC 9669 section 4.1.

use crate::asm::Width;
use crate::flow::Flow;
use crate::op::{Cond, DivOp, Op, Src, Test};
use crate::ops::Ops;

/// Returns whether something changed; then the flow's targets are outdated.
pub(super) fn run(ops: &mut Ops, flow: &Flow) -> bool {
    let divides = |op: &Op| matches!(op, Op::Div { src: Src::Reg(_), .. });
    if !ops.iter().any(divides) {
        return false;
    }
    let mut jumps = vec![0u8; ops.len()];
    for to in ops.iter().filter_map(Op::target) {
        jumps[to as usize] = jumps[to as usize].saturating_add(1);
    }
    let mut changed = false;
    for at in 0..ops.len() {
        let Some(len) = guarded(&ops[at..], at) else { continue };
        // Only the check itself may jump into the removed ops.
        let inside = |i: &usize| flow.is_target[*i];
        let single = (at + 1..at + len).filter(inside).all(|i| i + 1 == at + len && jumps[i] == 1);
        if single {
            for at in at..at + len {
                if !divides(&ops[at]) {
                    ops.set(at, Op::Nop);
                }
            }
            changed = true;
        }
    }
    changed
}

/// The number of ops that check a divisor and divide, starting at the check.
fn guarded(ops: &[Op], at: usize) -> Option<usize> {
    let Op::Br { test: Test { cond, width, a, b: Src::Imm(0) }, to } = *ops.first()? else {
        return None;
    };
    let is_div = |op: Op, of: DivOp| match op {
        Op::Div { op, width: w, dst, src } => {
            ((op, w, src) == (of, width, Src::Reg(a)) && dst != a).then_some(dst)
        }
        _ => None,
    };
    let skips = |op: Op, len: usize| op == Op::Jmp { to: (at + len) as u32 };
    let len = (to as usize).checked_sub(at)?;
    match (cond, len, ops) {
        (Cond::Ne, 3, &[_, clear, jump, div, ..]) => {
            let dst = is_div(div, DivOp::Div)?;
            let zero = Op::Mov { width: Width::W32, dst, src: Src::Imm(0) };
            (clear == zero && skips(jump, 4)).then_some(4)
        }
        (Cond::Eq, 2, &[_, div, ..]) if width == Width::W64 => is_div(div, DivOp::Mod).map(|_| 2),
        (Cond::Eq, 3, &[_, div, jump, cut, ..]) if width == Width::W32 => {
            let dst = is_div(div, DivOp::Mod)?;
            let extended = Op::Mov { width, dst, src: Src::Reg(dst) };
            (cut == extended && skips(jump, 4)).then_some(4)
        }
        _ => None,
    }
}

//! One pass over each basic block, in which value-based passes rewrite op by op.

use super::values::Values;
use super::{address, bytes, constants, copies, rotate};
use crate::Linkage;
use crate::flow::Flow;
use crate::op::Op;
use crate::tuning::Passes;

/// Whether something changed.
pub(super) fn run(ops: &mut [Op], flow: &Flow, linkage: &Linkage, passes: Passes) -> bool {
    let mut values = Values::new();
    let mut changed = false;
    for at in 0..ops.len() {
        // After a jump, a block may start that is not a jump target: on fall-through, known values
        // are kept.
        let starts = flow.is_target[at] || (at > 0 && ops[at - 1].is_end());
        if starts {
            values.start_block();
        }
        let meant = ops[at];
        if meant == Op::Nop {
            continue;
        }
        let mut op = meant;
        if let Some((rotated, shift)) =
            rotate::rewrite(&values, at, &op, flow).filter(|_| passes.rotate)
        {
            op = rotated;
            if let Some(shift) = shift {
                ops[shift as usize] = Op::Nop;
                // The register of that shift still has its old value.
                if let Op::Shift { src, .. } = rotated {
                    values.forget(src);
                }
            }
        } else if let Some((extended, shift)) =
            copies::up_and_down(&values, &op).filter(|_| passes.zext)
        {
            op = extended;
            ops[shift as usize] = Op::Nop;
        } else {
            op = improved(&values, &op, passes);
            if passes.constants {
                op = constants::rewrite(&values, &op, linkage).unwrap_or(op);
            }
        }
        changed |= op != meant;
        ops[at] = op;
        values.step(at as u32, &op, &meant);
    }
    changed
}

fn improved(values: &Values, op: &Op, passes: Passes) -> Op {
    let mut op = *op;
    let (made, sum) = values.preview(&op);
    if let Some(load) = made.and_then(|made| bytes::rewrite(values, &op, &made))
        && passes.bytes
    {
        op = load;
    }
    if passes.zext {
        op = copies::narrow(values, &op).unwrap_or(op);
    }
    if passes.copies {
        op = copies::rewrite(values, &op).unwrap_or(op);
    }
    if passes.address {
        op = address::rewrite(values, &op).unwrap_or(op);
    }
    if let Some(lea) = sum.and_then(|sum| address::lea(values, &op, sum))
        && passes.lea
    {
        op = lea;
    }
    op
}

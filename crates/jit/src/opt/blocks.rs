//! One pass over each basic block, in which value-based passes rewrite op by op.

use super::values::{Definition, Values};
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
        let mut def = values.define(&meant);
        if let Some((rotated, shift)) =
            rotate::rewrite(&values, at, &op, flow).filter(|_| passes.rotate)
        {
            op = rotated;
            if let Some(shift) = shift {
                ops[shift as usize] = Op::Nop;
                // The register of that shift still has its old value.
                if let Op::Shift { src, .. } = rotated {
                    values.forget(src);
                    def = values.define(&meant);
                }
            }
        } else if let Some((extended, shift)) =
            copies::up_and_down(&values, &op).filter(|_| passes.zext)
        {
            op = extended;
            ops[shift as usize] = Op::Nop;
        } else {
            op = improved(&values, &op, def, passes);
            if passes.constants {
                op = constants::rewrite(&values, &op, linkage).unwrap_or(op);
            }
        }
        if op != meant {
            changed = true;
            ops[at] = op;
            // Otherwise, the op before it was rewritten says more about its result.
            if matches!(op, Op::Mov { .. }) {
                def = values.define(&op);
            }
        }
        values.step(at as u32, &op, def);
    }
    changed
}

fn improved(values: &Values, op: &Op, def: Option<Definition>, passes: Passes) -> Op {
    let mut op = *op;
    let (bytes, sum) = match &def {
        Some(Definition::New(def)) => (values.bytes_of(def), def.sum),
        _ => (None, None),
    };
    if let Some(load) = bytes.and_then(|bytes| bytes::rewrite(values, &op, bytes))
        && passes.bytes
    {
        op = load;
    }
    if passes.zext {
        op = copies::narrow(values, &op).unwrap_or(op);
    }
    if passes.copies && values.has_copies() {
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

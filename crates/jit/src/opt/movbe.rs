//! A load followed by a byte swap becomes one load in the other byte order, likewise a swap and a
//! store. The emitter chooses the insns: `movbe`, or a move and a swap.

use crate::flow::Flow;
use crate::op::{Op, Size, Src};
use crate::ops::Ops;

/// Whether something changed.
pub(super) fn run(ops: &mut Ops, flow: &Flow) -> bool {
    let mut changed = false;
    if !ops.kinds().swaps {
        return changed;
    }
    for at in 0..ops.len() {
        changed |= match ops[at] {
            Op::Swap { .. } => swapped_load(ops, flow, at),
            Op::Store { .. } => swapped_store(ops, flow, at),
            _ => false,
        };
    }
    changed
}

/// `x = *addr; x = swap x`
fn swapped_load(ops: &mut Ops, flow: &Flow, at: usize) -> bool {
    let (Op::Swap { size, dst }, Some(before)) = (ops[at], flow.before(ops, at)) else {
        return false;
    };
    let Op::Load { size: loaded, sign: false, big: false, dst: to, addr } = ops[before] else {
        return false;
    };
    if loaded != size || to != dst {
        return false;
    }
    ops.set(at, Op::Load { size, sign: false, big: true, dst, addr });
    ops.set(before, Op::Nop);
    true
}

/// `x = swap x; *addr = x`, with `x` dead after.
fn swapped_store(ops: &mut Ops, flow: &Flow, at: usize) -> bool {
    let (Op::Store { size, big: false, addr, src: Src::Reg(src) }, Some(before)) =
        (ops[at], flow.before(ops, at))
    else {
        return false;
    };
    let fits = ops[before] == Op::Swap { size, dst: src } && size != Size::B1;
    if !fits || addr.uses().has(src) || !flow.is_dead_after(at, src) {
        return false;
    }
    ops.set(at, Op::Store { size, big: true, addr, src: Src::Reg(src) });
    ops.set(before, Op::Nop);
    true
}

//! Multiplication by a power of two plus or minus one becomes a shift and a sum if it is
//! loop-carried: `x = x * 31 + c` takes two cycles after the last `x`, and four with a
//! multiplication. Otherwise the multiplication is kept, which is one op rather than four.

use super::paths::{Block, Paths};
use crate::flow::Flow;
use crate::op::{AluOp, Op, Reg, RegSet, Src};
use crate::ops::Ops;

/// Maximum distance to the sum that uses the product, in ops.
const WINDOW: usize = 6;
/// Maximum number of ops per iteration: in longer ones, the latency is hidden.
const WORK_MAX: f32 = 32.0;

/// Whether something changed.
pub(super) fn run(ops: &mut Ops, flow: &Flow) -> bool {
    let mut changed = false;
    if !ops.kinds().multiplies {
        return changed;
    }
    for func in &flow.funcs {
        let range = func.start as usize..func.end as usize;
        let mut paths = None;
        for at in range.clone() {
            let Op::Alu { op: AluOp::Mul, width, dst, src: Src::Imm(by) } = ops[at] else {
                continue;
            };
            if flow.loop_depth[at] == 0 || terms(by).is_none() {
                continue;
            }
            let paths = paths.get_or_insert_with(|| Paths::new(ops, range.clone(), &[]));
            let Some(paths) = paths else { break };
            if !is_waited_for(ops, at, paths) {
                continue;
            }
            let alone = Op::Product { width, dst, src: dst, by, plus: Src::Imm(0) };
            let (place, product) = sum(ops, flow, at).unwrap_or((at, alone));
            ops.set(at, Op::Nop);
            ops.set(place, product);
            changed = true;
        }
    }
    changed
}

/// The shift, and whether to subtract rather than add; `None` for other numbers, and for those
/// handled by `lea`.
pub(crate) fn terms(by: i32) -> Option<(u8, bool)> {
    let shift = |power: i32| power.trailing_zeros() as u8;
    match by {
        ..7 | 9 => None,
        _ if (by - 1).count_ones() == 1 => Some((shift(by - 1), false)),
        _ if by & by.wrapping_add(1) == 0 && by != i32::MAX => Some((shift(by + 1), true)),
        _ => None,
    }
}

/// Whether an operand depends on the op's result in the previous iteration, and the iteration is so
/// short that the latency matters.
fn is_waited_for(ops: &[Op], at: usize, paths: &Paths) -> bool {
    let Some(round) = paths.innermost(at) else { return false };
    let blocks = || round.blocks.iter().map(|block| &paths.blocks[*block]);
    let work = |block: &Block| {
        let count = ops[block.ops.clone()].iter().filter(|op| !op.is_nop()).count();
        block.runs * count as f32
    };
    if blocks().map(work).sum::<f32>() > WORK_MAX * paths.blocks[round.head].runs {
        return false;
    }
    let inside = || blocks().flat_map(|block| block.ops.clone());
    let mut waiting = ops[at].defs();
    for op in inside().filter(|op| *op > at).chain(inside().filter(|op| *op < at)) {
        let op = &ops[op];
        waiting = match op.uses().meets(waiting) {
            true => waiting.or(op.defs()),
            false => waiting.minus(op.defs()),
        };
    }
    ops[at].uses().meets(waiting)
}

/// The sum that uses the product, fused with it, and its position.
fn sum(ops: &[Op], flow: &Flow, at: usize) -> Option<(usize, Op)> {
    let Op::Alu { width, dst: src, src: Src::Imm(by), .. } = ops[at] else { return None };
    for (next, op) in ops.iter().enumerate().skip(at + 1).take(WINDOW) {
        if flow.is_target[next] {
            return None;
        }
        match *op {
            Op::Alu { op: AluOp::Add, width: of, dst, src: plus } if of == width && dst == src => {
                let fits = !plus.uses().meets(RegSet::of(&[dst, Reg::FP]));
                return fits.then_some((next, Op::Product { width, dst, src, by, plus }));
            }
            Op::Alu { op: AluOp::Add, width: of, dst, src: plus }
                if of == width && plus == Src::Reg(src) && flow.is_dead_after(next, src) =>
            {
                let plus = Src::Reg(dst);
                return Some((next, Op::Product { width, dst, src, by, plus }));
            }
            _ if op.uses().or(op.defs()).has(src) || op.is_end() || op.is_call() => return None,
            _ if op.target().is_some() || matches!(op, Op::TailCall { .. }) => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_make_the_number() {
        let known = (-70_000..70_000).filter_map(|by| Some((by, terms(by)?)));
        let mut count = 0;
        for (by, (shift, less)) in known {
            assert_eq!(by, if less { (1 << shift) - 1 } else { (1 << shift) + 1 });
            count += 1;
        }
        assert_eq!(count, 27);
        assert_eq!(terms(i32::MAX), None);
    }
}

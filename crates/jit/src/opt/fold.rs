//! A load with a single use becomes a memory operand; load, modify, store becomes one insn.
//!
//! # Invariants
//! 1. A load moves down to its use, but not past a write, and one of shared memory not past another
//!    access to shared memory.

use crate::asm::Width;
use crate::flow::Flow;
use crate::op::{Addr, AluOp, Op, Reg, RegSet, Size, Space, Src, Test};
use crate::ops::Ops;

/// Maximum distance to the load, in ops.
const WINDOW: usize = 6;

/// Whether something changed.
pub(super) fn run(ops: &mut Ops, flow: &Flow) -> bool {
    let mut changed = false;
    for at in 0..ops.len() {
        let folded = match ops[at] {
            Op::Alu { width, dst, src: Src::Reg(src), .. } if src != dst => {
                let folded = operand(ops, flow, Read { at, reg: src, width });
                changed |= folded.is_none() && turned_round(ops, flow, at);
                folded
            }
            Op::Br { test, .. } if test.b != Src::Reg(test.a) => match test.b {
                Src::Reg(b) => {
                    operand(ops, flow, Read { at, reg: b, width: test.width }).or_else(|| {
                        let folded =
                            operand(ops, flow, Read { at, reg: test.a, width: test.width })?;
                        ops.set(at, turned(ops[at])?);
                        Some(folded)
                    })
                }
                _ => None,
            },
            Op::Store { .. } => {
                changed |= on_memory(ops, flow, at) || into_memory(ops, flow, at);
                None
            }
            _ => None,
        };
        if let Some((load, addr)) = folded {
            let mut better = ops[at];
            match &mut better {
                Op::Alu { src, .. } => *src = Src::Mem(addr),
                Op::Br { test, .. } => test.b = Src::Mem(addr),
                _ => continue,
            }
            ops.set(at, better);
            ops.set(load, Op::Nop);
            changed = true;
        }
    }
    changed
}

/// The test with its registers the other way round.
fn turned(op: Op) -> Option<Op> {
    let Op::Br { test: Test { cond, width, a, b: Src::Reg(b) }, to } = op else { return None };
    let test = Test { cond: cond.turned(), width, a: b, b: Src::Reg(a) };
    (b != Reg::FP).then_some(Op::Br { test, to })
}

fn size_of(width: Width) -> Size {
    if width == Width::W64 { Size::B8 } else { Size::B4 }
}

/// A register operand of an op.
#[derive(Clone, Copy)]
struct Read {
    at: usize,
    reg: Reg,
    width: Width,
}

/// The load of an operand, used only by that op, if it can be moved there.
fn operand(ops: &Ops, flow: &Flow, read: Read) -> Option<(usize, Addr)> {
    match flow.is_dead_after(read.at, read.reg) {
        true => load_of(ops, flow, read, RegSet::NONE),
        false => None,
    }
}

/// The load of an operand, if it can be moved to its op, and no op in between involves `others`.
fn load_of(ops: &Ops, flow: &Flow, read: Read, others: RegSet) -> Option<(usize, Addr)> {
    let Read { at, reg, width } = read;
    let (mut written, mut shared) = (RegSet::NONE, false);
    for back in (at.saturating_sub(WINDOW)..at).rev() {
        if flow.is_target[back + 1] {
            return None;
        }
        let op = &ops[back];
        let effect = ops.effect(back);
        if effect.defs.has(reg) {
            let Op::Load { size, sign: false, big: false, addr, .. } = *op else { return None };
            let stays = addr.space == Space::Own || !shared;
            let fits = stays && size == size_of(width) && !addr.uses().meets(written);
            return fits.then_some((back, addr));
        }
        let meets = effect.touched().meets(others) || effect.uses.has(reg);
        if meets || effect.jumps || effect.ends || writes_memory(op) {
            return None;
        }
        written = written.or(effect.defs);
        shared |= op.is_shared_access();
    }
    None
}

/// `y = *a; x = *b; x op= y`, where the load of `y` cannot move: `x = *a; x op= *b`, if the
/// operation is commutative. Both loads stay in order.
fn turned_round(ops: &mut Ops, flow: &Flow, at: usize) -> bool {
    let Op::Alu { op, width, dst: x, src: Src::Reg(y) } = ops[at] else { return false };
    if op == AluOp::Sub || !flow.is_dead_after(at, y) {
        return false;
    }
    // As if it read `x` last: then its load may become its operand.
    let Some((second, addr)) = load_of(ops, flow, Read { at, reg: x, width }, RegSet::of(&[y]))
    else {
        return false;
    };
    if addr.uses().meets(RegSet::of(&[x, y])) {
        return false;
    }
    for back in (second.saturating_sub(WINDOW)..second).rev() {
        if flow.is_target[back + 1] {
            return false;
        }
        let touched = ops.effect(back).touched();
        if let Op::Load { size, sign, big, dst, addr: from } = ops[back]
            && dst == y
        {
            ops.set(back, Op::Load { size, sign, big, dst: x, addr: from });
            ops.set(second, Op::Nop);
            ops.set(at, Op::Alu { op, width, dst: x, src: Src::Mem(addr) });
            return true;
        }
        let touches = touched.meets(RegSet::of(&[x, y]));
        if touches || ops[back].target().is_some() || ops[back].is_end() {
            return false;
        }
    }
    false
}

fn writes_memory(op: &Op) -> bool {
    let store = matches!(op, Op::Store { .. } | Op::AluStore { .. } | Op::Atomic { .. });
    store || op.is_call() || matches!(op, Op::TailCall { .. })
}

/// `x op= *addr; *addr = x`, with `x` dead after, if the operation does not care which is which.
fn into_memory(ops: &mut Ops, flow: &Flow, at: usize) -> bool {
    let Op::Store { size, big: false, addr, src: Src::Reg(x) } = ops[at] else { return false };
    let Some(alu) = flow.before(ops, at) else { return false };
    let Op::Alu { op, width, dst, src } = ops[alu] else { return false };
    let commutes = matches!(op, AluOp::Add | AluOp::Or | AluOp::And | AluOp::Xor);
    let same = dst == x && src == Src::Mem(addr) && size == size_of(width);
    if !commutes || !same || !flow.is_dead_after(at, x) || addr.uses().has(x) {
        return false;
    }
    ops.set(at, Op::AluStore { op, size, addr, src: Src::Reg(x) });
    ops.set(alu, Op::Nop);
    true
}

/// `x = *addr; x op= src; *addr = x`, with `x` dead after.
fn on_memory(ops: &mut Ops, flow: &Flow, at: usize) -> bool {
    let Op::Store { size: size @ (Size::B4 | Size::B8), big: false, addr, src: Src::Reg(x) } =
        ops[at]
    else {
        return false;
    };
    let Some(alu) = flow.before(ops, at) else { return false };
    let Op::Alu { op, dst, src, width } = ops[alu] else { return false };
    let Some(load) = flow.before(ops, alu) else { return false };
    let loads = Op::Load { size, sign: false, big: false, dst: x, addr };
    let plain = match src {
        Src::Reg(src) => src != x,
        Src::Imm(_) => true,
        Src::Mem(_) => false,
    };
    // The lower half of a sum is the sum of the lower halves.
    let wide_enough = size == Size::B4 || width == Width::W64;
    let fits = dst == x && op != AluOp::Mul && plain && wide_enough && ops[load] == loads;
    if !fits || !flow.is_dead_after(at, x) || addr.uses().has(x) {
        return false;
    }
    ops.set(at, Op::AluStore { op, size, addr, src });
    ops.set(alu, Op::Nop);
    ops.set(load, Op::Nop);
    true
}

//! Folds sums and shifts made in place that are only used in addresses: `r7 += r2; load [r7]`
//! becomes `load [r7 + r2]`, a preceding `r2 <<= 3` a scale.
//!
//! `address` does the same for sums whose operands are still in registers; here, the op overwrites
//! an operand, so it can only be removed if its result has no other users.
//!
//! # Invariants
//! 1. Loads and stores are not moved, except by `kept`: only the computation of their addresses
//!    changes.

mod kept;

use crate::asm::Width;
use crate::flow::Flow;
use crate::op::{Addr, AluOp, Op, Reg, RegSet, ShiftOp, Src};

/// Maximum distance to the users of an address, in ops, and their maximum number.
const WINDOW: usize = 32;
const READS_MAX: usize = 8;

/// The value of a register in terms of others and of its old value.
#[derive(Clone, Copy)]
enum Form {
    /// `itself + of`
    Plus(Reg),
    /// `addr`
    Sum(Addr),
    /// `of << by`
    Scaled(Reg, u8),
}

/// Keeps liveness up to date.
pub(super) fn run(ops: &mut [Op], flow: &mut Flow) {
    // Backwards: once a sum is in the address, the shift of its operand may be folded, too.
    for at in (0..ops.len()).rev() {
        let Some((reg, made)) = made(&ops[at]) else { continue };
        let Some(reads) = reads(ops, flow, at, reg, made) else {
            kept::run(ops, flow, at, (reg, made));
            continue;
        };
        let Some(last) = reads.last().copied() else { continue };
        for read in reads {
            if let Some(better) = rewritten(&ops[read], reg, made) {
                ops[read] = better;
            }
        }
        ops[at] = factor(&ops[at]).map_or(Op::Nop, |(left, _)| left);
        // The operands stay live up to the last use, and the sum does not.
        for live in &mut flow.live_out[at..last] {
            *live = live.minus(RegSet::of(&[reg])).or(made.parts(reg));
        }
    }
}

fn made(op: &Op) -> Option<(Reg, Form)> {
    Some(match *op {
        Op::Alu { op: AluOp::Add, width: Width::W64, dst, src: Src::Reg(src) }
            if src != dst && src != Reg::FP =>
        {
            (dst, Form::Plus(src))
        }
        Op::Alu { op: AluOp::Add, width: Width::W64, dst, src: Src::Imm(imm) } => {
            (dst, Form::Sum(Addr::sum(dst, None, imm)))
        }
        Op::Lea { width: Width::W64, dst, addr } => (dst, Form::Sum(addr)),
        Op::Mov { width: Width::W64, dst, src: Src::Reg(src) } if src != dst => {
            (dst, Form::Sum(Addr::sum(src, None, 0)))
        }
        Op::Shift { op: ShiftOp::Shl, width: Width::W64, dst, src, by: Src::Imm(by @ 1..=3) }
            if src != Reg::FP =>
        {
            (dst, Form::Scaled(src, by as u8))
        }
        op => {
            let (Op::Alu { dst, .. }, by) = factor(&op)? else { return None };
            (dst, Form::Scaled(dst, by))
        }
    })
}

/// A multiplication by 3, 5 or 9 times a power of two, as one by the odd factor, which is a `lea`,
/// and a shift.
fn factor(op: &Op) -> Option<(Op, u8)> {
    let Op::Alu { op: AluOp::Mul, width: Width::W64, dst, src: Src::Imm(imm) } = *op else {
        return None;
    };
    let by = imm.trailing_zeros();
    let odd = imm.checked_shr(by)?;
    let fits = (1..=3).contains(&by) && [3, 5, 9].contains(&odd);
    let left = Op::Alu { op: AluOp::Mul, width: Width::W64, dst, src: Src::Imm(odd) };
    fits.then_some((left, by as u8))
}

impl Form {
    /// Registers that must not change.
    fn parts(self, reg: Reg) -> RegSet {
        match self {
            Form::Plus(of) => RegSet::of(&[reg, of]),
            Form::Sum(addr) => addr.uses(),
            Form::Scaled(of, _) => RegSet::of(&[of]),
        }
    }
}

/// The ops that use `reg`, if all of them can be rewritten and there are no others.
fn reads(ops: &[Op], flow: &Flow, at: usize, reg: Reg, made: Form) -> Option<Vec<usize>> {
    let mut parts = made.parts(reg);
    let mut reads = Vec::new();
    if !flow.live_out[at].has(reg) {
        return None;
    }
    for (next, op) in ops.iter().enumerate().skip(at + 1).take(WINDOW) {
        if flow.is_target[next] {
            return None;
        }
        if op.uses().has(reg) {
            let intact = parts == made.parts(reg);
            if !intact || reads.len() == READS_MAX || rewritten(op, reg, made).is_none() {
                return None;
            }
            reads.push(next);
        }
        parts = parts.minus(op.defs());
        if op.defs().has(reg) || !flow.live_out[next].has(reg) {
            return Some(reads);
        }
        // A jump is passed if nothing reads the address where it goes.
        let needed = op.target().is_some_and(|to| flow.live_in(ops, to as usize).has(reg));
        if op.is_end() || needed {
            return None;
        }
    }
    None
}

/// `op` with the operands of `reg` in its address; `None` if it uses `reg` otherwise, or there is
/// no such address.
fn rewritten(op: &Op, reg: Reg, made: Form) -> Option<Op> {
    if let (Op::Alu { op: AluOp::Add, width, dst, src: Src::Reg(src) }, Form::Scaled(of, by)) =
        (*op, made)
    {
        let addr = Addr::sum(dst, Some((of, by)), 0);
        let fits = width == Width::W64 && src == reg && dst != reg;
        return fits.then_some(Op::Lea { width, dst, addr });
    }
    if let (Op::Alu { op: AluOp::Add, width, dst, src: Src::Reg(src) }, Form::Sum(sum)) =
        (*op, made)
    {
        let addr = Addr::sum(sum.base, Some((src, 0)), 0);
        let two = sum.index.is_none() && sum.disp == 0 && src != Reg::FP;
        let fits = width == Width::W64 && dst == reg && src != reg && two;
        return fits.then_some(Op::Lea { width, dst, addr });
    }
    let mut better = *op;
    let addr = match &mut better {
        Op::Load { addr, .. } | Op::Store { addr, .. } | Op::AluStore { addr, .. } => addr,
        Op::Alu { src: Src::Mem(addr), .. } | Op::Lea { width: Width::W64, addr, .. } => addr,
        Op::Atomic { addr, .. } => addr,
        _ => return None,
    };
    let meant = std::mem::replace(addr, Addr::sum(Reg::FP, None, 0));
    let address = of_parts(meant, reg, made)?.own_if_frame();
    if better.uses().has(reg) {
        return None;
    }
    match &mut better {
        Op::Load { addr, .. } | Op::Store { addr, .. } | Op::AluStore { addr, .. } => {
            *addr = address;
        }
        Op::Alu { src: Src::Mem(addr), .. } | Op::Lea { addr, .. } => *addr = address,
        Op::Atomic { addr, .. } => *addr = address,
        _ => return None,
    }
    // A three-operand `lea` is slower than the two additions that it replaces.
    let slow = matches!(op, Op::Lea { .. }) && address.index.is_some() && address.disp != 0;
    (!slow).then_some(better)
}

fn of_parts(addr: Addr, reg: Reg, made: Form) -> Option<Addr> {
    let index_is = addr.index.filter(|(index, _)| *index == reg);
    if index_is.is_some() && addr.base == reg {
        return None;
    }
    let disp = |more: i32| addr.disp.checked_add(more);
    Some(match (made, addr.index, index_is) {
        (Form::Plus(of), None, _) => Addr { index: Some((of, 0)), ..addr },
        (Form::Sum(sum), None, _) => Addr { disp: disp(sum.disp)?, space: addr.space, ..sum },
        (Form::Sum(sum), index, None) if sum.index.is_none() => {
            Addr { base: sum.base, index, disp: disp(sum.disp)?, space: addr.space }
        }
        (Form::Sum(sum), _, Some((_, scale))) if sum.index.is_none() && sum.base != Reg::FP => {
            let more = sum.disp.checked_mul(1 << scale)?;
            Addr { index: Some((sum.base, scale)), disp: disp(more)?, ..addr }
        }
        (Form::Scaled(of, by), _, Some((_, scale))) if scale + by <= 3 => {
            Addr { index: Some((of, scale + by)), ..addr }
        }
        (Form::Scaled(of, by), Some((index, 0)), None) => {
            Addr { base: index, index: Some((of, by)), ..addr }
        }
        _ => return None,
    })
}

//! Sums and shifts as parts of an address.

use crate::asm::Width;
use crate::op::{Addr, AluOp, Op, Reg, RegSet, ShiftOp, Src};

/// The value of a register in terms of others and of its old value.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// `itself + of`
    Plus(Reg),
    /// `addr`
    Sum(Addr),
    /// `of << by`
    Scaled(Reg, u8),
}

impl Form {
    /// Registers that must not change.
    pub(super) fn parts(self, reg: Reg) -> RegSet {
        match self {
            Form::Plus(of) => RegSet::of(&[reg, of]),
            Form::Sum(addr) => addr.uses(),
            Form::Scaled(of, _) => RegSet::of(&[of]),
        }
    }
}

pub(super) fn made(op: &Op) -> Option<(Reg, Form)> {
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
pub(super) fn factor(op: &Op) -> Option<(Op, u8)> {
    let Op::Alu { op: AluOp::Mul, width: Width::W64, dst, src: Src::Imm(imm) } = *op else {
        return None;
    };
    let by = imm.trailing_zeros();
    let odd = imm.checked_shr(by)?;
    let fits = (1..=3).contains(&by) && [3, 5, 9].contains(&odd);
    let left = Op::Alu { op: AluOp::Mul, width: Width::W64, dst, src: Src::Imm(odd) };
    fits.then_some((left, by as u8))
}

/// `op` with the operands of `reg` in its address; `None` if it uses `reg` otherwise, or there is
/// no such address.
pub(super) fn rewritten(op: &Op, reg: Reg, made: Form) -> Option<Op> {
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

//! Copy propagation, so that moves become dead; redundant masks and extensions become moves.

use super::values::Values;
use crate::asm::Width;
use crate::op::{Addr, AluOp, DivOp, Op, Reg, RegSet, ShiftOp, Size, Src};

/// `op` with its operands read from the original registers.
pub(super) fn rewrite(values: &Values, op: &Op) -> Option<Op> {
    let copies = values.copies();
    if copies == RegSet::NONE || !op.uses().meets(copies) {
        return None;
    }
    let mut better = *op;
    let first = |reg: Reg| values.holder_before(reg).unwrap_or(reg);
    let from = |addr: Addr| Addr { base: first(addr.base), ..addr }.own_if_frame();
    match &mut better {
        Op::Alu { src: Src::Reg(reg), .. } | Op::Div { src: Src::Reg(reg), .. } => {
            *reg = first(*reg);
        }
        Op::Mov { src: Src::Reg(reg), .. } => *reg = first(*reg),
        Op::Shift { src, by, dst, .. } => {
            if src != dst {
                *src = first(*src);
            }
            if let Src::Reg(by) = by {
                *by = first(*by);
            }
        }
        Op::Zext { src, .. } | Op::MovSx { src, .. } => *src = first(*src),
        Op::Load { addr, .. } => *addr = from(*addr),
        Op::Store { addr, src, .. } => {
            *addr = from(*addr);
            if let Src::Reg(src) = src {
                *src = first(*src);
            }
        }
        Op::Br { test, .. } => {
            test.a = first(test.a);
            if let Src::Reg(b) = &mut test.b {
                *b = first(*b);
            }
        }
        _ => return None,
    }
    (better != *op).then_some(better)
}

/// The simplified `op` if most bits of its operand are known to be 0.
#[inline]
pub(super) fn narrow(values: &Values, op: &Op) -> Option<Op> {
    let low_bits = |reg: Reg| values.def_of(reg).bits;
    let fits_low = |src: Src| match src {
        Src::Reg(reg) => low_bits(reg) <= 32,
        Src::Imm(imm) => imm >= 0,
        Src::Mem(_) => false,
    };
    let moved = |dst: Reg, src: Reg| Op::Mov { width: Width::W64, dst, src: Src::Reg(src) };
    match *op {
        Op::Mov { width: Width::W32, dst, src: Src::Reg(src) } if low_bits(src) <= 32 => {
            Some(moved(dst, src))
        }
        Op::Zext { size, dst, src } if u32::from(low_bits(src)) <= 8 * size.bytes() => {
            Some(moved(dst, src))
        }
        Op::Div { op: op @ (DivOp::Div | DivOp::Mod), width: Width::W64, dst, src }
            if low_bits(dst) <= 32 && fits_low(src) =>
        {
            Some(Op::Div { op, width: Width::W32, dst, src })
        }
        Op::Alu { op: AluOp::And, width, dst, src: Src::Imm(imm) } if imm > 0 => {
            let ones = imm.trailing_ones() as u8;
            let is_mask = imm & imm.wrapping_add(1) == 0;
            let fits = low_bits(dst) <= ones;
            match (ones, is_mask) {
                (_, true) if fits => Some(moved(dst, dst)),
                (8, true) => Some(Op::Zext { size: Size::B1, dst, src: dst }),
                (16, true) => Some(Op::Zext { size: Size::B2, dst, src: dst }),
                _ if width == Width::W64 => {
                    Some(Op::Alu { op: AluOp::And, width: Width::W32, dst, src: Src::Imm(imm) })
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// `x <<= 32; x >>= 32`: an extension, and the first of the two, which is no longer needed; with a
/// signed shift, a sign extension.
#[inline]
pub(super) fn up_and_down(values: &Values, op: &Op) -> Option<(Op, u32)> {
    let Op::Shift { op: down, width, dst, src, by: Src::Imm(by) } = *op else { return None };
    let bits = if width == Width::W64 { 64 } else { 32 };
    let size = match bits - by {
        8 => Size::B1,
        16 => Size::B2,
        32 if width == Width::W64 => Size::B4,
        _ => return None,
    };
    let up = values.def_of(src).shifted?;
    let (shift, before) = values.unread(src).filter(|_| src == dst)?;
    let is_up = up.op == ShiftOp::Shl && up.width == width && up.by == by;
    let of = if width == Width::W64 { before } else { values.def(before).low };
    let extended = match down {
        ShiftOp::Shr => Op::Zext { size, dst, src },
        ShiftOp::Sar => Op::MovSx { size, width, dst, src },
        _ => return None,
    };
    (is_up && of == up.of).then_some((extended, shift))
}

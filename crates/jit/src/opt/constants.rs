//! Constant folding and propagation.

use super::lookup;
use super::values::Values;
use crate::Linkage;
use crate::asm::Width;
use crate::op::{AluOp, Cond, Op, Reg, Shift, ShiftOp, Size, Src, Test};

/// `op` with its result or its outcome folded.
pub(super) fn rewrite(values: &Values, op: &Op, linkage: &Linkage) -> Option<Op> {
    let of = |reg: Reg| values.def_of(reg).constant;
    let value_of = |src: Src, width: Width| match src {
        Src::Imm(imm) if width == Width::W32 => Some(u64::from(imm as u32)),
        Src::Imm(imm) => Some(i64::from(imm) as u64),
        Src::Reg(reg) => of(reg),
        Src::Mem(_) => None,
    };
    let load = |dst, value| Some(Op::LdImm { dst, value });
    match *op {
        Op::Br { test, to } => {
            let (a, b) = (of(test.a)?, value_of(test.b, test.width)?);
            Some(if holds(test, a, b) { Op::Jmp { to } } else { Op::Nop })
        }
        Op::TailCall { map: Some(map), index: None } => {
            Some(Op::TailCall { map: Some(map), index: Some(of(Reg::R3)? as u32) })
        }
        Op::ArrayLookup { map, key: key @ (Src::Reg(_) | Src::Imm(_)) } => {
            let key = value_of(key, Width::W32)? as u32;
            load(Reg::R0, lookup::constant(linkage, map, key)?)
        }
        Op::Alu { op, width, dst, src } => {
            load(dst, arithmetic(op, width, of(dst)?, value_of(src, width)?))
        }
        Op::Shift { op, width, dst, src, by } => {
            load(dst, shifted(Shift { op, width }, of(src)?, value_of(by, Width::W64)?))
        }
        Op::Mov { width, dst, src: Src::Reg(src) } => load(dst, truncated(width, of(src)?)),
        Op::Zext { size: Size::B4, dst, src } => load(dst, truncated(Width::W32, of(src)?)),
        _ => immediate(op, of),
    }
}

/// A constant register as an immediate operand, where that is as good.
fn immediate(op: &Op, of: impl Fn(Reg) -> Option<u64>) -> Option<Op> {
    let small = |reg: Reg| i32::try_from(of(reg)? as i64).ok();
    let mut better = *op;
    match &mut better {
        Op::Store { src: src @ Src::Reg(_), big: false, .. } => {
            let Src::Reg(reg) = *src else { return None };
            *src = Src::Imm(small(reg)?);
        }
        _ => return None,
    }
    Some(better)
}

fn truncated(width: Width, value: u64) -> u64 {
    if width == Width::W32 { value & u64::from(u32::MAX) } else { value }
}

pub(super) fn arithmetic(op: AluOp, width: Width, a: u64, b: u64) -> u64 {
    let value = match op {
        AluOp::Add => a.wrapping_add(b),
        AluOp::Sub => a.wrapping_sub(b),
        AluOp::Or => a | b,
        AluOp::And => a & b,
        AluOp::Xor => a ^ b,
        AluOp::Mul => a.wrapping_mul(b),
    };
    truncated(width, value)
}

pub(super) fn shifted(shift: Shift, value: u64, by: u64) -> u64 {
    let by = by as u32;
    match (shift.op, shift.width) {
        (ShiftOp::Shl, Width::W64) => value.wrapping_shl(by),
        (ShiftOp::Shr, Width::W64) => value.wrapping_shr(by),
        (ShiftOp::Sar, Width::W64) => (value as i64).wrapping_shr(by) as u64,
        (ShiftOp::Rol, Width::W64) => value.rotate_left(by & 63),
        (ShiftOp::Shl, Width::W32) => u64::from((value as u32).wrapping_shl(by)),
        (ShiftOp::Shr, Width::W32) => u64::from((value as u32).wrapping_shr(by)),
        (ShiftOp::Sar, Width::W32) => u64::from((value as i32).wrapping_shr(by) as u32),
        (ShiftOp::Rol, Width::W32) => u64::from((value as u32).rotate_left(by & 31)),
    }
}

/// Whether a test of known values is true.
pub(super) fn holds(test: Test, a: u64, b: u64) -> bool {
    let (a, b) = (truncated(test.width, a), truncated(test.width, b));
    let signed = |value: u64| match test.width {
        Width::W64 => value as i64,
        Width::W32 => i64::from(value as i32),
    };
    match test.cond {
        Cond::Eq => a == b,
        Cond::Ne => a != b,
        Cond::Gt => a > b,
        Cond::Ge => a >= b,
        Cond::Lt => a < b,
        Cond::Le => a <= b,
        Cond::SGt => signed(a) > signed(b),
        Cond::SGe => signed(a) >= signed(b),
        Cond::SLt => signed(a) < signed(b),
        Cond::SLe => signed(a) <= signed(b),
        Cond::Set => a & b != 0,
        Cond::NotSet => a & b == 0,
    }
}

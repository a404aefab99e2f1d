//! Folds address arithmetic into the addresses of loads and stores, and into `lea`.

use super::values::{Sum, Values};
use crate::asm::Width;
use crate::op::{Addr, AluOp, Op, Reg, RegSet, Src};

/// `op` with a better address.
pub(super) fn rewrite(values: &Values, op: &Op) -> Option<Op> {
    let mut better = *op;
    let addr = match &mut better {
        Op::Load { addr, .. } | Op::Store { addr, .. } | Op::AluStore { addr, .. } => addr,
        Op::Atomic { addr, .. } | Op::ArrayLookup { key: Src::Mem(addr), .. } => addr,
        _ => return None,
    };
    if addr.index.is_some() {
        return None;
    }
    let sum = values.def_of(addr.base).sum.filter(|sum| sum.width == Width::W64)?;
    let sum = Sum { disp: sum.disp.checked_add(addr.disp)?, ..sum };
    let before = *addr;
    *addr = Addr { space: addr.space, ..held(values, sum)? }.own_if_frame();
    (*addr != before).then_some(better)
}

/// An address that differs from a sum by a constant, if the sum's parts are in registers.
pub(super) fn moved(values: &Values, sum: Sum, disp: i32) -> Option<Addr> {
    let disp = sum.disp.checked_add(disp)?;
    if sum.width == Width::W64 { held(values, Sum { disp, ..sum }) } else { None }
}

/// The sum as an address, if its parts are in registers.
fn held(values: &Values, sum: Sum) -> Option<Addr> {
    let (base, disp) = match sum.width {
        Width::W64 => values.near(sum.base?, sum.disp)?,
        Width::W32 => (values.holder(sum.base?)?, sum.disp),
    };
    let index = match sum.index {
        None => None,
        Some((index, scale)) => Some((values.holder(index)?, scale)),
    };
    // The frame pointer may not have a register of its own; it can only be a base.
    match index {
        Some((Reg::FP, 0)) => Some(Addr::sum(Reg::FP, Some((base, 0)), disp)),
        Some((Reg::FP, _)) => None,
        index => Some(Addr::sum(base, index, disp)),
    }
    .filter(|addr| addr.index.is_none_or(|(index, _)| index != Reg::FP))
}

/// An addition as `lea`, if that saves a move.
pub(super) fn lea(values: &Values, op: &Op, sum: Sum) -> Option<Op> {
    let Op::Alu { op: AluOp::Add | AluOp::Sub, width, dst, src } = *op else { return None };
    // Without copies, a value in `dst` is in no other register.
    let only = sum.base == Some(values.of(dst)) && values.copies() == RegSet::NONE;
    if sum.width != width || only {
        return None;
    }
    let addr = held(values, sum)?;
    let parts = [addr.index.is_some(), addr.disp != 0];
    // A three-operand `lea` is slower than two additions; in place, addition is as good.
    let in_place = addr.base == dst || addr.index.is_some_and(|(index, _)| index == dst);
    let scaled = addr.index.is_some_and(|(_, scale)| scale > 0);
    if parts == [true, true] || in_place || (scaled && matches!(src, Src::Imm(_))) {
        return None;
    }
    Some(Op::Lea { width, dst, addr })
}

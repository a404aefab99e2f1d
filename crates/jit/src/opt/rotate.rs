//! Two shifts of one value joined by `or`, `xor` or `+` become a rotation.

use super::values::{Shifted, Values};
use crate::asm::Width;
use crate::op::{AluOp, Op, Reg, ShiftOp, Src};

/// The rotation, and the op that is no longer needed: a shift in place that has no other use.
/// `is_dead`: whether a register is dead after the op.
pub(super) fn rewrite(
    values: &Values,
    op: &Op,
    is_dead: impl FnOnce(Reg) -> bool,
) -> Option<(Op, Option<u32>)> {
    let Op::Alu { op: AluOp::Or | AluOp::Xor | AluOp::Add, width, dst, src: Src::Reg(src) } = *op
    else {
        return None;
    };
    let (a, b) = (values.def_of(dst).shifted?, values.def_of(src).shifted?);
    let by = left_rotation(a, b, width)?;
    let rotate = |from| Op::Shift { op: ShiftOp::Rol, width, dst, src: from, by: Src::Imm(by) };
    let held = match width {
        Width::W64 => values.holder(a.of),
        Width::W32 => values.low_holder(a.of),
    };
    if let Some(from) = held {
        return Some((rotate(from), None));
    }
    let same = |number| match width {
        Width::W64 => number == a.of,
        Width::W32 => values.def(number).low == a.of,
    };
    let in_place = |reg: Reg| values.unread(reg).filter(|(_, before)| same(*before));
    if let Some((shift, _)) = in_place(dst) {
        return Some((rotate(dst), Some(shift)));
    }
    let (shift, _) = in_place(src).filter(|_| is_dead(src))?;
    Some((rotate(src), Some(shift)))
}

fn left_rotation(a: Shifted, b: Shifted, width: Width) -> Option<i32> {
    let bits = if width == Width::W64 { 64 } else { 32 };
    let same = a.of == b.of && a.width == width && b.width == width && a.by + b.by == bits;
    match (a.op, b.op) {
        (ShiftOp::Shl, ShiftOp::Shr) if same && a.by > 0 => Some(a.by),
        (ShiftOp::Shr, ShiftOp::Shl) if same && b.by > 0 => Some(b.by),
        _ => None,
    }
}

//! Rules of ALU insns that are not about values: linked registers, invalid operands.

use crate::env::Store;
use crate::state::reg::{BPF_ADD_CONST, Reg};
use skep_domain::AluOp;
use skep_insn::Insn;
use skep_insn::code::*;
use skep_uapi::Behaviours;

/// Names of the operators in messages, by operation bits.
pub(crate) const BPF_ALU_STRING: [&str; 16] = [
    "+=", "-=", "*=", "/=", "|=", "&=", "<<=", ">>=", "neg", "%=", "^=", "=", "s>>=", "endian", "",
    "",
];

/// Gives a scalar that is about to be copied an id, so that what is learned about one copy holds
/// for the other.
///
/// Kernel: `assign_scalar_id_before_mov` (6.18).
#[inline]
pub(crate) fn assign_scalar_id(store: &mut Store, reg: &mut Reg) {
    if !reg.is_scalar() {
        return;
    }
    if reg.id & BPF_ADD_CONST != 0 {
        *reg = reg.unlinked();
    }
    if reg.id == 0 && !reg.val.is_const() {
        reg.id = store.new_id();
    }
}

/// Whether the immediate shift count is out of range for the operand width.
#[inline]
pub(crate) fn shifts_too_far(insn: Insn) -> bool {
    let size = if insn.class() == BPF_ALU64 { 64 } else { 32 };
    !insn.is_src_reg()
        && matches!(insn.op(), BPF_LSH | BPF_RSH | BPF_ARSH)
        && !(0..size).contains(&insn.imm)
}

/// Whether the immediate divisor is 0.
#[inline]
pub(crate) fn divides_by_zero(insn: Insn) -> bool {
    !insn.is_src_reg() && matches!(insn.op(), BPF_DIV | BPF_MOD) && insn.imm == 0
}

/// The constant difference between the sum and dst, from the values of the operands alone.
#[inline]
pub(crate) fn linked_sum(rules: &Behaviours, insn: Insn, dst: &Reg, src: &Reg) -> Option<i32> {
    let wide = insn.class() == BPF_ALU64;
    let src_known = if wide { src.val.is_const() } else { src.val.is_subreg_const() };
    if !matches!(insn.op(), BPF_ADD | BPF_SUB) || !src_known {
        return None;
    }
    if !wide && dst.val.umax > u64::from(u32::MAX) {
        return None;
    }
    let value = src.val.var_off.value;
    let off = if wide { i32::try_from(value as i64).ok()? } else { value as i32 };
    if !rules.any_sums_linked && (!wide || insn.op() == BPF_SUB || off < 0) {
        return None;
    }
    if insn.op() == BPF_SUB { off.checked_neg() } else { Some(off) }
}

/// Whether the result keeps none of dst's other attributes. A NULL pointer keeps the map or type
/// that it had, and so does everything computed from it; a bitwise operation with a constant result
/// drops them.
#[inline]
pub(crate) fn is_made_anew(op: AluOp, dst: &Reg, src: &Reg) -> bool {
    let (d, s) = (dst.val.var_off, src.val.var_off);
    let bits = match op {
        AluOp::And => d.and(s),
        AluOp::Or => d.or(s),
        AluOp::Xor => d.xor(s),
        _ => return false,
    };
    s.is_const() && bits.is_const()
}

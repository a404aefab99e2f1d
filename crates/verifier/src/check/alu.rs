//! ALU insns.
//!
//! Kernel: `check_alu_op`, `adjust_reg_min_max_vals`, `adjust_scalar_min_max_vals` (6.18).

use super::reg_arg::Operand;
use super::scalar_insn::{remember_moved_pointer, step_alu};
use super::scalar_rules;
use super::{ptr_arith, ptr_mask};
use crate::check::alu_rules::{
    BPF_ALU_STRING, assign_scalar_id, divides_by_zero, is_made_anew, linked_sum, shifts_too_far,
};
use crate::env::Env;
use crate::passes::reserved::{check_fields_on, is_with_negative_offset};
use crate::rejection::{Check, InsnFault, Regno, reject, unsupported};
use crate::state::arena::PackedReg;
use crate::state::reg::{BPF_ADD_CONST, BPF_ADD_CONST32, BPF_ADD_CONST64, Extra, Reg};
use crate::state::reg_type::{Base, RegType};
use skep_domain::{AluOp, ByteOrder};
use skep_insn::Insn;
use skep_insn::code::*;

/// Walks an ALU or ALU64 insn.
pub(crate) fn check_alu_op(env: &mut Env<'_>) -> Check {
    let insn = env.insn();
    if step_alu(env, insn) {
        env.note_operands(insn);
        return Ok(());
    }
    if let Err(refused) =
        check_fields_on(env.walk.insn_idx as usize, &insn, env.facts.insns_there())
    {
        if env.facts.rules().alu_offsets_checked || !is_with_negative_offset(insn) {
            reject!(EINVAL, *refused.kind);
        }
        if matches!(insn.op(), BPF_DIV | BPF_MOD) {
            return unsupported("divisions with a negative offset, on this kernel");
        }
    }
    let before = env.walk.frame().names().get(usize::from(insn.dst)).copied().unwrap_or_default();
    match insn.op() {
        BPF_END | BPF_NEG => check_unary(env, insn)?,
        BPF_MOV => check_mov(env, insn)?,
        op if op > BPF_END => reject!(EINVAL, InsnFault::AluOpcode { op }),
        _ => check_binary(env, insn)?,
    }
    let mut reg = env.reg(insn.dst);
    if reg.val.violated_rule().is_some() {
        env.sane_bounds(&mut reg, "alu")?;
        env.set_reg(insn.dst, reg);
    }
    remember_moved_pointer(env, insn, before);
    Ok(())
}

fn check_unary(env: &mut Env<'_>, insn: Insn) -> Check {
    env.check_reg_arg(insn.dst, Operand::Src)?;
    if env.is_pointer_value(insn.dst) {
        reject!(EACCES, InsnFault::PointerArith { regno: Regno(insn.dst) });
    }
    let rules = env.facts.rules();
    let known = if insn.op() == BPF_NEG { rules.negations_known } else { rules.swaps_known };
    if !env.reg(insn.dst).is_scalar() || !known {
        return env.check_reg_arg(insn.dst, Operand::Dst);
    }
    env.check_reg_arg(insn.dst, Operand::DstNoMark)?;
    let mut dst = env.reg_mut(insn.dst);
    if insn.op() == BPF_NEG {
        scalar_rules::neg(rules, insn.class() == BPF_ALU64, &mut dst.val);
        dst.extra = Extra::None;
    } else {
        let swaps = insn.class() == BPF_ALU64 || insn.code & BPF_X == BPF_TO_BE;
        if !swaps && insn.imm == 64 {
            // The value is unchanged, so dst stays linked.
            return Ok(());
        }
        let order = if swaps { ByteOrder::Swap } else { ByteOrder::Keep };
        scalar_rules::byte_order(rules, order, insn.imm as u32, &mut dst.val);
    }
    *dst = dst.without_id(rules);
    Ok(())
}

fn check_mov(env: &mut Env<'_>, insn: Insn) -> Check {
    if !insn.is_src_reg() {
        env.check_reg_arg(insn.dst, Operand::DstNoMark)?;
        let value = if insn.class() == BPF_ALU64 {
            i64::from(insn.imm) as u64
        } else {
            u64::from(insn.imm as u32)
        };
        env.set_reg(insn.dst, Reg::constant(value));
        return Ok(());
    }
    if insn.off == BPF_ADDR_SPACE_CAST && !env.facts.has_arena() {
        reject!(EINVAL, InsnFault::CastWithoutArena);
    }
    env.check_reg_arg(insn.src, Operand::Src)?;
    env.check_reg_arg(insn.dst, Operand::DstNoMark)?;
    if insn.class() == BPF_ALU64 { mov64(env, insn) } else { mov32(env, insn) }
}

fn mov64(env: &mut Env<'_>, insn: Insn) -> Check {
    let mut src = env.reg(insn.src);
    if insn.imm != 0 {
        let mut dst = Reg::unknown();
        if insn.imm == 1 {
            dst.ty = RegType::of(Base::Arena);
        }
        env.set_reg(insn.dst, dst);
    } else if insn.off == 0 {
        assign_scalar_id(&mut env.store, &mut src);
        env.set_reg(insn.src, src);
        env.set_reg(insn.dst, src);
    } else if env.is_pointer_value(insn.src) {
        reject!(EACCES, InsnFault::SignExtends { regno: Regno(insn.src) });
    } else if src.is_scalar() {
        copy_extended(env, insn, src.val.umax < 1 << (insn.off - 1));
        let rules = env.facts.rules();
        scalar_rules::sign_extend(rules, &mut env.reg_mut(insn.dst).val, insn.off as u32 >> 3);
    } else {
        env.walk.set_name(insn.dst, PackedReg::UNKNOWN);
    }
    Ok(())
}

fn mov32(env: &mut Env<'_>, insn: Insn) -> Check {
    let src = env.reg(insn.src);
    if env.is_pointer_value(insn.src) {
        reject!(EACCES, InsnFault::PartialCopy { regno: Regno(insn.src) });
    }
    if !src.is_scalar() {
        env.walk.set_name(insn.dst, PackedReg::UNKNOWN);
    } else if insn.off == 0 {
        let unchanged = env.facts.rules().mov32_links && src.val.umax <= u64::from(u32::MAX);
        copy_extended(env, insn, unchanged);
    } else {
        copy_extended(env, insn, src.val.umax < 1 << (insn.off - 1));
        let (rules, size) = (env.facts.rules(), insn.off as u32 >> 3);
        scalar_rules::sign_extend_half(rules, &mut env.reg_mut(insn.dst).val, size);
    }
    let rules = env.facts.rules();
    let mut dst = env.reg_mut(insn.dst);
    scalar_rules::zero_extend(rules, &mut dst.val);
    Ok(())
}

/// Copies src to dst; the copies are linked only if the extension does not change the value.
fn copy_extended(env: &mut Env<'_>, insn: Insn, unchanged: bool) {
    let mut src = env.reg(insn.src);
    if unchanged {
        assign_scalar_id(&mut env.store, &mut src);
        env.set_reg(insn.src, src);
    }
    env.set_reg(insn.dst, if unchanged { src } else { src.without_id(env.facts.rules()) });
}

fn check_binary(env: &mut Env<'_>, insn: Insn) -> Check {
    if insn.is_src_reg() {
        env.check_reg_arg(insn.src, Operand::Src)?;
    }
    env.check_reg_arg(insn.dst, Operand::Src)?;
    if divides_by_zero(insn) {
        reject!(EINVAL, InsnFault::DivByZero);
    }
    if shifts_too_far(insn) {
        reject!(EINVAL, InsnFault::Shift { imm: insn.imm });
    }
    env.check_reg_arg(insn.dst, Operand::DstNoMark)?;
    if env.learned.arena_ops.is_none() || insn.class() != BPF_ALU64 {
        return adjust_reg(env, insn);
    }
    adjust_alike(env, insn)
}

/// The same, if all paths must use an arena pointer or none.
#[cold]
fn adjust_alike(env: &mut Env<'_>, insn: Insn) -> Check {
    let is_arena = |env: &Env<'_>, regno| env.reg(regno).ty.base == Base::Arena;
    let with = is_arena(env, insn.dst) || insn.is_src_reg() && is_arena(env, insn.src);
    adjust_reg(env, insn)?;
    let ops = env.learned.arena_ops.get_or_insert_default();
    if *ops.entry(env.walk.insn_idx).or_insert(with) != with {
        let text = "same insn cannot be used with and without arena pointer";
        reject!(EINVAL, InsnFault::MixedArena { text: text.into() });
    }
    Ok(())
}

/// An operation whose operands are scalars, pointers, or one of each.
fn adjust_reg(env: &mut Env<'_>, insn: Insn) -> Check {
    let dst = env.reg(insn.dst);
    if dst.ty.base == Base::Arena {
        // Any value may be an arena address, so nothing is tracked.
        return Ok(());
    }
    let src = if insn.is_src_reg() {
        env.reg(insn.src)
    } else {
        Reg::constant(i64::from(insn.imm) as u64)
    };
    if src.ty.base == Base::Arena && env.facts.rules().numbers_plus_arena {
        // Any operation with an arena pointer yields an arena pointer.
        env.set_reg(insn.dst, Reg { ty: src.ty, ..Reg::unknown() });
        return Ok(());
    }
    match (dst.is_scalar(), src.is_scalar()) {
        (false, false) => {
            if insn.op() == BPF_SUB && env.facts.allow_ptr_leaks {
                env.walk.set_name(insn.dst, PackedReg::UNKNOWN);
                return Ok(());
            }
            let op = BPF_ALU_STRING[(insn.op() >> 4) as usize];
            reject!(EACCES, InsnFault::TwoPointers { regno: Regno(insn.dst), op });
        }
        (true, false) => {
            env.mark_chain_precision(insn.dst)?;
            ptr_arith::adjust_ptr(env, insn, &src, &dst)
        }
        (false, true) => {
            if insn.is_src_reg() {
                env.mark_chain_precision(insn.src)?;
            }
            ptr_arith::adjust_ptr(env, insn, &dst, &src)
        }
        (true, true) => adjust_scalar(env, insn, &src),
    }
}

fn adjust_scalar(env: &mut Env<'_>, insn: Insn, src: &Reg) -> Check {
    let wide = insn.class() == BPF_ALU64;
    let Some(op) = AluOp::from_code(insn.op()) else {
        reject!(EINVAL, InsnFault::AluOpcode { op: insn.op() });
    };
    if matches!(insn.op(), BPF_ADD | BPF_SUB) {
        ptr_mask::is_for_numbers(env, insn)?;
    }
    if env.facts.rules().masks_are_forked {
        fork_sign_mask(env, insn, op, src)?;
    }
    let linked = linked_constant(env, insn, src);
    let made_anew = is_made_anew(op, &env.reg(insn.dst), src);
    let rules = env.facts.rules();
    let leaves_constant = rules.dropped_links_leave_constants
        && linked.is_none()
        && !made_anew
        && !might_link(env, insn, src);
    let computes = scalar_rules::computes(rules, op, &src.val, wide);
    let mut dst = env.reg_mut(insn.dst);
    if made_anew {
        dst.extra = Extra::None;
    }
    let divided = scalar_rules::divide(rules, insn, &mut dst.val, &src.val);
    let computes = divided != Some(false) && computes;
    if divided != Some(true)
        && (!computes || !scalar_rules::alu(rules, op, wide, &mut dst.val, &src.val))
    {
        *dst = Reg::unknown();
        return Ok(());
    }
    match linked {
        Some(off) => {
            dst.id |= if wide { BPF_ADD_CONST64 } else { BPF_ADD_CONST32 };
            dst.off = off;
        }
        None if leaves_constant => dst.id = 0,
        None => *dst = dst.unlinked(),
    }
    Ok(())
}

/// Whether dst is a linked scalar to which a constant is added: if the sum is not linked, the
/// constant of an earlier one is dropped, too.
fn might_link(env: &Env<'_>, insn: Insn, src: &Reg) -> bool {
    let wide = insn.class() == BPF_ALU64;
    let known = if wide { src.is_const() } else { src.val.is_subreg_const() };
    let same_reg = insn.is_src_reg() && insn.src == insn.dst;
    let adds = match env.facts.rules().any_sums_linked {
        true => matches!(insn.op(), BPF_ADD | BPF_SUB) && !same_reg,
        false => insn.op() == BPF_ADD && wide,
    };
    adds && known && env.facts.bpf_capable && env.reg(insn.dst).id != 0
}

/// The constant difference between the result and the registers linked with dst; `None` if dst does
/// not stay linked.
fn linked_constant(env: &mut Env<'_>, insn: Insn, src: &Reg) -> Option<i32> {
    let dst = env.reg(insn.dst);
    let same_reg = insn.is_src_reg() && insn.src == insn.dst;
    let may = env.facts.bpf_capable && env.facts.rules().sums_are_linked;
    if same_reg
        && env.facts.rules().self_sums_linked
        && may
        && dst.id != 0
        && dst.id & BPF_ADD_CONST == 0
    {
        // The kernel reads the constant after dst has been doubled.
        let twice = insn.op() == BPF_ADD && insn.class() == BPF_ALU64 && dst.val.is_const();
        let sum = dst.val.var_off.value.wrapping_mul(2) as i64;
        return i32::try_from(sum).ok().filter(|_| twice);
    }
    if !may || same_reg || dst.id == 0 || dst.id & BPF_ADD_CONST != 0 {
        return None;
    }
    linked_sum(env.facts.rules(), insn, &dst, src)
}

/// A mask computed from a sign bit: the current path continues with all ones, a new branch with
/// zero.
fn fork_sign_mask(env: &mut Env<'_>, insn: Insn, op: AluOp, src: &Reg) -> Check {
    let dst = env.reg(insn.dst);
    let Some((ones, zero)) = skep_domain::fork_sign_mask(op, &dst.val, &src.val) else {
        return Ok(());
    };
    env.set_reg(insn.dst, Reg { val: zero, ..dst });
    env.push_stack(env.walk.insn_idx, env.walk.insn_idx, false)?;
    env.set_reg(insn.dst, Reg { val: ones, ..dst });
    Ok(())
}

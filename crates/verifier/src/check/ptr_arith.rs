//! Pointer arithmetic: which pointers may be moved by what, and where they then point.
//!
//! Kernel: `adjust_ptr_min_max_vals` (6.18). `ptr_mask` has what unprivileged programs need
//! besides.

use crate::check::alu_rules::BPF_ALU_STRING;
use crate::check::ptr_mask::{self, Move};
use crate::env::{Env, Facts, Store};
use crate::kernel_hole::HoleKind;
use crate::rejection::{Check, InsnFault, Regno, reject, unsupported};
use crate::state::arena::PackedReg;
use crate::state::reg::{Extra, Reg};
use crate::state::reg_type::{Base, RegType, TypeFlag};
use skep_domain::{AluOp, Scalar};
use skep_insn::Insn;
use skep_insn::code::*;
use skep_uapi::Behaviours;
use skep_uapi::limits::BPF_MAX_VAR_OFF;

/// `dst = ptr op off`; one of the two operands is in `dst`.
pub(crate) fn adjust_ptr(env: &mut Env<'_>, insn: Insn, ptr: &Reg, off: &Reg) -> Check {
    let regno = insn.dst;
    let o = off.val;
    let known = o.is_const();
    if (known && (o.smin != o.smax || o.umin != o.umax)) || o.smin > o.smax || o.umin > o.umax {
        if !env.facts.rules().bounds_repaired {
            return unsupported("bounds that contradict one another, on this kernel");
        }
        env.walk.set_name(regno, PackedReg::UNKNOWN);
        return Ok(());
    }
    if insn.class() != BPF_ALU64 {
        if insn.op() == BPF_SUB && env.facts.allow_ptr_leaks {
            env.walk.set_name(regno, PackedReg::UNKNOWN);
            return Ok(());
        }
        reject!(EACCES, InsnFault::Arith32 { regno: Regno(regno) });
    }
    check_not_null(env, regno, ptr)?;
    if ptr.ty.base == Base::Mem && ptr.ty.has(TypeFlag::PTR_UNTRUSTED) {
        // The kernel leaves the register unchanged, even if it was a scalar.
        if env.facts.rules().untrusted_sums_tracked {
            env.set_reg(regno, *ptr);
        } else if env.reg(regno).is_scalar() && env.goes_by(HoleKind::UntrustedSum) {
            env.walk.set_name(regno, PackedReg::UNKNOWN);
        }
        return Ok(());
    }
    check_base_allows(env.facts.rules(), insn, ptr, off)?;
    // Its constant is the distance from a linked scalar, which is checked where pointers have one.
    let distance = if env.facts.rules().offsets_are_bounds { 0 } else { off.off };
    check_sane_offset(&off.val, distance, ptr.ty)?;
    check_sane_pointer(env.facts, ptr, ptr.ty)?;

    let ptr_in_dst = insn.is_src_reg() && env.reg(insn.dst).ty == ptr.ty || !insn.is_src_reg();
    let ptr_in_dst = ptr_in_dst && !env.reg(insn.dst).is_scalar();
    let ptr = &if ptr_in_dst { *ptr } else { taken_over(env, insn, ptr) };
    let mut dst = *ptr;
    dst.val.mark_unbounded32();
    let the_move = Move { insn, ptr, by: off, ptr_in_dst };
    let moves = matches!(insn.op(), BPF_ADD | BPF_SUB);
    let mask = if moves { the_move.begin(env)? } else { None };
    compute(env, &the_move, &mut dst)?;
    if env.facts.rules().moves_forget_end && dst.range() < 0 {
        dst.extra = Extra::Range(0);
    }
    check_sane_pointer(env.facts, &dst, ptr.ty)?;
    deduce(env.facts.rules(), &mut dst, known);
    env.set_reg(regno, dst);
    ptr_mask::result_must_be_inside(env, regno)?;
    mask.map_or(Ok(()), |mask| the_move.finish(env, &mask, &dst))
}

/// The attributes that `scalar += pointer` copies from the pointer. The kernel bugs handled here:
/// it keeps the frame and the reference id of the scalar, which has neither.
fn taken_over(env: &mut Env<'_>, insn: Insn, ptr: &Reg) -> Reg {
    let mut sum = *ptr;
    if env.facts.rules().sums_keep_origin {
        return sum;
    }
    if ptr.ty.is(Base::Stack) && ptr.frameno() != 0 && !env.goes_by(HoleKind::ForgottenFrame) {
        sum.extra = Extra::Frame(0);
    }
    if ptr.ref_obj_id != 0 && !env.goes_by(HoleKind::ForgottenReference) {
        sum.ref_obj_id = env.reg(insn.dst).ref_obj_id;
    }
    sum
}

fn check_base_allows(rules: &Behaviours, insn: Insn, ptr: &Reg, off: &Reg) -> Check {
    let known = off.val.is_const();
    let allowed = match ptr.ty.base {
        Base::Ctx
        | Base::MapValue
        | Base::MapKey
        | Base::Stack
        | Base::PacketMeta
        | Base::Packet
        | Base::TpBuffer
        | Base::BtfId
        | Base::Mem
        | Base::Buf
        | Base::Func
        | Base::ConstDynptr => true,
        Base::FlowKeys if known => true,
        Base::FlowKeys if !rules.flow_keys_moved_by_constants => true,
        Base::FlowKeys | Base::ConstMapPtr => known && off.val.smin == 0 && insn.op() == BPF_ADD,
        _ => false,
    };
    if !allowed {
        reject!(EACCES, InsnFault::ArithOnType { regno: Regno(insn.dst), ty: ptr.ty });
    }
    Ok(())
}

/// Kernel: `check_reg_sane_offset` (6.18).
fn check_sane_offset(offset: &Scalar, fixed: i32, ty: RegType) -> Check {
    let val = offset.var_off.value as i64;
    let off = i64::from(fixed);
    let smin = offset.smin;
    let out = |v: i64| v >= BPF_MAX_VAR_OFF || v <= -BPF_MAX_VAR_OFF;
    let known_out = offset.is_const() && out(val);
    if !known_out && !out(off) && !out(smin) {
        return Ok(());
    }
    if known_out {
        reject!(EINVAL, InsnFault::ArithConstant { ty, val });
    }
    if out(off) {
        reject!(EINVAL, InsnFault::ArithOffset { ty, off });
    }
    if smin == i64::MIN {
        reject!(EINVAL, InsnFault::ArithUnbounded { ty });
    }
    reject!(EINVAL, InsnFault::ArithValue { smin, ty });
}

/// The same for the pointer operand, whose bounds may include its constant offset.
fn check_sane_pointer(facts: &Facts<'_>, reg: &Reg, ty: RegType) -> Check {
    if !facts.rules().offsets_are_bounds {
        return check_sane_offset(&reg.val, reg.off, ty);
    }
    let off = reg.whole_offset().smin;
    if off >= BPF_MAX_VAR_OFF || off <= -BPF_MAX_VAR_OFF {
        reject!(EINVAL, InsnFault::ArithOffset { ty, off });
    }
    Ok(())
}

/// The new offset: constant if possible.
fn compute(env: &mut Env<'_>, Move { insn, ptr, by: off, .. }: &Move<'_>, dst: &mut Reg) -> Check {
    let known = off.val.is_const();
    let regno = insn.dst;
    let merged =
        env.facts.rules().offsets_are_bounds && !(known && ptr.val.const_value() == Some(0));
    match insn.op() {
        BPF_ADD if merged => move_whole(env, ptr, AluOp::Add, off, dst),
        BPF_ADD => {
            let sum = i64::from(ptr.off).wrapping_add(off.val.smin);
            if known && i32::try_from(sum).is_ok() {
                set_fixed(dst, ptr, sum as i32);
            } else {
                add_variable(&mut env.store, ptr, off, dst);
            }
        }
        BPF_SUB => {
            if insn.is_src_reg() && env.reg(regno).is_scalar() {
                reject!(EACCES, InsnFault::SubFromScalar { regno: Regno(regno) });
            }
            if ptr.ty.is(Base::Stack) {
                reject!(EACCES, InsnFault::SubFromStack { regno: Regno(regno) });
            }
            if merged {
                move_whole(env, ptr, AluOp::Sub, off, dst);
                return Ok(());
            }
            let diff = i64::from(ptr.off).wrapping_sub(off.val.smin);
            if known && i32::try_from(diff).is_ok() {
                set_fixed(dst, ptr, diff as i32);
            } else {
                sub_variable(&mut env.store, ptr, off, dst);
            }
        }
        BPF_AND | BPF_OR | BPF_XOR => {
            let op = BPF_ALU_STRING[(insn.op() >> 4) as usize];
            reject!(EACCES, InsnFault::Bitwise { regno: Regno(regno), op });
        }
        _ => {
            let op = BPF_ALU_STRING[(insn.op() >> 4) as usize];
            reject!(EACCES, InsnFault::ArithOp { regno: Regno(regno), op });
        }
    }
    Ok(())
}

/// The new offset on kernels that keep one: a constant has a part of its own here only as long as
/// all of the offset is known.
#[cold]
fn move_whole(env: &mut Env<'_>, ptr: &Reg, op: AluOp, by: &Reg, dst: &mut Reg) {
    let known = by.val.is_const();
    let mut from = *ptr;
    (from.val, from.off) = (ptr.whole_offset(), 0);
    match op {
        AluOp::Sub => sub_variable(&mut env.store, &from, by, dst),
        _ => add_variable(&mut env.store, &from, by, dst),
    }
    if known {
        (dst.id, dst.extra) = (ptr.id, ptr.extra);
    }
    if env.facts.rules().ranges_wrap {
        dst.val = from.val;
        skep_domain::move_wrapped(op, &mut dst.val, &by.val);
    }
}

/// Makes the views of the new offset consistent.
#[inline]
fn deduce(rules: &Behaviours, dst: &mut Reg, known: bool) {
    if rules.offsets_are_bounds {
        return deduce_whole(rules, dst, known);
    }
    super::scalar_rules::sync(rules, &mut dst.val);
}

/// Not on some kernels if the offset is compared with that of other pointers into the packet.
#[cold]
fn deduce_whole(rules: &Behaviours, dst: &mut Reg, known: bool) {
    let related = dst.ty.is_packet() && (known || dst.range() != 0);
    if rules.packet_moves_deduced || !related {
        super::scalar_rules::sync(rules, &mut dst.val);
    }
    if let Some(offset) = dst.val.const_value()
        && let Ok(offset) = i32::try_from(offset as i64)
    {
        dst.off = dst.off.wrapping_add(offset);
        dst.val = Scalar::constant(0);
    }
}

fn set_fixed(dst: &mut Reg, ptr: &Reg, off: i32) {
    (dst.val.smin, dst.val.smax) = (ptr.val.smin, ptr.val.smax);
    (dst.val.umin, dst.val.umax) = (ptr.val.umin, ptr.val.umax);
    dst.val.var_off = ptr.val.var_off;
    dst.off = off;
    dst.extra = ptr.extra;
}

fn add_variable(store: &mut Store, ptr: &Reg, off: &Reg, dst: &mut Reg) {
    let (p, o) = (ptr.val, off.val);
    (dst.val.smin, dst.val.smax) = match (p.smin.checked_add(o.smin), p.smax.checked_add(o.smax)) {
        (Some(min), Some(max)) => (min, max),
        _ => (i64::MIN, i64::MAX),
    };
    (dst.val.umin, dst.val.umax) = match (p.umin.checked_add(o.umin), p.umax.checked_add(o.umax)) {
        (Some(min), Some(max)) => (min, max),
        _ => (0, u64::MAX),
    };
    dst.val.var_off = p.var_off.add(o.var_off);
    dst.off = ptr.off;
    dst.extra = ptr.extra;
    if ptr.ty.is_packet() {
        dst.id = store.new_id();
        dst.extra = Extra::Range(0);
    }
}

fn sub_variable(store: &mut Store, ptr: &Reg, off: &Reg, dst: &mut Reg) {
    let (p, o) = (ptr.val, off.val);
    (dst.val.smin, dst.val.smax) = match (p.smin.checked_sub(o.smax), p.smax.checked_sub(o.smin)) {
        (Some(min), Some(max)) => (min, max),
        _ => (i64::MIN, i64::MAX),
    };
    (dst.val.umin, dst.val.umax) = if p.umin < o.umax {
        (0, u64::MAX)
    } else {
        (p.umin - o.umax, p.umax.wrapping_sub(o.umin))
    };
    dst.val.var_off = p.var_off.sub(o.var_off);
    dst.off = ptr.off;
    dst.extra = ptr.extra;
    if ptr.ty.is_packet() {
        dst.id = store.new_id();
        if o.smin < 0 {
            dst.extra = Extra::Range(0);
        }
    }
}

/// Refuses arithmetic on a pointer that may be NULL.
fn check_not_null(env: &Env<'_>, regno: u8, ptr: &Reg) -> Check {
    if env.facts.is_unchecked_argument(ptr) {
        return Ok(());
    }
    if ptr.ty.may_be_null() {
        reject!(EACCES, InsnFault::ArithMaybeNull { regno: Regno(regno), ty: ptr.ty });
    }
    Ok(())
}

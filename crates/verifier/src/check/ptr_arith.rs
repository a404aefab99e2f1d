//! Pointer arithmetic, and its masking against speculative execution.
//!
//! Kernel: `adjust_ptr_min_max_vals`, `sanitize_ptr_alu`, `sanitize_val_alu`,
//! `sanitize_check_bounds` (6.18).

use crate::check::alu_rules::BPF_ALU_STRING;
use crate::env::{Env, Facts, Found, Store};
use crate::insn_aux::InsnFlags;
use crate::kernel_hole::HoleKind;
use crate::rejection::{Check, InsnFault, Regno, Stop, reject, unsupported};
use crate::state::arena::PackedReg;
use crate::state::reg::{Extra, Reg};
use crate::state::reg_type::{Base, RegType, TypeFlag};
use skep_insn::Insn;
use skep_insn::code::*;
use skep_uapi::limits::{BPF_MAX_VAR_OFF, MAX_BPF_STACK_BYTES};

const BPF_ALU_SANITIZE_SRC: u32 = 1;
const BPF_ALU_SANITIZE_DST: u32 = 2;
const BPF_ALU_NEG_VALUE: u32 = 4;
const BPF_ALU_NON_POINTER: u32 = 8;
const BPF_ALU_IMMEDIATE: u32 = 16;

/// Why an operation cannot be sanitized.
enum Reason {
    Bounds,
    Type,
    Paths,
    Limit,
}

/// What the first sanitizing step found, for the second.
#[derive(Default)]
struct Sanitize {
    alu_state: u32,
    alu_limit: u32,
    mask_to_left: bool,
}

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
    if ptr.ty.may_be_null() {
        reject!(EACCES, InsnFault::ArithMaybeNull { regno: Regno(regno), ty: ptr.ty });
    }
    if ptr.ty.base == Base::Mem && ptr.ty.has(TypeFlag::PTR_UNTRUSTED) {
        // The kernel leaves the register unchanged, even if it was a scalar.
        if env.reg(regno).is_scalar() && env.goes_by(HoleKind::UntrustedSum) {
            env.walk.set_name(regno, PackedReg::UNKNOWN);
        }
        return Ok(());
    }
    if env.learned.large_sums && !known {
        return unsupported("a number added to a pointer after a sum above 2^29, on this kernel");
    }
    check_base_allows(insn, ptr, off)?;
    check_sane_offset(off, ptr.ty)?;
    check_sane_pointer(env.facts, ptr, ptr.ty)?;

    let ptr_is_dst = insn.is_src_reg() && env.reg(insn.dst).ty == ptr.ty || !insn.is_src_reg();
    let ptr_is_dst = ptr_is_dst && !env.reg(insn.dst).is_scalar();
    let ptr = &if ptr_is_dst { *ptr } else { taken_over(env, insn, ptr) };
    let mut dst = *ptr;
    dst.val.mark_unbounded32();
    let mut info = Sanitize::default();
    let is_masked = matches!(insn.op(), BPF_ADD | BPF_SUB);
    let is_masked = is_masked && !can_skip_sanitation(env, insn);
    if is_masked {
        let result = sanitize_ptr_alu(env, insn, (ptr, off), ptr_is_dst, &mut info)?;
        sanitize_err(insn, ptr_is_dst, result)?;
    }
    compute(env, insn, (ptr, off), &mut dst)?;
    check_sane_pointer(env.facts, &dst, ptr.ty)?;
    super::scalar_rules::sync(env.facts.rules(), &mut dst.val);
    env.set_reg(regno, dst);
    sanitize_check_bounds(env, regno)?;
    if is_masked {
        let result = commit_window(env, &dst, off, &info);
        sanitize_err(insn, ptr_is_dst, result)?;
    }
    Ok(())
}

/// The attributes that `scalar += pointer` copies from the pointer. The kernel bugs handled here:
/// it keeps the frame and the reference id of the scalar, which has neither.
fn taken_over(env: &mut Env<'_>, insn: Insn, ptr: &Reg) -> Reg {
    let mut sum = *ptr;
    if ptr.ty.is(Base::Stack) && ptr.frameno() != 0 && !env.goes_by(HoleKind::ForgottenFrame) {
        sum.extra = Extra::Frame(0);
    }
    if ptr.ref_obj_id != 0 && !env.goes_by(HoleKind::ForgottenReference) {
        sum.ref_obj_id = env.reg(insn.dst).ref_obj_id;
    }
    sum
}

fn check_base_allows(insn: Insn, ptr: &Reg, off: &Reg) -> Check {
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
        Base::FlowKeys | Base::ConstMapPtr => known && off.val.smin == 0 && insn.op() == BPF_ADD,
        _ => false,
    };
    if !allowed {
        reject!(EACCES, InsnFault::ArithOnType { regno: Regno(insn.dst), ty: ptr.ty });
    }
    Ok(())
}

/// Kernel: `check_reg_sane_offset` (6.18).
fn check_sane_offset(reg: &Reg, ty: RegType) -> Check {
    let val = reg.val.var_off.value as i64;
    let off = i64::from(reg.off);
    let smin = reg.val.smin;
    let out = |v: i64| v >= BPF_MAX_VAR_OFF || v <= -BPF_MAX_VAR_OFF;
    let known_out = reg.val.is_const() && out(val);
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
        return check_sane_offset(reg, ty);
    }
    let fixed = i64::from(reg.off);
    let (least, largest) = (reg.val.smin.checked_add(fixed), reg.val.smax.checked_add(fixed));
    // On overflow, the offset is unknown.
    let off = least.filter(|_| largest.is_some()).unwrap_or(i64::MIN);
    if off >= BPF_MAX_VAR_OFF || off <= -BPF_MAX_VAR_OFF {
        reject!(EINVAL, InsnFault::ArithOffset { ty, off });
    }
    Ok(())
}

/// The new offset: constant if possible.
fn compute(env: &mut Env<'_>, insn: Insn, (ptr, off): (&Reg, &Reg), dst: &mut Reg) -> Check {
    let known = off.val.is_const();
    let regno = insn.dst;
    match insn.op() {
        BPF_ADD => {
            let sum = i64::from(ptr.off).wrapping_add(off.val.smin);
            if known && i32::try_from(sum).is_ok() {
                set_fixed(dst, ptr, sum as i32);
            } else {
                add_variable(&mut env.store, (ptr, off), dst);
            }
        }
        BPF_SUB => {
            if insn.is_src_reg() && env.reg(regno).is_scalar() {
                reject!(EACCES, InsnFault::SubFromScalar { regno: Regno(regno) });
            }
            if ptr.ty.is(Base::Stack) {
                reject!(EACCES, InsnFault::SubFromStack { regno: Regno(regno) });
            }
            let diff = i64::from(ptr.off).wrapping_sub(off.val.smin);
            if known && i32::try_from(diff).is_ok() {
                set_fixed(dst, ptr, diff as i32);
            } else {
                sub_variable(&mut env.store, (ptr, off), dst);
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

fn set_fixed(dst: &mut Reg, ptr: &Reg, off: i32) {
    (dst.val.smin, dst.val.smax) = (ptr.val.smin, ptr.val.smax);
    (dst.val.umin, dst.val.umax) = (ptr.val.umin, ptr.val.umax);
    dst.val.var_off = ptr.val.var_off;
    dst.off = off;
    dst.extra = ptr.extra;
}

fn add_variable(store: &mut Store, (ptr, off): (&Reg, &Reg), dst: &mut Reg) {
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

fn sub_variable(store: &mut Store, (ptr, off): (&Reg, &Reg), dst: &mut Reg) {
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

/// Whether sanitizing is unnecessary: for privileged programs, for constant operands, and for insns
/// preceded by a barrier because a speculative path through them failed.
///
/// Kernel: `can_skip_alu_sanitation` (6.18).
fn can_skip_sanitation(env: &Env<'_>, insn: Insn) -> bool {
    env.facts.bypass_spec_v1 || !insn.is_src_reg() || env.aux().has(InsnFlags::NOSPEC)
}

/// Marks the insn as needing no sanitizing; refuses if another path does need it.
pub(crate) fn sanitize_val_alu(env: &mut Env<'_>, insn: Insn) -> Check {
    if can_skip_sanitation(env, insn) {
        return Ok(());
    }
    let result = update_alu_state(env, BPF_ALU_NON_POINTER, 0);
    sanitize_err(insn, true, result)
}

fn update_alu_state(env: &mut Env<'_>, alu_state: u32, alu_limit: u32) -> Result<(), Reason> {
    let aux = env.aux_mut();
    if let Found::Alu { state, limit } = aux.found
        && state != 0
        && (state, limit) != (alu_state, alu_limit)
    {
        return Err(Reason::Paths);
    }
    aux.found = Found::Alu { state: alu_state, limit: alu_limit };
    Ok(())
}

/// First step: computes the limit, and walks the path with the masked value speculatively.
fn sanitize_ptr_alu(
    env: &mut Env<'_>,
    insn: Insn,
    (ptr, off): (&Reg, &Reg),
    ptr_is_dst: bool,
    info: &mut Sanitize,
) -> Check<Result<(), Reason>> {
    let off_is_imm = off.val.is_const();
    let off_is_neg = off.val.smin < 0;
    if !env.walk.cur.meta.speculative {
        if !off_is_imm && off_is_neg != (off.val.smax < 0) {
            return Ok(Err(Reason::Bounds));
        }
        info.mask_to_left = (insn.op() == BPF_ADD) == off_is_neg;
        match ptr_limit(env.facts, ptr, info.mask_to_left) {
            Ok(limit) => info.alu_limit = limit,
            Err(reason) => return Ok(Err(reason)),
        }
        info.alu_state = if off_is_neg { BPF_ALU_NEG_VALUE } else { 0 }
            | if off_is_imm { BPF_ALU_IMMEDIATE } else { 0 }
            | if ptr_is_dst { BPF_ALU_SANITIZE_SRC } else { BPF_ALU_SANITIZE_DST };
        if !off_is_imm {
            env.learned.explore_alu_limits = true;
        }
    }
    if off_is_imm {
        return Ok(Ok(()));
    }
    let dst = env.reg(insn.dst);
    let mut masked = *ptr;
    if ptr_is_dst {
        // At this point the kernel has dropped the pointer's 32-bit bounds; the speculative path
        // sees that.
        masked.val.mark_unbounded32();
    }
    env.set_reg(insn.dst, masked);
    env.push_stack(env.walk.insn_idx + 1, env.walk.insn_idx, true)?;
    env.set_reg(insn.dst, dst);
    Ok(Ok(()))
}

/// Second step: narrows the limit by the distance that the pointer moved.
fn commit_window(env: &mut Env<'_>, dst: &Reg, off: &Reg, info: &Sanitize) -> Result<(), Reason> {
    let _ = off;
    if env.walk.cur.meta.speculative {
        return Ok(());
    }
    let limit = ptr_limit(env.facts, dst, info.mask_to_left)?;
    update_alu_state(env, info.alu_state, info.alu_limit.abs_diff(limit))
}

/// Kernel: `retrieve_ptr_limit` (6.18).
fn ptr_limit(facts: &Facts<'_>, ptr: &Reg, mask_to_left: bool) -> Result<u32, Reason> {
    let off = i64::from(ptr.off);
    let (max, limit) = match ptr.ty.base {
        Base::Stack => {
            (MAX_BPF_STACK_BYTES + u32::from(mask_to_left), -(ptr.val.var_off.value as i64 + off))
        }
        Base::MapValue => {
            let size = ptr.map().map_or(0, |m| facts.maps[m as usize].def.value_size);
            let at = if mask_to_left { ptr.val.smin } else { ptr.val.umax as i64 };
            (size, at.wrapping_add(off))
        }
        _ => return Err(Reason::Type),
    };
    let limit = limit as u32;
    if limit >= max { Err(Reason::Limit) } else { Ok(limit) }
}

fn sanitize_err(insn: Insn, ptr_is_dst: bool, result: Result<(), Reason>) -> Check {
    let Err(reason) = result else { return Ok(()) };
    let err = "pointer arithmetic with it prohibited for !root";
    let op = if insn.op() == BPF_ADD { "add" } else { "sub" };
    let (dst, src) = (insn.dst, insn.src);
    let (ptr_reg, off_reg) = if ptr_is_dst { (dst, src) } else { (src, dst) };
    match reason {
        Reason::Bounds => {
            reject!(EACCES, InsnFault::MixedSigns { off_reg: Regno(off_reg), err })
        }
        Reason::Type => {
            reject!(EACCES, InsnFault::UnsanitizableType { ptr_reg: Regno(ptr_reg), err })
        }
        Reason::Paths => {
            reject!(EACCES, InsnFault::PathsDiffer { dst: Regno(dst), op, err })
        }
        Reason::Limit => {
            reject!(EACCES, InsnFault::BeyondLimit { dst: Regno(dst), op, err })
        }
    }
}

/// For unprivileged programs, the result must be in bounds already.
fn sanitize_check_bounds(env: &mut Env<'_>, regno: u8) -> Check {
    if env.facts.bypass_spec_v1 {
        return Ok(());
    }
    let reg = env.reg(regno);
    if reg.ty.is(Base::Stack) {
        if !reg.val.is_const() {
            let var_off = reg.val.var_off;
            let (off, regno) = (reg.off.wrapping_add(var_off.value as i32), Regno(regno));
            reject!(EACCES, InsnFault::VariableStack { regno, var_off, off });
        }
        let off = i64::from(reg.off) + reg.val.var_off.value as i64;
        if off >= 0 || off < -i64::from(MAX_BPF_STACK_BYTES) {
            reject!(EACCES, InsnFault::StackOutOfRange { regno: Regno(regno), off });
        }
    } else if reg.ty.is(Base::MapValue)
        && let Err(stop) = super::mem::check_map_access(env, regno, reg.off, 1)
    {
        return match stop {
            Stop::Reject(refused) => {
                env.trace.refused(&refused);
                reject!(EACCES, InsnFault::MapValueOutOfRange { regno: Regno(regno) })
            }
            other => Err(other),
        };
    }
    Ok(())
}

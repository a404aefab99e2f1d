//! Loads and stores: what the insn says, then what the pointer allows.
//!
//! [`check_mem_access`] is the only entry point for memory accesses: of insns, and of helpers that
//! are simulated byte by byte.
//!
//! Kernel: `check_load_mem`, `check_store_reg`, `check_mem_access`, `save_aux_ptr_type` (6.18).

pub(crate) mod access;
pub(crate) mod align;
pub(crate) mod btf_ctx;
pub(crate) mod btf_ptr;
pub(crate) mod btf_store;
pub(crate) mod btf_trust;
pub(crate) mod ctx;
pub(crate) mod kptr;
pub(crate) mod map_value;
pub(crate) mod packet;
pub(crate) mod region;
pub(crate) mod sock;
pub(crate) mod stack;
pub(crate) mod stack_bounds;
pub(crate) mod stack_hooks;
pub(crate) mod stack_range;
pub(crate) mod stack_read;
pub(crate) mod stack_whole;
pub(crate) mod stack_write;

use super::reg_arg::Operand;
use super::scalar_rules;
use crate::check::fields::check_fields;
use crate::check::mem::access::{AccessType, MemAccess, mark_loaded_unknown};
use crate::env::{Env, Found};
use crate::rejection::{Check, MemFault, OtherRule, Regno, reject};
use crate::state::reg::Reg;
use crate::state::reg_type::{Base, RegType, TypeFlag};
use map_value::AccessSource;
use region::Span;
use skep_insn::code::*;

/// `dst = *(size *)(src + off)`.
pub(crate) fn check_load(env: &mut Env<'_>) -> Check {
    if stack_whole::fill(env, env.insn()) {
        return Ok(());
    }
    let is_ldsx = env.insn().mode() == BPF_MEMSX;
    let rules = LoadRules { strict: false, is_ldsx, allow_trust_mismatch: true, what: "ldx" };
    check_load_mem(env, rules).map(drop)
}

/// Rules for a load.
pub(crate) struct LoadRules {
    pub(crate) strict: bool,
    pub(crate) is_ldsx: bool,
    /// Paths may reach the insn with pointers of different trust.
    pub(crate) allow_trust_mismatch: bool,
    pub(crate) what: &'static str,
}

/// Returns the type of the pointer, which the load may have overwritten.
pub(crate) fn check_load_mem(env: &mut Env<'_>, rules: LoadRules) -> Check<RegType> {
    let insn = env.insn();
    env.check_reg_arg(insn.src, Operand::Src)?;
    env.check_reg_arg(insn.dst, Operand::DstNoMark)?;
    let src_type = env.reg(insn.src).ty;
    check_mem_access(
        env,
        MemAccess {
            regno: insn.src,
            off: i32::from(insn.off),
            size: insn.size_bytes() as i32,
            ty: AccessType::Read,
            value_regno: Some(insn.dst),
            strict_alignment_once: rules.strict,
            is_ldsx: rules.is_ldsx,
        },
    )?;
    save_aux_ptr_type(env, src_type, rules.allow_trust_mismatch)?;
    let mut dst = env.reg(insn.dst);
    if dst.val.violated_rule().is_some() {
        env.sane_bounds(&mut dst, rules.what)?;
        env.set_reg(insn.dst, dst);
    }
    if src_type.base != Base::Stack {
        env.walk.frame_mut().chains.make(insn.dst);
    }
    Ok(src_type)
}

/// `*(size *)(dst + off) = src`.
pub(crate) fn check_store_reg(env: &mut Env<'_>) -> Check {
    if stack_whole::spill(env, env.insn()) {
        return Ok(());
    }
    check_fields(env)?;
    check_store_reg_mem(env, false)
}

pub(crate) fn check_store_reg_mem(env: &mut Env<'_>, strict_alignment_once: bool) -> Check {
    let insn = env.insn();
    env.check_reg_arg(insn.src, Operand::Src)?;
    env.check_reg_arg(insn.dst, Operand::Src)?;
    let dst_type = env.reg(insn.dst).ty;
    check_mem_access(
        env,
        MemAccess {
            regno: insn.dst,
            off: i32::from(insn.off),
            size: insn.size_bytes() as i32,
            ty: AccessType::Write,
            value_regno: Some(insn.src),
            strict_alignment_once,
            is_ldsx: false,
        },
    )?;
    save_aux_ptr_type(env, dst_type, false)
}

/// `*(size *)(dst + off) = imm`.
pub(crate) fn check_store_imm(env: &mut Env<'_>) -> Check {
    let insn = env.insn();
    check_fields(env)?;
    env.check_reg_arg(insn.dst, Operand::Src)?;
    let dst_type = env.reg(insn.dst).ty;
    if dst_type.base == Base::Ctx && !env.facts.rules().constants_into_ctx {
        reject!(EACCES, OtherRule::ConstantIntoCtx { regno: Regno(insn.dst) });
    }
    check_mem_access(
        env,
        MemAccess {
            regno: insn.dst,
            off: i32::from(insn.off),
            size: insn.size_bytes() as i32,
            ty: AccessType::Write,
            value_regno: None,
            strict_alignment_once: false,
            is_ldsx: false,
        },
    )?;
    save_aux_ptr_type(env, dst_type, false)
}

/// Checks one access and sets the loaded register.
pub(crate) fn check_mem_access(env: &mut Env<'_>, at: MemAccess) -> Check {
    let reg = env.reg(at.regno);
    align::check_ptr_alignment(env.facts, &reg, at)?;
    let off = at.off.wrapping_add(reg.off);
    access_by_type(env, &reg, at, off)?;
    if let Some(value) = at.value_regno
        && at.ty == AccessType::Read
        && at.size < 8
        && env.reg(value).is_scalar()
    {
        let rules = env.facts.rules();
        let mut loaded = env.reg_mut(value);
        if at.is_ldsx {
            scalar_rules::sign_extend(rules, &mut loaded.val, at.size as u32);
            if !rules.signed_fills_linked {
                *loaded = loaded.unlinked();
            }
        } else {
            scalar_rules::truncate(rules, &mut loaded.val, at.size as u32);
        }
    }
    Ok(())
}

/// `off` includes the pointer's fixed offset.
fn access_by_type(env: &mut Env<'_>, reg: &Reg, at: MemAccess, off: i32) -> Check {
    let ty = reg.ty;
    let nullable = ty.may_be_null();
    match ty.base {
        Base::MapKey if ty.is(Base::MapKey) => map_value::access_key(env, reg, at, off),
        Base::MapValue if ty.is(Base::MapValue) => map_value::access_value(env, reg, at, off),
        Base::Mem => region::access_mem(env, reg, at, off),
        Base::Ctx if ty.is(Base::Ctx) => ctx::access_ctx(env, reg, at, off),
        Base::Stack if ty.is(Base::Stack) => stack::access_stack(env, reg, at, off),
        _ if ty.is_packet() => packet::access_packet(env, reg, at, off),
        Base::FlowKeys if ty.is(Base::FlowKeys) => packet::access_flow_keys(env, at, off),
        _ if ty.is_sk() => sock::access_sock(env, reg, at, off),
        Base::TpBuffer if ty.is(Base::TpBuffer) => packet::access_tp_buffer(env, reg, at, off),
        Base::BtfId if !nullable => btf_ptr::access_btf_ptr(env, reg, at, off),
        Base::BtfId if env.facts.is_unchecked_argument(reg) => {
            btf_ptr::access_btf_ptr(env, &env.facts.as_used(*reg), at, off)
        }
        Base::ConstMapPtr if ty.is(Base::ConstMapPtr) => btf_ptr::access_map_ptr(env, reg, at, off),
        Base::Buf if !nullable || env.facts.rules().null_buffers_accessed => {
            packet::access_buf(env, reg, at, off)
        }
        Base::Arena if ty.is(Base::Arena) => {
            mark_loaded_unknown(&mut env.walk, at);
            Ok(())
        }
        _ => reject!(EACCES, MemFault::NotMemory { regno: Regno(at.regno), ty }),
    }
}

/// Records the pointer type by which an insn is rewritten; it must be the same on every path.
pub(crate) fn save_aux_ptr_type(
    env: &mut Env<'_>,
    ty: RegType,
    allow_trust_mismatch: bool,
) -> Check {
    let Some(prev) = env.aux().ptr_type() else {
        env.aux_mut().found = Found::PtrType(ty);
        return Ok(());
    };
    let is_probed = |ty: RegType| ty.base == Base::Mem && ty.has(TypeFlag::PTR_UNTRUSTED);
    let apart = || is_probed(prev) != is_probed(ty) && env.facts.rules().probed_memory_apart;
    if prev == ty || (may_mix(prev) && may_mix(ty) && !apart()) {
        // Three of these types matter later for running the program: a map's fields, memory that
        // others can see, and memory that may not exist.
        let others_see = prev.is_own_memory() && !ty.is_own_memory();
        if ty.base == Base::ConstMapPtr {
            env.aux_mut().found = Found::PtrType(ty);
        } else if prev != ty && ty.has(TypeFlag::PTR_UNTRUSTED) {
            env.aux_mut().found = Found::MixedPtrType(prev);
        } else if others_see && env.aux().found == Found::PtrType(prev) {
            env.aux_mut().found = Found::PtrType(ty);
        }
        return Ok(());
    }
    let mixes = env.facts.rules().memory_and_objects_mix;
    let probed = |t: RegType| t.base == Base::BtfId || mixes && t.base == Base::Mem;
    if !allow_trust_mismatch || !probed(prev) || !probed(ty) {
        reject!(EINVAL, MemFault::MixedPointers);
    }
    let both_mem = prev.base == Base::Mem && ty.base == Base::Mem;
    let flags = (prev.flags | ty.flags) & (TypeFlag::PTR_UNTRUSTED | TypeFlag::MEM_RDONLY);
    let base = if both_mem { Base::Mem } else { Base::BtfId };
    env.aux_mut().found = Found::PtrType(RegType { base, flags });
    Ok(())
}

/// Whether accesses through such pointers need no rewrite.
fn may_mix(ty: RegType) -> bool {
    !matches!(
        ty.base,
        Base::Ctx
            | Base::Socket
            | Base::SockCommon
            | Base::TcpSock
            | Base::XdpSock
            | Base::BtfId
            | Base::Arena
    )
}

/// Checks that `size` bytes at `off` of the map value in R`regno` are within it, with the rules for
/// helpers.
pub(crate) fn check_map_access(env: &Env<'_>, regno: u8, off: i32, size: u32) -> Check {
    let span = Span { regno, off, size: size as i32, zero_size_allowed: false };
    map_value::check_map_access(env, span, AccessSource::Helper)
}

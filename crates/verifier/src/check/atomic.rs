//! Atomic insns: read-modify-write, load-acquire, store-release.
//!
//! Kernel: `check_atomic`, `check_atomic_rmw`, `check_atomic_load`, `check_atomic_store` (6.18).

use super::mem::{
    LoadRules, check_load_mem, check_mem_access, check_store_reg_mem, save_aux_ptr_type,
};
use super::reg_arg::Operand;
use super::scalar_rules;
use crate::HoleKind;
use crate::check::fields::check_fields;
use crate::check::mem::access::{AccessType, MemAccess};
use crate::env::Env;
use crate::rejection::{Check, InsnFault, Regno, Word, reject};
use crate::state::reg::Reg;
use crate::state::reg_type::{Base, RegType, TypeFlag};
use skep_insn::Insn;
use skep_insn::code::*;

/// Walks an atomic insn.
pub(crate) fn check_atomic(env: &mut Env<'_>) -> Check {
    let insn = env.insn();
    check_fields(env)?;
    match insn.imm {
        BPF_LOAD_ACQ => {
            let rules = LoadRules {
                strict: true,
                is_ldsx: false,
                allow_trust_mismatch: false,
                what: "atomic_load",
            };
            let ty = check_load_mem(env, rules)?;
            let (what, regno) = ("loads from", Regno(insn.src));
            let checked = env.facts.rules().acquired_types_checked;
            if checked && ty.base == Base::Mem && ty.has(TypeFlag::PTR_UNTRUSTED) {
                reject!(EACCES, InsnFault::AtomicTarget { what, regno, ty });
            }
            let is_right = check_ptr_type(insn.src, ty, what);
            if checked || is_right.is_err() && env.goes_by(HoleKind::AcquiredContext) {
                return is_right;
            }
            // After the load, which may have overwritten the register.
            check_ptr_type(insn.src, env.reg(insn.src).ty, what)
        }
        BPF_STORE_REL => {
            check_store_reg_mem(env, true)?;
            check_ptr_type(insn.dst, env.reg(insn.dst).ty, "stores into")
        }
        _ => check_rmw(env),
    }
}

fn check_rmw(env: &mut Env<'_>) -> Check {
    let insn = env.insn();
    if !matches!(insn.size(), BPF_W | BPF_DW) {
        reject!(EINVAL, InsnFault::AtomicSize);
    }
    env.check_reg_arg(insn.src, Operand::Src)?;
    env.check_reg_arg(insn.dst, Operand::Src)?;
    if insn.imm == BPF_CMPXCHG {
        env.check_reg_arg(0, Operand::Src)?;
        refuse_pointer(env, 0)?;
    }
    refuse_pointer(env, insn.src)?;
    check_ptr_type(insn.dst, env.reg(insn.dst).ty, "stores into")?;
    if env.reg(insn.dst).ty.is(Base::Arena) && loops_in_machine_code(insn) {
        let dst = insn.dst;
        reject!(EACCES, InsnFault::AtomicToArena { dst: Regno(dst) });
    }
    let load_reg = match insn.imm {
        BPF_CMPXCHG => Some(0),
        imm if imm & BPF_FETCH != 0 => Some(insn.src),
        _ => None,
    };
    if let Some(load_reg) = load_reg {
        env.check_reg_arg(load_reg, Operand::Dst)?;
    }
    let at = MemAccess {
        regno: insn.dst,
        off: i32::from(insn.off),
        size: insn.size_bytes() as i32,
        ty: AccessType::Read,
        value_regno: None,
        strict_alignment_once: true,
        is_ldsx: false,
    };
    // First check that the memory may be read as a scalar, then what the register receives.
    check_mem_access(env, at)?;
    if let Some(regno) = load_reg {
        check_mem_access(env, MemAccess { value_regno: load_reg, ..at })?;
        if env.reg(insn.dst).ty.is(Base::Stack)
            && !env.facts.rules().fetches_are_loads
            && env.goes_by(HoleKind::AtomicFetch)
        {
            let mut fetched = Reg::unknown();
            if insn.size_bytes() < 8 {
                scalar_rules::truncate(env.facts.rules(), &mut fetched.val, insn.size_bytes());
            }
            env.set_reg(regno, fetched);
        }
    }
    let dst_type = env.reg(insn.dst).ty;
    if dst_type.is(Base::Arena) || env.facts.rules().atomic_pointers_apart {
        save_aux_ptr_type(env, dst_type, false)?;
    }
    check_mem_access(env, MemAccess { ty: AccessType::Write, ..at })
}

/// Bitwise operations that return the old value: x86-64 implements each as a loop, in which the
/// kernel cannot handle a fault.
fn loops_in_machine_code(insn: Insn) -> bool {
    let is = |op: u8| insn.imm == i32::from(op) | BPF_FETCH;
    [BPF_AND, BPF_OR, BPF_XOR].into_iter().any(is)
}

fn refuse_pointer(env: &Env<'_>, regno: u8) -> Check {
    if env.is_pointer_value(regno) {
        reject!(EACCES, InsnFault::AtomicLeak { regno: Regno(regno) });
    }
    Ok(())
}

/// Refuses atomic access to memory whose accesses are rewritten or guarded.
fn check_ptr_type(regno: u8, ty: RegType, what: Word) -> Check {
    if ty.is(Base::Ctx) || ty.is_packet() || ty.is(Base::FlowKeys) || ty.is_sk() {
        reject!(EACCES, InsnFault::AtomicTarget { what, regno: Regno(regno), ty });
    }
    Ok(())
}

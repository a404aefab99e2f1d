//! Loads of 64-bit immediates: constants, maps, addresses in map values, kernel variables,
//! functions.
//!
//! Kernel: `check_ld_imm`, `check_pseudo_btf_id` (6.18).

use super::reg_arg::Operand;
use crate::env::Env;
use crate::rejection::{Check, InsnFault, Stop, reject, unsupported};
use crate::state::reg::{Extra, Reg};
use crate::state::reg_type::{Base, RegType, TypeFlag};
use skep_btf::{Btf, FieldKind, Kind, TypeId};
use skep_insn::Insn;
use skep_insn::code::*;
use skep_uapi::MapType;

/// Walks an `ld_imm64`.
pub(crate) fn check_ld_imm(env: &mut Env<'_>) -> Check {
    let insn = env.insn();
    if insn.size() != BPF_DW {
        reject!(EINVAL, InsnFault::LdImmSize);
    }
    if insn.off != 0 {
        reject!(EINVAL, InsnFault::Reserved { insn: "BPF_LD_IMM64" });
    }
    env.check_reg_arg(insn.dst, Operand::DstNoMark)?;
    let second = env.facts.insns.get(env.walk.insn_idx as usize + 1).copied().unwrap_or_default();
    let loaded = match insn.src {
        0 => Reg::constant(insn.imm64(second)),
        BPF_PSEUDO_BTF_ID => variable(env, insn)?,
        BPF_PSEUDO_FUNC => function(env, insn)?,
        BPF_PSEUDO_MAP_FD => map_pointer(env, insn)?,
        BPF_PSEUDO_MAP_VALUE => map_value(env, insn, second)?,
        kind => return Err(Stop::bug(format!("ld_imm64 of kind {kind}, which names nothing"))),
    };
    env.set_reg(insn.dst, loaded);
    env.walk.frame_mut().chains.make(insn.dst);
    Ok(())
}

fn map_type(env: &Env<'_>, map: u32) -> Check<MapType> {
    match env.facts.maps.get(map as usize) {
        Some(view) => Ok(view.def.map_type),
        None => Err(Stop::bug(format!("no map {map}"))),
    }
}

fn map_pointer(env: &Env<'_>, insn: Insn) -> Check<Reg> {
    let map = insn.imm as u32;
    map_type(env, map)?;
    let ty = RegType::of(Base::ConstMapPtr);
    Ok(Reg { extra: Extra::Map { map, uid: 0 }, ..Reg::pointer(ty) })
}

fn map_value(env: &mut Env<'_>, insn: Insn, second: Insn) -> Check<Reg> {
    let map = insn.imm as u32;
    if map_type(env, map)? == MapType::Arena {
        return Ok(Reg::unknown());
    }
    let extra = Extra::Map { map, uid: 0 };
    let value = Reg { off: second.imm, extra, ..Reg::pointer(RegType::of(Base::MapValue)) };
    let has_lock = env.facts.fields_of(&value).iter().any(|it| it.kind == FieldKind::SpinLock);
    let id = match has_lock && !env.facts.rules().direct_values_alike {
        true => env.store.new_id(),
        false => 0,
    };
    Ok(Reg { id, ..value })
}

fn function(env: &Env<'_>, insn: Insn) -> Check<Reg> {
    let start = (i64::from(env.walk.insn_idx) + i64::from(insn.imm) + 1) as u32;
    let Some(subprogno) = env.facts.find_subprog(start) else {
        return Err(Stop::bug(format!("no function at {start}")));
    };
    if env.facts.prog.func_info.is_empty() {
        reject!(EINVAL, InsnFault::FuncWithoutInfo);
    }
    if env.facts.subprogs[subprogno as usize].is_global {
        reject!(EINVAL, InsnFault::CallbackNotStatic);
    }
    let ty = RegType::of(Base::Func);
    Ok(Reg { extra: Extra::Subprog(subprogno), ..Reg::pointer(ty) })
}

/// A variable or function of the kernel.
fn variable(env: &Env<'_>, insn: Insn) -> Check<Reg> {
    let Some(btf) = env.facts.prog.kernel_btf.clone() else {
        return unsupported("variables of the kernel, without the kernel's BTF");
    };
    let mem = |size| Reg {
        extra: Extra::Mem { size, dynptr_id: 0 },
        ..Reg::pointer(RegType::of(Base::Mem).with(TypeFlag::MEM_RDONLY))
    };
    let Some(var) = btf.get(TypeId(insn.imm as u32)) else {
        reject!(ENOENT, InsnFault::NoSuchBtfId { id: insn.imm });
    };
    match var.kind() {
        Kind::Func => return Ok(mem(0)),
        Kind::Var => {}
        _ => {
            let id = insn.imm;
            reject!(EINVAL, InsnFault::BtfIdKind { id })
        }
    }
    let ty = var.target_id();
    let pointer = |flags| Reg {
        extra: Extra::Btf { id: ty.0, in_prog: false },
        ..Reg::pointer(RegType::of(Base::BtfId).with(flags))
    };
    if is_percpu(&btf, var.id()) {
        return Ok(pointer(TypeFlag::MEM_PERCPU));
    }
    if btf.skip_modifiers(ty).kind().is_composite() {
        return Ok(pointer(TypeFlag::empty()));
    }
    match btf.size_of(ty) {
        Ok(size) => Ok(mem(size)),
        Err(_) => unsupported("a variable of the kernel whose size is not known"),
    }
}

/// Whether the variable is per-CPU.
fn is_percpu(btf: &Btf, var: TypeId) -> bool {
    // The kernel has such a section, and each module may have its own.
    let mut sections = btf.find_by_name(".data..percpu").filter(|ty| ty.kind() == Kind::Datasec);
    sections.any(|section| section.vars().any(|v| v.ty == var))
}

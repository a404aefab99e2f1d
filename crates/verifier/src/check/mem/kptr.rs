//! Kernel pointers stored in map values (kptrs).
//!
//! Kernel: `check_map_kptr_access`, `map_kptr_match_type`, `btf_ld_kptr_type`,
//! `btf_struct_ids_match` (6.18).

use super::btf_trust::in_rcu_cs;
use super::region::check_ptr_off_reg;
use crate::HoleKind;
use crate::check::mem::access::{AccessType, MemAccess};
use crate::env::{Env, Facts};
use crate::log::note::Note;
use crate::rejection::{Check, MemFault, Regno, reject, unsupported};
use crate::state::reg::{Extra, Reg};
use crate::state::reg_type::{Base, RegType, TypeFlag};
use skep_btf::{Btf, FieldKind, SpecialField, TypeId, Walk};
use skep_insn::code::*;
use skep_uapi::errno;

/// Kernel types whose objects stay valid until the end of an RCU section. Kernel:
/// `rcu_protected_types`.
const RCU_PROTECTED: [&str; 5] =
    ["prog_test_ref_kfunc", "cgroup", "bpf_cpumask", "task_struct", "bpf_crypto_ctx"];

/// The type that a pointer field points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pointee {
    pub(crate) id: TypeId,
    /// Whether it is a type of the program, not of the kernel.
    pub(crate) in_prog: bool,
}

/// The type that a kptr field points to: the kernel's type of that name, or else the program's own.
pub(crate) fn kptr_pointee(facts: &Facts<'_>, field: &SpecialField) -> Check<Pointee> {
    let (Some(target), Some(own)) = (field.target, facts.prog.btf.as_deref()) else {
        return unsupported("a kptr to an unknown type");
    };
    let ty = own.ty(target);
    let kernel = facts.prog.kernel_btf.as_deref();
    Ok(match kernel.and_then(|btf| btf.find_by_name_kind(ty.name(), ty.kind())) {
        Some(id) => Pointee { id, in_prog: false },
        None => Pointee { id: ty.id(), in_prog: true },
    })
}

fn btf_of<'a>(facts: &Facts<'a>, in_prog: bool) -> Option<&'a Btf> {
    if in_prog { facts.prog.btf.as_deref() } else { facts.prog.kernel_btf.as_deref() }
}

fn type_name<'a>(facts: &Facts<'a>, id: TypeId, in_prog: bool) -> &'a str {
    btf_of(facts, in_prog).and_then(|btf| btf.get(id)).map_or("", |ty| ty.name())
}

/// A load or store of a whole kptr field; its offset and size have been checked.
pub(super) fn access_kptr(env: &mut Env<'_>, at: MemAccess, field: &SpecialField) -> Check {
    let insn = env.insn();
    if insn.mode() != BPF_MEM {
        reject!(EACCES, MemFault::KptrMode);
    }
    if insn.class() != BPF_LDX {
        match field.kind {
            FieldKind::KptrRef | FieldKind::KptrPercpu => {
                reject!(EACCES, MemFault::KptrRefStore)
            }
            FieldKind::Uptr => reject!(EACCES, MemFault::UptrStore),
            _ => {}
        }
    }
    match (insn.class(), at.value_regno) {
        (BPF_LDX, Some(value)) if at.ty == AccessType::Read => load_kptr(env, value, field),
        (BPF_STX, Some(value)) => {
            let reg = env.reg(value);
            if reg.is_null() {
                let is_precise = env.facts.rules().stored_null_is_precise;
                return match is_precise || env.goes_by(HoleKind::NullArgument) {
                    true => env.mark_chain_precision(value),
                    false => Ok(()),
                };
            }
            let done = map_kptr_match_type(env, field, &reg, value);
            done.map_err(|stop| stop.with_errno(errno::EACCES))
        }
        (BPF_ST, _) if insn.imm != 0 => {
            let off = field.offset;
            reject!(EACCES, MemFault::KptrImmediate { off })
        }
        (BPF_ST, _) => Ok(()),
        _ => {
            reject!(EACCES, MemFault::KptrClass)
        }
    }
}

fn load_kptr(env: &mut Env<'_>, value: u8, field: &SpecialField) -> Check {
    let pointee = kptr_pointee(env.facts, field)?;
    let (ty, extra) = if field.kind == FieldKind::Uptr {
        let size = btf_of(env.facts, pointee.in_prog).and_then(|btf| btf.size_of(pointee.id).ok());
        let Some(size) = size else { return unsupported("a uptr to a type of unknown size") };
        let ty = RegType::of(Base::Mem).with(TypeFlag::PTR_MAYBE_NULL);
        (ty, Extra::Mem { size, dynptr_id: 0 })
    } else {
        let ty = RegType::of(Base::BtfId).with(loaded_flags(env, field, pointee));
        (ty, Extra::Btf { id: pointee.id.0, in_prog: pointee.in_prog })
    };
    let id = env.store.new_id();
    env.set_reg(value, Reg { id, extra, ..Reg::pointer(ty) });
    Ok(())
}

/// Flags of a loaded kptr.
fn loaded_flags(env: &Env<'_>, field: &SpecialField, pointee: Pointee) -> TypeFlag {
    let name = type_name(env.facts, pointee.id, pointee.in_prog);
    let protected = pointee.in_prog || RCU_PROTECTED.contains(&name);
    let percpu = field.kind == FieldKind::KptrPercpu;
    let stays = percpu || (field.kind == FieldKind::KptrRef && protected);
    if !stays || !in_rcu_cs(env) {
        return TypeFlag::PTR_MAYBE_NULL | TypeFlag::PTR_UNTRUSTED;
    }
    let mut flags = TypeFlag::PTR_MAYBE_NULL | TypeFlag::MEM_RCU;
    if percpu {
        flags |= TypeFlag::MEM_PERCPU;
    } else if pointee.in_prog {
        flags |= TypeFlag::MEM_ALLOC;
    }
    let own = btf_of(env.facts, pointee.in_prog).filter(|_| pointee.in_prog);
    let mut fields = own.and_then(|btf| btf.struct_metas().get(&pointee.id)).into_iter().flatten();
    if fields.any(|f| matches!(f.kind, FieldKind::ListNode | FieldKind::RbNode)) {
        flags |= TypeFlag::NON_OWN_REF;
    }
    flags
}

/// Checks that the pointer in R`regno` may be stored in the field.
pub(crate) fn map_kptr_match_type(
    env: &mut Env<'_>,
    field: &SpecialField,
    reg: &Reg,
    regno: u8,
) -> Check {
    let pointee = kptr_pointee(env.facts, field)?;
    let unref = field.kind == FieldKind::KptrUnref;
    let mut reg_name = "";
    if let Extra::Btf { id, in_prog } = reg.extra
        && reg.ty.base == Base::BtfId
    {
        let allowed = allowed_flags(field.kind, in_prog);
        let plain = field.kind == FieldKind::KptrPercpu && !reg.ty.has(TypeFlag::MEM_PERCPU);
        let rules = env.facts.rules();
        let refused = plain
            && match in_prog {
                true => rules.percpu_objects_apart || env.goes_by(HoleKind::PlainForPercpu),
                false => rules.percpu_pointers_apart,
            };
        if reg.ty.flags.difference(allowed).is_empty() && !refused {
            reg_name = type_name(env.facts, TypeId(id), in_prog);
            check_ptr_off_reg(reg, regno, true).map_err(|stop| stop.with_errno(errno::EACCES))?;
            let have = Pointee { id: TypeId(id), in_prog };
            if btf_struct_ids_match(env, have, reg.off, pointee, !unref) {
                return Ok(());
            }
        }
    }
    let target = type_name(env.facts, pointee.id, pointee.in_prog).into();
    let (ty, regno, reg_name) = (reg.ty, Regno(regno), reg_name.into());
    if unref {
        reject!(EINVAL, MemFault::UntrustedKptrType { regno, ty, reg_name, target });
    }
    reject!(EINVAL, MemFault::KptrType { regno, ty, reg_name, target })
}

fn allowed_flags(kind: FieldKind, in_prog: bool) -> TypeFlag {
    if !in_prog {
        let flags = TypeFlag::PTR_MAYBE_NULL | TypeFlag::PTR_TRUSTED | TypeFlag::MEM_RCU;
        return if kind == FieldKind::KptrUnref { flags | TypeFlag::PTR_UNTRUSTED } else { flags };
    }
    let flags = TypeFlag::PTR_MAYBE_NULL | TypeFlag::MEM_ALLOC;
    if kind == FieldKind::KptrPercpu { flags | TypeFlag::MEM_PERCPU } else { flags }
}

/// Whether a pointer to `have`, at offset `off`, is a pointer to `need`: the types are equal or
/// (unless `strict`) `have` contains a `need` at that offset.
pub(crate) fn btf_struct_ids_match(
    env: &mut Env<'_>,
    have: Pointee,
    off: i32,
    need: Pointee,
    strict: bool,
) -> bool {
    if off == 0 && have == need {
        return true;
    }
    let Some(btf) = btf_of(env.facts, have.in_prog).filter(|_| !strict) else { return false };
    let (mut id, mut off) = (have.id, off as u32);
    loop {
        match btf.struct_walk(id, off, 1) {
            Ok(Walk::Struct { id: inner, .. }) => {
                if (Pointee { id: inner, ..have }) == need {
                    return true;
                }
                (id, off) = (inner, 0);
            }
            Ok(_) => return false,
            Err(why) => {
                env.trace.note(Note::Overruled { fault: &why });
                return false;
            }
        }
    }
}

//! How far a pointer that was read from a struct of the kernel can be trusted.
//!
//! The kernel's BTF says which fields are as trusted as their struct: `task_struct__safe_rcu` lists
//! the fields of `task_struct` that are valid in an RCU section, and so on.
//!
//! Kernel: `check_ptr_to_btf_access`, `is_trusted_reg`, `btf_nested_type_is_trusted` (6.18).

use crate::env::Env;
use crate::state::reg::{Reg, TRUSTED};
use crate::state::reg_type::TypeFlag;
use skep_btf::{Btf, Kind, TypeId};
use skep_uapi::ProgFlags;

/// Whether the path is in a section in which RCU-protected objects stay valid.
///
/// Kernel: `in_rcu_cs` (6.18).
pub(crate) fn in_rcu_cs(env: &Env<'_>) -> bool {
    let refs = &env.walk.cur.refs;
    refs.active_rcu_locks > 0
        || refs.active_locks > 0
        || runs_under_rcu(env)
        || env.facts.rules().any_section_protects
            && (refs.active_preempt_locks > 0 || refs.active_irq_id != 0)
}

/// Whether the whole program, or the callback of a timer, is in such a section because it cannot
/// sleep.
pub(crate) fn runs_under_rcu(env: &Env<'_>) -> bool {
    let program_sleeps = env.facts.prog.prog_flags.contains(ProgFlags::SLEEPABLE);
    !(env.walk.cur.meta.in_sleepable || program_sleeps && !env.facts.rules().timers_under_rcu)
}

/// The type of the object behind a pointer.
#[derive(Clone, Copy)]
pub(super) struct Object<'a> {
    pub(super) btf: &'a Btf,
    pub(super) id: TypeId,
    /// Whether it is a type of the program, not of the kernel.
    pub(super) in_prog: bool,
}

/// A field of a struct that is a pointer.
#[derive(Clone, Copy)]
pub(super) struct PtrField<'a> {
    pub(super) to: TypeId,
    pub(super) tag: TypeFlag,
    pub(super) name: &'a str,
}

/// Flags of the pointer read from a field of the struct behind `reg`.
pub(super) fn field_flags(
    env: &Env<'_>,
    reg: &Reg,
    object: Object<'_>,
    field: PtrField<'_>,
) -> TypeFlag {
    let tag = field.tag;
    if reg.ty.has(TypeFlag::PTR_UNTRUSTED) {
        return TypeFlag::PTR_UNTRUSTED;
    }
    if !env.facts.fields_have_trust {
        return tag & (TypeFlag::MEM_USER | TypeFlag::MEM_PERCPU);
    }
    let untrusted = tag.difference(TRUSTED.union(TypeFlag::MEM_RCU));
    if !reg.is_trusted() && !reg.ty.has(TypeFlag::MEM_RCU) {
        return untrusted;
    }
    let listed = |suffix| is_listed(object, suffix, field);
    if listed("__safe_trusted") {
        return tag | TypeFlag::PTR_TRUSTED;
    }
    if listed("__safe_trusted_or_null") {
        return tag | TypeFlag::PTR_TRUSTED | TypeFlag::PTR_MAYBE_NULL;
    }
    if !in_rcu_cs(env) || reg.ty.may_be_null() {
        return TypeFlag::PTR_UNTRUSTED;
    }
    if listed("__safe_rcu") {
        return tag | TypeFlag::MEM_RCU;
    }
    let or_null = listed("__safe_rcu_or_null");
    if tag.contains(TypeFlag::MEM_RCU) || or_null {
        let flags = tag | TypeFlag::MEM_RCU | TypeFlag::PTR_MAYBE_NULL;
        return if or_null { flags.difference(TypeFlag::PTR_UNTRUSTED) } else { flags };
    }
    if tag.intersects(TypeFlag::MEM_PERCPU | TypeFlag::MEM_USER) { tag } else { untrusted }
}

/// Whether a struct `NAME<suffix>` lists the field with that type.
fn is_listed(object: Object<'_>, suffix: &str, field: PtrField<'_>) -> bool {
    let Object { btf, id, .. } = object;
    let Some(of) = btf.get(id) else { return false };
    let twin = format!("{}{suffix}", of.name());
    let Some(twin) = btf.find_by_name_kind(&twin, of.kind()) else { return false };
    btf.ty(twin).members().any(|m| {
        let ty = btf.ty(m.ty);
        ty.kind() == Kind::Ptr
            && m.is_named(field.name)
            && btf.skip_modifiers(ty.target_id()).id() == field.to
    })
}

//! Why a relocation failed, in one line: what it asks for, and what the target has instead.

use super::candidates::candidates;
use super::compat::Matcher;
use super::relo_kind::ReloKind;
use super::spec::{Accessor, Spec};
use crate::{Btf, CoreRelo, Type, TypeId};
use std::fmt::Write;

/// `CO-RE relocation <byte_off> of struct task_struct.gone: the kernel's struct task_struct has no
/// member gone`.
pub(super) fn explain(local: &Btf, targets: &[&Btf], relo: &CoreRelo) -> String {
    let Some(kind) = ReloKind::from_number(relo.kind) else {
        return format!("CO-RE relocation of unknown kind {}", relo.kind);
    };
    let access = local.try_str(relo.access_str_off).unwrap_or("?");
    let Ok(spec) = Spec::parse(local, relo.type_id, access, kind) else {
        return format!("CO-RE relocation <{}> that cannot be read", kind.name());
    };
    let there = found_instead(&spec, targets, kind).unwrap_or_else(|| "nothing fits".to_owned());
    format!("CO-RE relocation <{}> of {}: {there}", kind.name(), path_text(&spec, kind))
}

/// `struct task_struct.mm.pgd`, `enum bpf_func_id::BPF_FUNC_gone`.
fn path_text(spec: &Spec<'_>, kind: ReloKind) -> String {
    let mut text = spec.btf.type_name(spec.root);
    for (n, acc) in spec.accessors.iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = match acc.name {
            Some(name) if kind.is_enumval() => write!(text, "::{name}"),
            Some(name) => write!(text, ".{name}"),
            None if n == 0 && acc.idx == 0 => Ok(()),
            None => write!(text, "[{}]", acc.idx),
        };
    }
    text
}

fn found_instead(spec: &Spec<'_>, targets: &[&Btf], kind: ReloKind) -> Option<String> {
    let name = spec.btf.type_name(spec.root);
    if targets.is_empty() {
        return Some("there is no kernel BTF".to_owned());
    }
    let Some(&(btf, root)) = candidates(spec, targets).ok()?.first() else {
        return Some(format!("the kernel has no {name}"));
    };
    let theirs = btf.type_name(root);
    if kind.is_enumval() {
        let wanted = spec.accessors.first()?.name?;
        return Some(format!("the kernel's {theirs} has no value {wanted}"));
    }
    if !kind.is_field() {
        return Some(format!("the kernel's {theirs} is another type"));
    }
    let mut before = Spec::at_root(btf, root);
    for steps in 1..=spec.accessors.len() {
        let part = Spec { accessors: spec.accessors[..steps].to_vec(), ..spec.clone() };
        match Matcher::new(spec.btf, btf).find(&part, root, kind).ok()? {
            Some(found) => before = found,
            None => return Some(missing_step(spec, &spec.accessors[steps - 1], &before)),
        }
    }
    let (ours, theirs) = (spec.btf.size_of(spec.last).ok()?, btf.size_of(before.last).ok()?);
    Some(format!("it has {theirs} bytes in the kernel, {ours} in the object"))
}

/// The step that fails in the kernel's types.
fn missing_step(local: &Spec<'_>, acc: &Accessor<'_>, before: &Spec<'_>) -> String {
    let btf = before.btf;
    let inside = btf.skip_modifiers(before.last);
    let theirs = btf.type_name(inside.id());
    let Some(name) = acc.name else {
        return match inside.array() {
            Some(array) => format!("the kernel's array has {} elements", array.nelems),
            None => format!("the kernel's {theirs} is no array"),
        };
    };
    let mut left = MEMBERS_MAX;
    match member_of(inside, name, &mut left) {
        Some(ty) => {
            let ours = local.btf.ty(acc.ty).members().nth(acc.idx as usize);
            let ours = ours.map_or(TypeId::VOID, |m| m.ty);
            let (ours, ty) = (local.btf.declaration(ours, name), btf.declaration(ty, name));
            format!("the kernel's {theirs} has `{ty}`, the object's `{ours}`")
        }
        None => format!("the kernel's {theirs} has no member {name}"),
    }
}

/// Maximum number of members examined, including those of anonymous members.
const MEMBERS_MAX: u32 = 1 << 12;

/// Type of the member with that name, also inside anonymous ones.
fn member_of(t: Type<'_>, name: &str, left: &mut u32) -> Option<TypeId> {
    t.members().find_map(|m| {
        *left = left.checked_sub(1)?;
        match m.name() {
            "" => member_of(t.btf().skip_modifiers(m.ty), name, left),
            other => (other == name).then_some(m.ty),
        }
    })
}

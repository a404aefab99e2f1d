//! Which struct is the context of a program type, for programs and inside the kernel.
//!
//! The kernel's BTF says it: `struct bpf_ctx_convert` has two members for each program type.
//!
//! Kernel: `btf_is_prog_ctx_type`, `get_kern_ctx_btf_id` (6.18).

use skep_btf::{Btf, Kind, Type, TypeId};
use skep_uapi::ProgType;
use std::fmt;

/// The context as programs see it (`_prog`) or as the kernel has it (`_kern`).
fn ctx_member<'a>(btf: &'a Btf, prog_type: ProgType, which: &str) -> Option<Type<'a>> {
    let convert = btf.ty(btf.find_by_name_kind("bpf_ctx_convert", Kind::Struct)?);
    let name = format!("BPF_PROG_TYPE_{}{which}", prog_type.name().to_ascii_uppercase());
    convert.members().find(|m| m.is_named(&name)).map(|m| btf.ty(m.ty))
}

/// Whether programs use the name `pname` for the kernel struct `tname`.
///
/// Kernel: `btf_is_projection_of`.
pub(super) fn is_projection_of(pname: &str, tname: &str) -> bool {
    matches!((pname, tname), ("__sk_buff", "sk_buff") | ("xdp_md", "xdp_buff"))
}

/// Whether the pointer type `ptr` points to the context of the program type.
pub(super) fn is_prog_ctx_type(btf: &Btf, ptr: Type<'_>, prog_type: ProgType) -> bool {
    let mut t = ptr.target();
    if prog_type == ProgType::Kprobe {
        t = btf.skip_modifiers_only(t.id());
        if t.kind() == Kind::Typedef && t.name() == "bpf_user_pt_regs_t" {
            return true;
        }
    }
    t = btf.skip_modifiers(t.id());
    if !t.kind().is_composite() {
        return false;
    }
    let Some(mut ctx) = ctx_member(btf, prog_type, "_prog") else { return false };
    for _ in 0..8 {
        if ctx.name().is_empty() {
            return false;
        }
        if ctx.name() == t.name() || is_projection_of(ctx.name(), t.name()) {
            return true;
        }
        if !ctx.kind().is_modifier_or_typedef() {
            return false;
        }
        ctx = ctx.target();
    }
    false
}

/// Why a program type has no such struct; displays as the kernel's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoKernCtx {
    /// The kernel's BTF does not name one.
    Unknown,
    /// It names another type.
    NotStruct(TypeId),
}

impl fmt::Display for NoKernCtx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoKernCtx::Unknown => f.write_str("context of this program type is unknown"),
            NoKernCtx::NotStruct(id) => write!(f, "kern ctx type id {id} is not a struct"),
        }
    }
}

impl std::error::Error for NoKernCtx {}

/// The kernel struct of the program type's context.
pub(super) fn kern_ctx_btf_id(btf: &Btf, prog_type: ProgType) -> Result<TypeId, NoKernCtx> {
    let Some(kern) = ctx_member(btf, prog_type, "_kern") else {
        return Err(NoKernCtx::Unknown);
    };
    if !kern.kind().is_composite() {
        return Err(NoKernCtx::NotStruct(kern.id()));
    }
    Ok(kern.id())
}

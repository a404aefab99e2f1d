//! Contexts that are the arguments of a function of the kernel, 8 bytes each.
//!
//! Kernel: `btf_ctx_access` (6.18).

use super::MemAccess;
use super::ctx::CtxLoad;
use crate::env::Env;
use crate::rejection::{Check, unsupported};

/// What argument is at `off`; `None` if it cannot be loaded so.
pub(super) fn find_btf_access(
    env: &mut Env<'_>,
    at: MemAccess,
    off: i32,
) -> Check<Option<CtxLoad>> {
    let _ = (env, at, off);
    unsupported("contexts described by BTF")
}

/// The prototype of the member of a struct_ops struct that the program implements.
pub(crate) fn struct_ops_proto<'a>(env: &Env<'a>) -> Option<skep_btf::Type<'a>> {
    let skep_program::AttachTarget::Kernel { btf_id, .. } = &env.prog.attach else { return None };
    let btf = env.prog.kernel_btf.as_deref()?;
    let ops = btf.get(skep_btf::TypeId(*btf_id))?;
    let member = ops.members().nth(env.prog.expected_attach_type as usize)?;
    let ptr = btf.skip_modifiers(member.ty);
    let proto = btf.skip_modifiers(ptr.target_id());
    (proto.kind() == skep_btf::Kind::FuncProto).then_some(proto)
}

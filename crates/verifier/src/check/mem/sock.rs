//! Fields of sockets, which programs see as `struct bpf_sock`, `bpf_tcp_sock`, `bpf_xdp_sock`.
//!
//! Kernel: `check_sock_access` (6.18); the tables are those of `skep_uapi::ctx`.

use super::region::refuse_negative;
use crate::check::mem::access::MemAccess;
use crate::env::{Env, InsnFlags};
use crate::rejection::{Check, MemFault, Regno, Stop, reject};
use crate::state::arena::PackedReg;
use crate::state::reg::Reg;
use crate::state::reg_type::Base;
use skep_insn::code::{BPF_LDX, BPF_MEMSX};
use skep_uapi::Behaviours;
use skep_uapi::ctx::{CtxField, CtxRange, SockPointer};

/// Refuses the program if a load that was walked cannot be converted.
///
/// Kernel: `convert_ctx_accesses` (6.18).
pub(crate) fn convert_accesses(env: &mut Env<'_>) -> Check {
    if !env.facts.rules().arena_loads_extend
        && let Some(i) = (0..env.facts.insns.len()).find(|&i| extends_arena(env, i))
    {
        env.walk.insn_idx = i as u32;
        reject!(EOPNOTSUPP, MemFault::ArenaExtends);
    }
    let lacks_conversion = |i: &usize| {
        let (insn, aux) = (env.facts.insns[*i], env.learned.aux[*i]);
        let at = CtxRange { off: i32::from(insn.off), size: insn.size_bytes() };
        let pointer = aux.ptr_type().and_then(|ty| sock_pointer(ty.base));
        let is_load = insn.class() == BPF_LDX && aux.has(InsnFlags::SEEN);
        is_load && pointer.is_some_and(|pointer| pointer.lacks_conversion(at))
    };
    if let Some(i) = (0..env.facts.insns.len()).find(lacks_conversion) {
        env.walk.insn_idx = i as u32;
        reject!(EFAULT, MemFault::CtxConversion);
    }
    Ok(())
}

/// Whether a walked insn is a sign-extending load from an arena.
fn extends_arena(env: &Env<'_>, i: usize) -> bool {
    let (insn, aux) = (env.facts.insns[i], env.learned.aux[i]);
    let is_signed = insn.class() == BPF_LDX && insn.mode() == BPF_MEMSX;
    let of_arena = || aux.ptr_type().is_some_and(|ty| ty.base == Base::Arena);
    is_signed && aux.has(InsnFlags::SEEN) && of_arena()
}

fn sock_pointer(base: Base) -> Option<SockPointer> {
    match base {
        Base::SockCommon => Some(SockPointer::SockCommon),
        Base::Socket => Some(SockPointer::Socket),
        Base::TcpSock => Some(SockPointer::TcpSock),
        Base::XdpSock => Some(SockPointer::XdpSock),
        _ => None,
    }
}

/// Whether a socket's port may be accessed like this; any other field may.
pub(super) fn may_load_part(rules: &Behaviours, field: &CtxField, range: CtxRange) -> bool {
    field.name != "dst_port" || range.off == field.off || rules.ports_loaded_in_bytes
}

pub(super) fn access_sock(env: &mut Env<'_>, reg: &Reg, at: MemAccess, off: i32) -> Check {
    if at.is_write() {
        reject!(EACCES, MemFault::NotWritable { regno: Regno(at.regno), ty: reg.ty });
    }
    if reg.val.smin < 0 {
        return refuse_negative(at.regno);
    }
    let Some(pointer) = sock_pointer(reg.ty.base) else {
        return Err(Stop::bug(format!("{} is no socket", reg.ty)));
    };
    let range = CtxRange { off, size: at.size as u32 };
    let fields = env.facts.config.profile.ctx_fields;
    let access = pointer.layout().load(range, at.is_ldsx);
    let rules = env.facts.rules();
    let may_load = access.is_some_and(|it| {
        !fields.lack(pointer.name(), it.field, range.size) && may_load_part(rules, it.field, range)
    });
    if !may_load && !pointer.lacks_conversion(range) {
        let (regno, size) = (at.regno, at.size);
        reject!(EACCES, MemFault::BeyondSocket { regno: Regno(regno), ty: reg.ty, off, size });
    }
    if let Some(value) = at.value_regno {
        env.walk.set_name(value, PackedReg::UNKNOWN);
    }
    Ok(())
}

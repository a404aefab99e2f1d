//! Infers the type of a program that replaces a function of another from its context.
//!
//! `freplace` programs have the type of their target; without a target it is not known. veristat
//! verifies them as the type whose context is their first argument, and so does this.

use skep_btf::{Btf, Kind, TypeId};
use skep_program::{AttachTarget, Program};
use skep_uapi::{AttachType as A, ProgType as P};

/// Name of the context, and the corresponding program type and attach type: veristat's choice if
/// several types have the same context.
static CONTEXTS: &[(&str, P, Option<A>)] = &[
    ("__sk_buff", P::SchedCls, None),
    ("bpf_sock", P::CgroupSock, Some(A::CgroupInet4PostBind)),
    ("bpf_sock_addr", P::CgroupSockAddr, Some(A::CgroupInet4Bind)),
    ("bpf_sock_ops", P::SockOps, Some(A::CgroupSockOps)),
    ("sk_msg_md", P::SkMsg, Some(A::SkMsgVerdict)),
    ("bpf_cgroup_dev_ctx", P::CgroupDevice, Some(A::CgroupDevice)),
    ("bpf_sysctl", P::CgroupSysctl, Some(A::CgroupSysctl)),
    ("bpf_sockopt", P::CgroupSockopt, Some(A::CgroupSetsockopt)),
    ("sk_reuseport_md", P::SkReuseport, Some(A::SkReuseportSelectOrMigrate)),
    ("bpf_sk_lookup", P::SkLookup, Some(A::SkLookup)),
    ("xdp_md", P::Xdp, Some(A::Xdp)),
    ("bpf_nf_ctx", P::Netfilter, Some(A::Netfilter)),
    ("bpf_user_pt_regs_t", P::Kprobe, None),
    ("bpf_perf_event_data", P::PerfEvent, None),
    ("bpf_raw_tracepoint_args", P::RawTracepoint, None),
];

/// Gives an `freplace` program without a target the type that its context suggests; `false` if
/// there is none.
pub(crate) fn replace_ext(program: &mut Program) -> bool {
    program.prog_type == P::Ext && by_context(program)
}

/// Gives a program the type that its context suggests; `false` if there is none.
pub(crate) fn by_context(program: &mut Program) -> bool {
    let name = program.btf.as_ref().and_then(|btf| context_name(btf, program));
    let Some(&(_, prog_type, attach)) = CONTEXTS.iter().find(|row| Some(row.0) == name) else {
        return false;
    };
    program.prog_type = prog_type;
    program.expected_attach_type = attach.map_or(0, A::number);
    program.attach = AttachTarget::None;
    true
}

/// Name of the struct or typedef that the first argument points to.
fn context_name<'b>(btf: &'b Btf, program: &Program) -> Option<&'b str> {
    let function = btf.ty(TypeId(program.func_info.first()?.type_id));
    let first = function.target().params().next()?;
    let pointer = btf.skip_modifiers(first.ty);
    if pointer.kind() != Kind::Ptr {
        return None;
    }
    Some(btf.skip_modifiers_only(pointer.target_id()).name()).filter(|name| !name.is_empty())
}

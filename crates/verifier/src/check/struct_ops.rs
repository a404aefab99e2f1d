//! Programs that implement a function pointer of a struct of the kernel.
//!
//! Kernel: `check_struct_ops_btf_id`, and the operations of `bpf_tcp_ca.c` and
//! `bpf_dummy_struct_ops.c`, and those of sched_ext (6.18). Absent: the structs of qdisc, HID and
//! SMC, which are not supported yet.

use crate::env::Facts;
use crate::rejection::{AttachFault, Check, Stop, reject, unsupported};
use skep_btf::{Btf, Kind, Member, Type, TypeId};
use skep_program::AttachTarget;
use skep_uapi::errno;
use skep_uapi::is_gpl_compatible;
use skep_uapi::{Behaviours, ProgFlags};

/// Structs of the kernel that programs may implement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ops {
    TcpCongestion,
    Dummy,
    SchedExt,
    /// Structs of the kernel's test modules.
    Test,
}

/// What a struct_ops program implements.
pub(crate) struct Target<'a> {
    /// The member.
    pub(crate) name: &'a str,
    pub(crate) proto: Type<'a>,
    strct: Type<'a>,
}

/// Suffix of a parameter in the kernel's stub that may be NULL.
const MAYBE_NULL_SUFFIX: &str = "__nullable";
const REFCOUNTED_SUFFIX: &str = "__ref";

impl<'a> Target<'a> {
    /// The member that the program implements, if it is a function pointer of a struct.
    pub(crate) fn of(facts: &Facts<'a>) -> Option<Target<'a>> {
        let (btf, strct) = attach_struct(facts)?;
        let member = strct.members().nth(facts.prog.expected_attach_type as usize)?;
        let proto = func_proto(btf, &member)?;
        Some(Target { name: member.name(), proto, strct })
    }

    /// Whether argument `arg` may be NULL, according to the kernel's stub for the member.
    pub(crate) fn may_be_null(&self, arg: usize) -> bool {
        self.stub_param(arg).is_some_and(|name| name.ends_with(MAYBE_NULL_SUFFIX))
    }

    fn stub_param(&self, arg: usize) -> Option<&'a str> {
        let btf = self.strct.btf();
        let stub = format!("{}__{}", self.strct.name(), self.name);
        let id = btf.find_by_name_kind(&stub, Kind::Func)?;
        btf.ty(id).target().params().nth(arg).map(|param| param.name)
    }

    /// The type that a pointer argument has for the program.
    pub(crate) fn promoted(&self, id: TypeId) -> TypeId {
        let btf = self.strct.btf();
        let is_sock = btf.get(id).is_some_and(|ty| ty.name() == "sock");
        match ops_named(self.strct.name()) {
            Some(Ops::TcpCongestion) if is_sock => {
                btf.find_by_name_kind("tcp_sock", Kind::Struct).unwrap_or(id)
            }
            _ => id,
        }
    }
}

pub(crate) fn attach_struct<'a>(facts: &Facts<'a>) -> Option<(&'a Btf, Type<'a>)> {
    let AttachTarget::Kernel { btf_id, .. } = &facts.prog.attach else { return None };
    let btf = facts.prog.kernel_btf.as_deref()?;
    let strct = btf.get(TypeId(*btf_id))?;
    Some((btf, strct))
}

fn func_proto<'a>(btf: &'a Btf, member: &Member<'a>) -> Option<Type<'a>> {
    let ptr = btf.skip_modifiers(member.ty);
    let proto = (ptr.kind() == Kind::Ptr).then(|| btf.skip_modifiers(ptr.target_id()))?;
    (proto.kind() == Kind::FuncProto).then_some(proto)
}

pub(crate) fn ops_named(name: &str) -> Option<Ops> {
    match name {
        "tcp_congestion_ops" => Some(Ops::TcpCongestion),
        "bpf_dummy_ops" => Some(Ops::Dummy),
        "sched_ext_ops" => Some(Ops::SchedExt),
        "bpf_testmod_ops" | "bpf_testmod_ops2" | "bpf_testmod_st_ops" | "bpf_test_no_cfi_ops" => {
            Some(Ops::Test)
        }
        _ => None,
    }
}

/// Whether the struct has a stub for the member. Kernel: `cfi_stubs`.
fn is_supported(ops: Ops, member: &str) -> bool {
    match ops {
        Ops::TcpCongestion => matches!(
            member,
            "ssthresh"
                | "cong_avoid"
                | "set_state"
                | "cwnd_event"
                | "cwnd_event_tx_start"
                | "in_ack_event"
                | "pkts_acked"
                | "min_tso_segs"
                | "cong_control"
                | "undo_cwnd"
                | "sndbuf_expand"
                | "init"
                | "release"
        ),
        Ops::Dummy => true,
        Ops::SchedExt => !matches!(member, "sub_caps_updated" | "sub_ecaps_updated"),
        Ops::Test => member != "unsupported_ops",
    }
}

/// Whether programs for the member may sleep. Kernel: `check_member`.
fn may_sleep(ops: Ops, member: &str, rules: &Behaviours) -> bool {
    match ops {
        Ops::TcpCongestion | Ops::Test => true,
        Ops::Dummy => member == "test_sleepable",
        Ops::SchedExt if member == "cgroup_set_bandwidth" => rules.bandwidth_sleeps,
        // Tested on all kernels from 6.16 on: each member, with a sleepable program and with one
        // that is not.
        Ops::SchedExt => MAY_SLEEP.contains(&member),
    }
}

/// Members of `sched_ext_ops` that are called where sleeping is allowed.
const MAY_SLEEP: [&str; 11] = [
    "cgroup_exit",
    "cgroup_init",
    "cgroup_prep_move",
    "cpu_offline",
    "cpu_online",
    "exit",
    "init",
    "init_cids",
    "init_task",
    "sub_attach",
    "sub_detach",
];

/// `errno` for a member that the program may not implement.
fn refusal_of(ops: Ops, member: &str, facts: &Facts<'_>) -> Option<i32> {
    let sleepable = facts.prog.prog_flags.contains(ProgFlags::SLEEPABLE);
    if !is_supported(ops, member) {
        return Some(errno::ENOTSUPP);
    }
    (sleepable && !may_sleep(ops, member, facts.rules())).then_some(errno::EINVAL)
}

/// Whether the kernel accepts implementations of the struct: it then has a wrapper struct for maps.
fn is_registered(btf: &Btf, strct: Type<'_>) -> bool {
    let holder = format!("bpf_struct_ops_{}", strct.name());
    strct.kind() == Kind::Struct && btf.find_by_name_kind(&holder, Kind::Struct).is_some()
}

/// Checks the member that a struct_ops program says it implements.
pub(crate) fn check_struct_ops_btf_id(facts: &Facts<'_>) -> Check {
    if !is_gpl_compatible(&facts.prog.license) {
        reject!(EINVAL, AttachFault::StructOpsNeedsGpl);
    }
    let id = match facts.prog.attach {
        AttachTarget::Kernel { btf_id, .. } if btf_id != 0 => btf_id,
        _ => return Err(Stop::refuse_silently(errno::ENOTSUPP, AttachFault::StructOpsWithoutId)),
    };
    let known = attach_struct(facts).filter(|(btf, strct)| is_registered(btf, *strct));
    let Some((btf, strct)) = known else {
        reject!(ENOTSUPP, AttachFault::NotStructOps { id });
    };
    let name = strct.name();
    let Some(ops) = ops_named(name) else {
        return unsupported(format!("struct_ops of struct {name}"));
    };
    let idx = facts.prog.expected_attach_type;
    let Some(member) = strct.members().nth(idx as usize) else {
        reject!(EINVAL, AttachFault::MemberIdx { idx, name: name.into() });
    };
    let field = member.name();
    let Some(proto) = func_proto(btf, &member) else {
        reject!(EINVAL, AttachFault::MemberKind { field: field.into(), idx, name: name.into() });
    };
    if let Some(errno) = refusal_of(ops, field, facts) {
        let kind = AttachFault::MemberUnsupported { field: field.into(), name: name.into() };
        return Err(Stop::refuse(errno, kind));
    }
    let target = Target { name: field, proto, strct };
    let refcounted = (0..proto.params().len())
        .any(|arg| target.stub_param(arg).is_some_and(|p| p.ends_with(REFCOUNTED_SUFFIX)));
    if refcounted {
        return unsupported("struct_ops members with a reference as argument");
    }
    Ok(())
}

//! Programs that implement a function pointer of a struct of the kernel.
//!
//! Kernel: `check_struct_ops_btf_id`, and the operations of `bpf_tcp_ca.c` and `bpf_dummy_struct_ops.c` (6.18).
//! Absent: the structs of sched_ext, qdisc, HID and SMC, which are not supported yet.

use super::mem::btf_ptr::is_gpl_compatible;
use crate::env::Env;
use crate::log::reject;
use crate::rejection::{Check, Stop, errno, unsupported};
use skep_btf::{Btf, Kind, Member, Type, TypeId};
use skep_program::AttachTarget;
use skep_uapi::{ProgFlags, ProgType};

/// Structs of the kernel that programs may implement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ops {
    TcpCongestion,
    Dummy,
}

/// What a struct_ops program implements.
pub(crate) struct Target<'a> {
    /// The member.
    pub(crate) name: &'a str,
    pub(crate) proto: Type<'a>,
    strct: Type<'a>,
}

/// A parameter's suffix in the kernel's stub: it may be NULL.
const MAYBE_NULL_SUFFIX: &str = "__nullable";
const REFCOUNTED_SUFFIX: &str = "__ref";

impl<'a> Target<'a> {
    /// The member that the program implements, if it is a function pointer of a struct.
    pub(crate) fn of(env: &Env<'a>) -> Option<Target<'a>> {
        let (btf, strct) = attach_struct(env)?;
        let member = strct.members().nth(env.prog.expected_attach_type as usize)?;
        let proto = func_proto(btf, &member)?;
        Some(Target { name: member.name, proto, strct })
    }

    /// Whether argument `arg` may be NULL. The kernel's stub for the member says so.
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

fn attach_struct<'a>(env: &Env<'a>) -> Option<(&'a Btf, Type<'a>)> {
    let AttachTarget::Kernel { btf_id, .. } = &env.prog.attach else { return None };
    let btf = env.prog.kernel_btf.as_deref()?;
    let strct = btf.get(TypeId(*btf_id))?;
    Some((btf, strct))
}

fn func_proto<'a>(btf: &'a Btf, member: &Member<'a>) -> Option<Type<'a>> {
    let ptr = btf.skip_modifiers(member.ty);
    let proto = (ptr.kind() == Kind::Ptr).then(|| btf.skip_modifiers(ptr.target_id()))?;
    (proto.kind() == Kind::FuncProto).then_some(proto)
}

fn ops_named(name: &str) -> Option<Ops> {
    match name {
        "tcp_congestion_ops" => Some(Ops::TcpCongestion),
        "bpf_dummy_ops" => Some(Ops::Dummy),
        _ => None,
    }
}

/// Whether programs may implement the member. Kernel: `cfi_stubs`, `check_member`.
fn is_supported(ops: Ops, member: &str, sleepable: bool) -> bool {
    match ops {
        Ops::TcpCongestion => matches!(
            member,
            "ssthresh"
                | "cong_avoid"
                | "set_state"
                | "cwnd_event"
                | "in_ack_event"
                | "pkts_acked"
                | "min_tso_segs"
                | "cong_control"
                | "undo_cwnd"
                | "sndbuf_expand"
                | "init"
                | "release"
        ),
        Ops::Dummy => !sleepable || member == "test_sleepable",
    }
}

/// Checks what a struct_ops program says that it implements.
pub(crate) fn check_struct_ops_btf_id(env: &mut Env<'_>) -> Check {
    if env.prog.prog_type != ProgType::StructOps {
        return Ok(());
    }
    if !is_gpl_compatible(&env.prog.license) {
        reject!(env, EINVAL, "struct ops programs must have a GPL compatible license");
    }
    let Some((btf, strct)) = attach_struct(env) else {
        return Err(Stop::Reject { errno: errno::ENOTSUPP, message: String::new() });
    };
    let name = strct.name();
    let Some(ops) = ops_named(name) else {
        return unsupported(format!("struct_ops of struct {name}"));
    };
    let idx = env.prog.expected_attach_type;
    let Some(member) = strct.members().nth(idx as usize) else {
        reject!(env, EINVAL, "attach to invalid member idx {idx} of struct {name}");
    };
    let field = member.name;
    let Some(proto) = func_proto(btf, &member) else {
        reject!(env, EINVAL, "attach to invalid member {field}(@idx {idx}) of struct {name}");
    };
    if !is_supported(ops, field, env.prog.prog_flags.contains(ProgFlags::SLEEPABLE)) {
        reject!(env, EINVAL, "attach to unsupported member {field} of struct {name}");
    }
    let target = Target { name: field, proto, strct };
    let refcounted = (0..proto.params().len())
        .any(|arg| target.stub_param(arg).is_some_and(|p| p.ends_with(REFCOUNTED_SUFFIX)));
    if refcounted {
        return unsupported("struct_ops members with a reference as argument");
    }
    Ok(())
}

/// Checks a store to a struct of the kernel. Kernel: `btf_struct_access` of the operations.
pub(crate) fn check_store(env: &mut Env<'_>, id: TypeId, off: i32, size: i32) -> Check {
    let Some((btf, strct)) = attach_struct(env) else {
        return Err(Stop::Bug("store without a struct".to_string()));
    };
    let Some(ty) = btf.get(id) else { return Err(Stop::Bug(format!("no BTF type {}", id.0))) };
    match ops_named(strct.name()) {
        Some(Ops::Dummy) => {
            if ty.name() != "bpf_dummy_ops_state" {
                reject!(env, EACCES, "only access to bpf_dummy_ops_state is supported");
            }
            if i64::from(off) + i64::from(size) > i64::from(ty.stated_size().unwrap_or(0)) {
                reject!(env, EACCES, "write access at off {off} with size {size}");
            }
            Ok(())
        }
        Some(Ops::TcpCongestion) => check_tcp_store(env, (btf, ty), off, size),
        None => unsupported("stores to fields of the kernel's structs"),
    }
}

/// Fields of `tcp_sock` that congestion control may change.
const TCP_FIELDS: [&[&str]; 11] = [
    &["sk_pacing_rate"],
    &["sk_pacing_status"],
    &["icsk_ca_priv"],
    &["icsk_ack", "pending"],
    &["snd_cwnd"],
    &["snd_cwnd_cnt"],
    &["snd_cwnd_stamp"],
    &["snd_ssthresh"],
    &["ecn_flags"],
    &["app_limited"],
    &["snd_cwnd_clamp"],
];

fn check_tcp_store(env: &mut Env<'_>, (btf, ty): (&Btf, Type<'_>), off: i32, size: i32) -> Check {
    if ty.name() != "tcp_sock" {
        reject!(env, EACCES, "only read is supported");
    }
    let field = TCP_FIELDS.iter().filter_map(|path| find_field(btf, ty, path)).find(
        |&(start, end, is_array)| {
            off as u32 == start || (is_array && (start..end).contains(&(off as u32)))
        },
    );
    let Some((_, end, _)) = field else {
        reject!(env, EACCES, "no write support to tcp_sock at off {off}");
    };
    if i64::from(off) + i64::from(size) > i64::from(end) {
        reject!(
            env,
            EACCES,
            "write access at off {off} with size {size} beyond the member of tcp_sock ended at {end}"
        );
    }
    Ok(())
}

/// Where a field lies: start, end, whether it is an array. Structs at the start of others are entered.
fn find_field(btf: &Btf, ty: Type<'_>, path: &[&str]) -> Option<(u32, u32, bool)> {
    let (first, rest) = path.split_first()?;
    let mut inner = None;
    for m in ty.members() {
        let field = btf.skip_modifiers(m.ty);
        let start = m.bit_offset / 8;
        if m.name == *first {
            if !rest.is_empty() {
                let (a, b, array) = find_field(btf, field, rest)?;
                return Some((start + a, start + b, array));
            }
            let bits = u32::from(m.bitfield_size);
            let bytes = if bits != 0 { bits.div_ceil(8) } else { btf.size_of(m.ty).ok()? };
            return Some((start, start + bytes, field.kind() == Kind::Array));
        }
        if inner.is_none() && start == 0 && field.kind().is_composite() {
            inner = Some(field);
        }
    }
    find_field(btf, inner?, path)
}

//! Stores to kernel structs: a few program types may change a few fields.
//!
//! Kernel: `btf_struct_access` of the program type: `bpf_tcp_ca_btf_struct_access`,
//! `bpf_dummy_ops_btf_struct_access`, `nf_conntrack_btf_struct_access` (6.18).

use crate::check::struct_ops::{Ops, attach_struct, ops_named};
use crate::env::Facts;
use crate::env::writable::{Field, find_fields};
use crate::rejection::{Check, MemFault, Stop, reject, unsupported};
use skep_btf::{Btf, Kind, Type, TypeId};
use skep_uapi::ProgType;
use skep_uapi::errno;

/// Checks a store of `size` bytes at `off` of a kernel struct.
pub(super) fn check_store(facts: &Facts<'_>, btf: &Btf, id: TypeId, off: i32, size: i32) -> Check {
    let Some(ty) = btf.get(id) else { return Err(Stop::bug(format!("no BTF type {}", id.0))) };
    match facts.prog.prog_type {
        ProgType::StructOps => {
            match attach_struct(facts).and_then(|(_, strct)| ops_named(strct.name())) {
                Some(Ops::Dummy) => check_dummy_store(ty, off, size),
                Some(Ops::TcpCongestion) if ty.name() == "tcp_sock" => {
                    let later = match facts.rules() {
                        rules if rules.tcp_stamp_writes => 0,
                        rules if rules.tcp_limit_writes => 1,
                        rules if rules.tcp_pacing_writes => 1 + TCP_LIMITS,
                        _ => 1 + TCP_LIMITS + TCP_PACING,
                    };
                    let fields = facts.writable.fields(ty, &TCP_FIELDS[later..]);
                    check_fields(&fields, off, size, "tcp_sock")
                }
                // Tested on 6.12: the program may change its arguments.
                Some(Ops::Test) if ty.name() == "st_ops_args" => Ok(()),
                Some(Ops::SchedExt) => check_scheduler_store(facts, ty, off, size),
                Some(Ops::TcpCongestion | Ops::Test) => {
                    reject!(EACCES, MemFault::ObjectReadOnly)
                }
                None => unsupported("stores to fields of the kernel's structs"),
            }
        }
        ProgType::SchedCls | ProgType::SchedAct | ProgType::Xdp
            if matches!(ty.name(), "nf_conn" | "nf_conn___init") =>
        {
            let Some(conn) = btf.find_by_name_kind("nf_conn", Kind::Struct) else {
                return unsupported("connections without their type in the kernel's BTF");
            };
            check_fields(&find_fields(btf.ty(conn), &NF_CONN_FIELDS), off, size, "nf_conn")
        }
        _ => reject!(EACCES, MemFault::ObjectReadOnly),
    }
}

fn check_dummy_store(ty: Type<'_>, off: i32, size: i32) -> Check {
    if ty.name() != "bpf_dummy_ops_state" {
        reject!(EACCES, MemFault::DummyOpsOnly);
    }
    if i64::from(off) + i64::from(size) > i64::from(ty.stated_size().unwrap_or(0)) {
        reject!(EACCES, MemFault::BeyondDummyOps { off, size });
    }
    Ok(())
}

/// Fields of a task that schedulers may change, up to their ends. Tested on 6.18.15.
const TASK_FIELDS: [&[&str]; 3] = [&["scx", "slice"], &["scx", "dsq_vtime"], &["scx", "disallow"]];

/// Stores by a scheduler; others are refused without a message.
fn check_scheduler_store(facts: &Facts<'_>, ty: Type<'_>, off: i32, size: i32) -> Check {
    let is_inside = |field: &Field| off >= field.start as i32 && off + size <= field.end as i32;
    match ty.name() == "task_struct"
        && facts.writable.fields(ty, &TASK_FIELDS).iter().any(is_inside)
    {
        true => Ok(()),
        false => Err(Stop::refuse_silently(errno::EACCES, MemFault::SchedulerReadOnly)),
    }
}

/// Fields of a connection that packet programs may change.
const NF_CONN_FIELDS: [&[&str]; 1] = [&["mark"]];

/// Fields of `tcp_sock` that congestion control may change, most recently added first. Tested on
/// 6.18 with a store at each offset.
const TCP_FIELDS: [&[&str]; 10] = [
    &["snd_cwnd_stamp"],
    &["app_limited"],
    &["sk_pacing_rate"],
    &["sk_pacing_status"],
    &["icsk_ca_priv"],
    &["icsk_ack", "pending"],
    &["snd_cwnd"],
    &["snd_cwnd_cnt"],
    &["snd_ssthresh"],
    &["ecn_flags"],
];
/// The number of fields that were added before the first one, and before those.
const TCP_LIMITS: usize = 1;
const TCP_PACING: usize = 2;

/// Checks a store to one of the listed fields of struct `name`.
fn check_fields(fields: &[Field], off: i32, size: i32, name: &str) -> Check {
    let at = off as u32;
    let is_begun = |field: &&Field| {
        at == field.start || field.is_array && (field.start..field.end).contains(&at)
    };
    let Some(&Field { end, .. }) = fields.iter().find(is_begun) else {
        reject!(EACCES, MemFault::FieldReadOnly { name: name.into(), off });
    };
    if i64::from(off) + i64::from(size) > i64::from(end) {
        reject!(EACCES, MemFault::BeyondMember { off, size, name: name.into(), end });
    }
    Ok(())
}

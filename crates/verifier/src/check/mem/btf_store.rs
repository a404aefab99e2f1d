//! Stores to structs of the kernel: a few program types may change a few fields.
//!
//! Kernel: `btf_struct_access` of the program type: `bpf_tcp_ca_btf_struct_access`,
//! `bpf_dummy_ops_btf_struct_access`, `nf_conntrack_btf_struct_access` (6.18).

use crate::check::struct_ops::{Ops, attach_struct, ops_named};
use crate::env::Facts;
use crate::rejection::{Check, MemFault, Stop, errno, reject, unsupported};
use skep_btf::{Btf, Kind, Type, TypeId};
use skep_uapi::ProgType;

/// Checks a store of `size` bytes at `off` of a struct of the kernel.
pub(super) fn check_store(facts: &Facts<'_>, (btf, id): (&Btf, TypeId), at: (i32, i32)) -> Check {
    let Some(ty) = btf.get(id) else { return Err(Stop::Bug(format!("no BTF type {}", id.0))) };
    match facts.prog.prog_type {
        ProgType::StructOps => {
            match attach_struct(facts).and_then(|(_, strct)| ops_named(strct.name())) {
                Some(Ops::Dummy) => check_dummy_store(ty, at),
                Some(Ops::TcpCongestion) if ty.name() == "tcp_sock" => {
                    let later = match facts.rules() {
                        rules if rules.tcp_limit_writes => 0,
                        rules if rules.tcp_pacing_writes => TCP_LIMITS,
                        _ => TCP_LIMITS + TCP_PACING,
                    };
                    check_fields((btf, ty), at, ("tcp_sock", &TCP_FIELDS[later..]))
                }
                // Seen on 6.12: the arguments are the program's to change.
                Some(Ops::Test) if ty.name() == "st_ops_args" => Ok(()),
                Some(Ops::SchedExt) => check_scheduler_store(ty, at),
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
            check_fields((btf, btf.ty(conn)), at, ("nf_conn", &NF_CONN_FIELDS))
        }
        _ => reject!(EACCES, MemFault::ObjectReadOnly),
    }
}

fn check_dummy_store(ty: Type<'_>, (off, size): (i32, i32)) -> Check {
    if ty.name() != "bpf_dummy_ops_state" {
        reject!(EACCES, MemFault::DummyOpsOnly);
    }
    if i64::from(off) + i64::from(size) > i64::from(ty.stated_size().unwrap_or(0)) {
        reject!(EACCES, MemFault::BeyondDummyOps { off, size });
    }
    Ok(())
}

/// Fields of a task that schedulers may change, as far as they reach. Seen on 6.18.15.
const TASK_FIELDS: [[&str; 2]; 3] = [["scx", "slice"], ["scx", "dsq_vtime"], ["scx", "disallow"]];

/// What else a scheduler stores to is refused without a word.
fn check_scheduler_store(ty: Type<'_>, (off, size): (i32, i32)) -> Check {
    let mut fields = TASK_FIELDS.iter().filter_map(|path| find_field(ty.btf(), ty, path));
    let is_inside = |(start, end, _)| off >= start as i32 && off + size <= end as i32;
    match ty.name() == "task_struct" && fields.any(is_inside) {
        true => Ok(()),
        false => Err(Stop::refuse_silently(errno::EACCES, MemFault::SchedulerReadOnly)),
    }
}

/// Fields of a connection that packet programs may change.
const NF_CONN_FIELDS: [&[&str]; 1] = [&["mark"]];

/// Fields of `tcp_sock` that congestion control may change; those that came last are first. Seen
/// on 6.18: a store at each offset.
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
/// How many came last, and how many before them.
const TCP_LIMITS: usize = 2;
const TCP_PACING: usize = 2;

/// Checks a store to one of the listed fields of struct `name`.
fn check_fields(
    (btf, ty): (&Btf, Type<'_>),
    (off, size): (i32, i32),
    (name, fields): (&str, &[&[&str]]),
) -> Check {
    let field = fields.iter().filter_map(|path| find_field(btf, ty, path)).find(
        |&(start, end, is_array)| {
            off as u32 == start || (is_array && (start..end).contains(&(off as u32)))
        },
    );
    let Some((_, end, _)) = field else {
        reject!(EACCES, MemFault::FieldReadOnly { name: name.into(), off });
    };
    if i64::from(off) + i64::from(size) > i64::from(end) {
        reject!(EACCES, MemFault::BeyondMember { off, size, name: name.into(), end });
    }
    Ok(())
}

/// Where a field lies: start, end, whether it is an array. Structs at the start of others are
/// entered.
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

//! Section names: what `SEC("...")` means for a program.
//!
//! One row per name, as listed in libbpf's documentation ("Program Types and ELF Sections") and by
//! libbpf 1.8 itself, the newest known; older ones know fewer. For an unknown name the program type
//! is unspecified; such a program is kept, and only rejected on load.
//!
//! # Invariants
//! 1. The first matching row is used; no two rows match the same text.

use skep_uapi::AttachType as A;
use skep_uapi::ProgFlags;
use skep_uapi::ProgType as P;

/// What may follow a row's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// Not at all.
    Exact,
    /// Nothing, or `/` and the attach target.
    Optional,
}

/// How the attach target in the section name is passed to the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TargetKind {
    /// Not at all: the kernel learns it at attach time.
    None,
    /// As a `FUNC` of the kernel named by this prefix and the target.
    Func(&'static str),
    /// The `TYPEDEF` `btf_trace_<target>`.
    TracepointTypedef,
    /// As a function of another program (`freplace`).
    Program,
    /// A struct_ops map refers to the program; the section name does not give a target.
    StructOps,
}

/// The meaning of a section name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SecDef<'a> {
    pub(crate) prog_type: P,
    pub(crate) attach_type: Option<A>,
    pub(crate) flags: ProgFlags,
    pub(crate) target_kind: TargetKind,
    /// Text after the first `/` following the row's name, if any.
    pub(crate) target: Option<&'a str>,
}

type Row = (&'static str, Rest, P, Option<A>, ProgFlags, TargetKind);

const E: Rest = Rest::Exact;
const O: Rest = Rest::Optional;
const NO: ProgFlags = ProgFlags::empty();
const SLEEP: ProgFlags = ProgFlags::SLEEPABLE;
const FRAGS: ProgFlags = ProgFlags::XDP_HAS_FRAGS;
const NONE: TargetKind = TargetKind::None;
const FUNC: TargetKind = TargetKind::Func("");
const LSM: TargetKind = TargetKind::Func("bpf_lsm_");
const ITER: TargetKind = TargetKind::Func("bpf_iter_");
const TYPEDEF: TargetKind = TargetKind::TracepointTypedef;

static ROWS: &[Row] = &[
    ("socket", E, P::SocketFilter, None, NO, NONE),
    ("sk_reuseport/migrate", E, P::SkReuseport, Some(A::SkReuseportSelectOrMigrate), NO, NONE),
    ("sk_reuseport", E, P::SkReuseport, Some(A::SkReuseportSelect), NO, NONE),
    ("kprobe", O, P::Kprobe, None, NO, NONE),
    ("uprobe", O, P::Kprobe, None, NO, NONE),
    ("uprobe.s", O, P::Kprobe, None, SLEEP, NONE),
    ("kretprobe", O, P::Kprobe, None, NO, NONE),
    ("uretprobe", O, P::Kprobe, None, NO, NONE),
    ("uretprobe.s", O, P::Kprobe, None, SLEEP, NONE),
    ("kprobe.multi", O, P::Kprobe, Some(A::TraceKprobeMulti), NO, NONE),
    ("kretprobe.multi", O, P::Kprobe, Some(A::TraceKprobeMulti), NO, NONE),
    ("kprobe.session", O, P::Kprobe, Some(A::TraceKprobeSession), NO, NONE),
    ("uprobe.multi", O, P::Kprobe, Some(A::TraceUprobeMulti), NO, NONE),
    ("uretprobe.multi", O, P::Kprobe, Some(A::TraceUprobeMulti), NO, NONE),
    ("uprobe.session", O, P::Kprobe, Some(A::TraceUprobeSession), NO, NONE),
    ("uprobe.multi.s", O, P::Kprobe, Some(A::TraceUprobeMulti), SLEEP, NONE),
    ("uretprobe.multi.s", O, P::Kprobe, Some(A::TraceUprobeMulti), SLEEP, NONE),
    ("uprobe.session.s", O, P::Kprobe, Some(A::TraceUprobeSession), SLEEP, NONE),
    ("ksyscall", O, P::Kprobe, None, NO, NONE),
    ("kretsyscall", O, P::Kprobe, None, NO, NONE),
    ("usdt", O, P::Kprobe, None, NO, NONE),
    ("usdt.s", O, P::Kprobe, None, SLEEP, NONE),
    ("tc/ingress", E, P::SchedCls, Some(A::TcxIngress), NO, NONE),
    ("tc/egress", E, P::SchedCls, Some(A::TcxEgress), NO, NONE),
    ("tcx/ingress", E, P::SchedCls, Some(A::TcxIngress), NO, NONE),
    ("tcx/egress", E, P::SchedCls, Some(A::TcxEgress), NO, NONE),
    ("tc", E, P::SchedCls, None, NO, NONE),
    ("classifier", E, P::SchedCls, None, NO, NONE),
    ("action", E, P::SchedAct, None, NO, NONE),
    ("netkit/primary", E, P::SchedCls, Some(A::NetkitPrimary), NO, NONE),
    ("netkit/peer", E, P::SchedCls, Some(A::NetkitPeer), NO, NONE),
    ("tracepoint", O, P::Tracepoint, None, NO, NONE),
    ("tp", O, P::Tracepoint, None, NO, NONE),
    ("raw_tracepoint", O, P::RawTracepoint, None, NO, NONE),
    ("raw_tp", O, P::RawTracepoint, None, NO, NONE),
    ("raw_tracepoint.w", O, P::RawTracepointWritable, None, NO, NONE),
    ("raw_tp.w", O, P::RawTracepointWritable, None, NO, NONE),
    ("tp_btf", O, P::Tracing, Some(A::TraceRawTp), NO, TYPEDEF),
    // From here to `tp_btf.s` as in libbpf since Linux 7.1 (1.8 knows them, 1.5 does not).
    ("tracepoint.s", O, P::Tracepoint, None, SLEEP, NONE),
    ("tp.s", O, P::Tracepoint, None, SLEEP, NONE),
    ("raw_tracepoint.s", O, P::RawTracepoint, None, SLEEP, NONE),
    ("raw_tp.s", O, P::RawTracepoint, None, SLEEP, NONE),
    ("tp_btf.s", O, P::Tracing, Some(A::TraceRawTp), SLEEP, TYPEDEF),
    ("fentry", O, P::Tracing, Some(A::TraceFentry), NO, FUNC),
    ("fmod_ret", O, P::Tracing, Some(A::ModifyReturn), NO, FUNC),
    ("fexit", O, P::Tracing, Some(A::TraceFexit), NO, FUNC),
    ("fentry.s", O, P::Tracing, Some(A::TraceFentry), SLEEP, FUNC),
    ("fmod_ret.s", O, P::Tracing, Some(A::ModifyReturn), SLEEP, FUNC),
    ("fexit.s", O, P::Tracing, Some(A::TraceFexit), SLEEP, FUNC),
    ("freplace", O, P::Ext, None, NO, TargetKind::Program),
    ("lsm", O, P::Lsm, Some(A::LsmMac), NO, LSM),
    ("lsm.s", O, P::Lsm, Some(A::LsmMac), SLEEP, LSM),
    ("lsm_cgroup", O, P::Lsm, Some(A::LsmCgroup), NO, LSM),
    ("iter", O, P::Tracing, Some(A::TraceIter), NO, ITER),
    ("iter.s", O, P::Tracing, Some(A::TraceIter), SLEEP, ITER),
    ("syscall", E, P::Syscall, None, SLEEP, NONE),
    ("xdp.frags/devmap", E, P::Xdp, Some(A::XdpDevmap), FRAGS, NONE),
    ("xdp/devmap", E, P::Xdp, Some(A::XdpDevmap), NO, NONE),
    ("xdp.frags/cpumap", E, P::Xdp, Some(A::XdpCpumap), FRAGS, NONE),
    ("xdp/cpumap", E, P::Xdp, Some(A::XdpCpumap), NO, NONE),
    ("xdp.frags", E, P::Xdp, Some(A::Xdp), FRAGS, NONE),
    ("xdp", E, P::Xdp, Some(A::Xdp), NO, NONE),
    ("perf_event", E, P::PerfEvent, None, NO, NONE),
    ("lwt_in", E, P::LwtIn, None, NO, NONE),
    ("lwt_out", E, P::LwtOut, None, NO, NONE),
    ("lwt_xmit", E, P::LwtXmit, None, NO, NONE),
    ("lwt_seg6local", E, P::LwtSeg6local, None, NO, NONE),
    ("sockops", E, P::SockOps, Some(A::CgroupSockOps), NO, NONE),
    ("sk_skb/stream_parser", E, P::SkSkb, Some(A::SkSkbStreamParser), NO, NONE),
    ("sk_skb/stream_verdict", E, P::SkSkb, Some(A::SkSkbStreamVerdict), NO, NONE),
    ("sk_skb/verdict", E, P::SkSkb, Some(A::SkSkbVerdict), NO, NONE),
    ("sk_skb", E, P::SkSkb, None, NO, NONE),
    ("sk_msg", E, P::SkMsg, Some(A::SkMsgVerdict), NO, NONE),
    ("lirc_mode2", E, P::LircMode2, Some(A::LircMode2), NO, NONE),
    ("flow_dissector", E, P::FlowDissector, Some(A::FlowDissector), NO, NONE),
    ("cgroup_skb/ingress", E, P::CgroupSkb, Some(A::CgroupInetIngress), NO, NONE),
    ("cgroup_skb/egress", E, P::CgroupSkb, Some(A::CgroupInetEgress), NO, NONE),
    ("cgroup/skb", E, P::CgroupSkb, None, NO, NONE),
    ("cgroup/sock_create", E, P::CgroupSock, Some(A::CgroupInetSockCreate), NO, NONE),
    ("cgroup/sock_release", E, P::CgroupSock, Some(A::CgroupInetSockRelease), NO, NONE),
    ("cgroup/sock", E, P::CgroupSock, Some(A::CgroupInetSockCreate), NO, NONE),
    ("cgroup/post_bind4", E, P::CgroupSock, Some(A::CgroupInet4PostBind), NO, NONE),
    ("cgroup/post_bind6", E, P::CgroupSock, Some(A::CgroupInet6PostBind), NO, NONE),
    ("cgroup/bind4", E, P::CgroupSockAddr, Some(A::CgroupInet4Bind), NO, NONE),
    ("cgroup/bind6", E, P::CgroupSockAddr, Some(A::CgroupInet6Bind), NO, NONE),
    ("cgroup/connect4", E, P::CgroupSockAddr, Some(A::CgroupInet4Connect), NO, NONE),
    ("cgroup/connect6", E, P::CgroupSockAddr, Some(A::CgroupInet6Connect), NO, NONE),
    ("cgroup/connect_unix", E, P::CgroupSockAddr, Some(A::CgroupUnixConnect), NO, NONE),
    ("cgroup/sendmsg4", E, P::CgroupSockAddr, Some(A::CgroupUdp4Sendmsg), NO, NONE),
    ("cgroup/sendmsg6", E, P::CgroupSockAddr, Some(A::CgroupUdp6Sendmsg), NO, NONE),
    ("cgroup/sendmsg_unix", E, P::CgroupSockAddr, Some(A::CgroupUnixSendmsg), NO, NONE),
    ("cgroup/recvmsg4", E, P::CgroupSockAddr, Some(A::CgroupUdp4Recvmsg), NO, NONE),
    ("cgroup/recvmsg6", E, P::CgroupSockAddr, Some(A::CgroupUdp6Recvmsg), NO, NONE),
    ("cgroup/recvmsg_unix", E, P::CgroupSockAddr, Some(A::CgroupUnixRecvmsg), NO, NONE),
    ("cgroup/getpeername4", E, P::CgroupSockAddr, Some(A::CgroupInet4Getpeername), NO, NONE),
    ("cgroup/getpeername6", E, P::CgroupSockAddr, Some(A::CgroupInet6Getpeername), NO, NONE),
    ("cgroup/getpeername_unix", E, P::CgroupSockAddr, Some(A::CgroupUnixGetpeername), NO, NONE),
    ("cgroup/getsockname4", E, P::CgroupSockAddr, Some(A::CgroupInet4Getsockname), NO, NONE),
    ("cgroup/getsockname6", E, P::CgroupSockAddr, Some(A::CgroupInet6Getsockname), NO, NONE),
    ("cgroup/getsockname_unix", E, P::CgroupSockAddr, Some(A::CgroupUnixGetsockname), NO, NONE),
    ("cgroup/sysctl", E, P::CgroupSysctl, Some(A::CgroupSysctl), NO, NONE),
    ("cgroup/getsockopt", E, P::CgroupSockopt, Some(A::CgroupGetsockopt), NO, NONE),
    ("cgroup/setsockopt", E, P::CgroupSockopt, Some(A::CgroupSetsockopt), NO, NONE),
    ("cgroup/dev", E, P::CgroupDevice, Some(A::CgroupDevice), NO, NONE),
    ("struct_ops", O, P::StructOps, None, NO, TargetKind::StructOps),
    ("struct_ops.s", O, P::StructOps, None, SLEEP, TargetKind::StructOps),
    ("sk_lookup", E, P::SkLookup, Some(A::SkLookup), NO, NONE),
    ("netfilter", E, P::Netfilter, Some(A::Netfilter), NO, NONE),
];

/// Sections whose attach types are not modelled: libbpf 1.8 knows them, 1.7 `fsession` and
/// `fsession.s`, 1.5 none. A target may follow each.
const NOT_MODELLED: [&str; 8] = [
    "fsession",
    "fsession.s",
    "fentry.multi",
    "fentry.multi.s",
    "fexit.multi",
    "fexit.multi.s",
    "fsession.multi",
    "fsession.multi.s",
];

/// Whether libbpf knows the section (without `?`), and its programs are not supported.
pub(crate) fn is_not_modelled(section: &str) -> bool {
    let name = section.split_once('/').map_or(section, |(name, _)| name);
    NOT_MODELLED.contains(&name)
}

/// The meaning of a section name (without `?`); `None` if libbpf 1.8 does not know it, or if
/// [`is_not_modelled`].
pub(crate) fn find(section: &str) -> Option<SecDef<'_>> {
    ROWS.iter().find_map(|&(name, rest, prog_type, attach_type, flags, target_kind)| {
        let tail = section.strip_prefix(name)?;
        let target = match (rest, tail.strip_prefix('/')) {
            (_, None) if tail.is_empty() => None,
            (Rest::Optional, Some(target)) => Some(target),
            _ => return None,
        };
        Some(SecDef { prog_type, attach_type, flags, target_kind, target })
    })
}

/// The names of all rows: what a section may be called, without what it attaches to.
pub fn section_names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_finds_itself_and_no_other() {
        for row in ROWS {
            let found = find(row.0).unwrap();
            assert_eq!((found.prog_type, found.attach_type), (row.2, row.3), "{}", row.0);
            let matches = ROWS.iter().filter(|other| {
                row.0 == other.0
                    || (other.1 == O
                        && row.0.strip_prefix(other.0).is_some_and(|t| t.starts_with('/')))
            });
            assert_eq!(matches.count(), 1, "{}", row.0);
        }
    }

    #[test]
    fn targets_follow_a_slash() {
        assert_eq!(find("kprobe/do_nanosleep+0x10").unwrap().target, Some("do_nanosleep+0x10"));
        assert_eq!(find("fentry.s/f").unwrap().flags, SLEEP);
        assert_eq!(find("kprobes"), None);
        assert_eq!(find("xdp/other"), None);
        assert_eq!(find(".text"), None);
    }

    #[test]
    fn what_is_not_modelled_has_no_row() {
        for name in NOT_MODELLED {
            assert!(find(name).is_none() && is_not_modelled(&format!("{name}/f")), "{name}");
        }
        assert!(!is_not_modelled("fentry/f") && !is_not_modelled("fentry.multis"));
    }
}

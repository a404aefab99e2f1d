//! Which helpers a program may call, and with which prototype.
//!
//! Kernel: the `get_func_proto` and `allowed` of each program type, 6.18.

use super::id::HelperId;
use super::proto::HelperProto;
use super::proto_table::PROTOS;
use super::row::{AttachSet, HelperRow, HelperSet};
use super::usable_table::HELPER_ROWS;
use crate::trampoline::{Hook, lsm_hook_by, takes_d_path};
use crate::{AttachType, Behaviours, ProgType};

/// Helpers that programs tracing the socket storage functions cannot use: they would call
/// themselves.
const SK_STORAGE: [HelperId; 2] = [HelperId::SkStorageGet, HelperId::SkStorageDelete];
/// Measurements of files, which may sleep.
const IMA: [HelperId; 2] = [HelperId::ImaInodeHash, HelperId::ImaFileHash];
/// Arguments of the traced function.
const ARGUMENTS: [HelperId; 2] = [HelperId::GetFuncArg, HelperId::GetFuncArgCnt];
/// Types of programs that may not read the coarse clock on 6.18.
const WITHOUT_COARSE_TIME: [ProgType; 9] = [
    ProgType::CgroupDevice,
    ProgType::CgroupSockopt,
    ProgType::Kprobe,
    ProgType::Lsm,
    ProgType::PerfEvent,
    ProgType::RawTracepoint,
    ProgType::RawTracepointWritable,
    ProgType::Tracepoint,
    ProgType::Tracing,
];
/// What a hook returns.
const RESULTS: [HelperId; 2] = [HelperId::GetRetval, HelperId::SetRetval];
/// Options of sockets.
const OPTIONS: [HelperId; 2] = [HelperId::Setsockopt, HelperId::Getsockopt];
/// The LSM hooks whose programs of cgroups may read and set them. Every hook was asked.
const OPTION_HOOKS: [&str; 5] = [
    "bpf_lsm_inet_conn_established",
    "bpf_lsm_inet_csk_clone",
    "bpf_lsm_sock_graft",
    "bpf_lsm_socket_post_create",
    "bpf_lsm_socket_socketpair",
];
/// Attach types of programs that trace a function.
const TRACES: AttachSet =
    AttachSet(1 << AttachType::TraceFentry.number() | 1 << AttachType::TraceFexit.number());

/// The properties of a program that decide which rules apply to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookKey<'a> {
    /// Program type.
    pub prog_type: ProgType,
    /// `expected_attach_type`: a `BPF_*` attach type; for struct_ops the index of the member.
    pub attach_type: u32,
    /// Kernel symbol: the function of an iterator (`bpf_iter_tcp`), `struct.member` for struct_ops
    /// (`tcp_congestion_ops.release`), else empty.
    pub target: &'a str,
}

/// The result of checking whether a program may call a helper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelperUse {
    /// No prototype: `program of this type cannot use helper`.
    CannotUse,
    /// There is one, but not for the program's attach target: `helper call is not allowed in
    /// probe`.
    NotAllowedInProbe(&'static HelperProto),
    /// The program may call it.
    May(&'static HelperProto),
}

impl HelperRow {
    /// The row of a kind of program; `None` if the kernel has no such kind, or nothing is known
    /// about it.
    pub fn find(key: &HookKey<'_>) -> Option<&'static HelperRow> {
        HELPER_ROWS.iter().find(|row| row.fits(key))
    }

    fn fits(&self, key: &HookKey<'_>) -> bool {
        let target = || {
            self.target.is_empty()
                || self.target == key.target
                || key.target.split_once('.').is_some_and(|(name, _)| name == self.target)
        };
        self.prog_type == key.prog_type && self.attach.contains(key.attach_type) && target()
    }

    /// Whether programs of this kind may call the helper.
    pub fn helper(&self, id: HelperId) -> HelperUse {
        if !self.usable.contains(id) {
            return HelperUse::CannotUse;
        }
        let variant = self.variants.iter().copied().find(|p| p.id == id);
        let proto = variant.unwrap_or(&PROTOS[id.index()]);
        if self.not_in_probe.contains(id) {
            return HelperUse::NotAllowedInProbe(proto);
        }
        HelperUse::May(proto)
    }

    /// As [`HelperRow::helper`], for a program that is attached to the function of `key` on a
    /// kernel with these rules.
    pub fn helper_at(&self, id: HelperId, key: &HookKey<'_>, rules: &Behaviours) -> HelperUse {
        use HelperUse::{CannotUse, May, NotAllowedInProbe};
        let traces = key.prog_type == ProgType::Tracing && TRACES.contains(key.attach_type);
        let of_storage = traces && key.target.starts_with("bpf_sk_storage");
        let atomic_hook = key.prog_type == ProgType::Lsm
            && key.attach_type == AttachType::LsmMac.number()
            && lsm_hook_by(key.target, rules) != Hook::Sleepable;
        let without_options = key.prog_type == ProgType::Lsm
            && key.attach_type == AttachType::LsmCgroup.number()
            && !OPTION_HOOKS.contains(&key.target)
            || key.target == "bpf_iter_unix" && !rules.unix_iterators_set_options;
        let counts = key.prog_type == ProgType::Tracing
            && key.attach_type == AttachType::TraceRawTp.number()
            && ARGUMENTS.contains(&id);
        let creates = key.prog_type == ProgType::CgroupSock
            && [0, AttachType::CgroupInetSockCreate.number()].contains(&key.attach_type);
        let coarse =
            id == HelperId::KtimeGetCoarseNs && WITHOUT_COARSE_TIME.contains(&key.prog_type);
        let is_socket_hook =
            matches!(key.prog_type, ProgType::CgroupSock | ProgType::CgroupSockAddr);
        let without_results = is_socket_hook && !rules.results_at_socket_hooks;
        // Where the rule holds, the attach type decides, even if the type has only one.
        let of_any_attach =
            key.prog_type == ProgType::CgroupSysctl && !rules.results_at_socket_hooks;
        match self.helper(id) {
            NotAllowedInProbe(proto)
                if id == HelperId::DPath && takes_d_path(key.target, rules) =>
            {
                May(proto)
            }
            CannotUse if coarse && rules.coarse_time_everywhere => May(&PROTOS[id.index()]),
            CannotUse if counts && rules.raw_tp_arguments => May(&PROTOS[id.index()]),
            CannotUse if creates && rules.options_when_created && OPTIONS.contains(&id) => {
                May(&PROTOS[id.index()])
            }
            CannotUse if of_any_attach && RESULTS.contains(&id) => May(&PROTOS[id.index()]),
            May(_) if without_results && RESULTS.contains(&id) => CannotUse,
            May(_) if without_options && OPTIONS.contains(&id) => CannotUse,
            May(proto) if atomic_hook && IMA.contains(&id) => NotAllowedInProbe(proto),
            May(proto) if of_storage && SK_STORAGE.contains(&id) => NotAllowedInProbe(proto),
            other => other,
        }
    }

    /// Every helper with a prototype.
    pub fn usable(&self) -> HelperSet {
        self.usable
    }

    /// Whether this row comes from the kernel itself. If not, it follows the documentation.
    pub fn judged(&self) -> bool {
        self.judged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(prog_type: ProgType, attach_type: AttachType, target: &str) -> &'static HelperRow {
        let key = HookKey { prog_type, attach_type: attach_type.number(), target };
        HelperRow::find(&key).expect("a row")
    }

    #[test]
    fn every_prog_type_has_a_row_but_ext() {
        for prog_type in ProgType::all() {
            let known = HELPER_ROWS.iter().any(|row| row.prog_type == prog_type);
            let want = !matches!(prog_type, ProgType::Unspec | ProgType::Ext);
            assert_eq!(known, want, "{prog_type}");
        }
    }

    #[test]
    fn rows_are_sorted_and_targets_come_first() {
        for pair in HELPER_ROWS.windows(2) {
            assert!(pair[0].prog_type <= pair[1].prog_type);
            if pair[0].prog_type == pair[1].prog_type && pair[0].target.is_empty() {
                assert!(pair[1].target.is_empty());
            }
        }
    }

    #[test]
    fn variants_have_their_own_prototype() {
        let xdp = at(ProgType::Xdp, AttachType::Xdp, "");
        let iter = at(ProgType::Tracing, AttachType::TraceIter, "bpf_iter_task");
        let of = |row: &HelperRow| match row.helper(HelperId::XdpGetBuffLen) {
            HelperUse::May(proto) => proto.args[0].btf,
            _ => "refused",
        };
        assert_eq!(of(xdp), "");
        assert_eq!(of(iter), "xdp_buff");
    }

    /// Observed on 6.18: a spill around the call is removed in xdp, and kept in cgroup_skb.
    #[test]
    fn fastcall_of_processor_id_depends_on_the_type() {
        let fast = |prog_type, attach| match at(prog_type, attach, "")
            .helper(HelperId::GetSmpProcessorId)
        {
            HelperUse::May(proto) => proto.allow_fastcall(),
            _ => false,
        };
        assert!(fast(ProgType::Xdp, AttachType::Xdp));
        assert!(!fast(ProgType::CgroupSkb, AttachType::CgroupInetEgress));
    }

    /// Seen on 6.18.15 and 7.3.4.
    #[test]
    fn lsm_programs_of_cgroups_have_helpers_of_their_own() {
        let row = at(ProgType::Lsm, AttachType::LsmCgroup, "");
        let may = |id, target| {
            let attach_type = AttachType::LsmCgroup.number();
            let key = HookKey { prog_type: ProgType::Lsm, attach_type, target };
            matches!(row.helper_at(id, &key, &Behaviours::reference()), HelperUse::May(_))
        };
        for id in [HelperId::GetAttachCookie, HelperId::GetFuncArg, HelperId::GetFuncArgCnt] {
            assert!(!may(id, "bpf_lsm_socket_bind"));
        }
        assert!(may(HelperId::Setsockopt, "bpf_lsm_sock_graft"));
        assert!(!may(HelperId::Setsockopt, "bpf_lsm_socket_bind"));
    }

    /// Seen on 5.19 and 6.18.44.
    #[test]
    fn sysctl_programs_of_other_attach_types_read_results_on_5_19_only() {
        let attach = AttachType::CgroupInetIngress;
        let row = at(ProgType::CgroupSysctl, attach, "");
        let prog_type = ProgType::CgroupSysctl;
        let key = HookKey { prog_type, attach_type: attach.number(), target: "" };
        let may = |id, release| {
            matches!(row.helper_at(id, &key, &Behaviours::of_release(release)), HelperUse::May(_))
        };
        for id in RESULTS {
            assert!(may(id, "5.19.0-50-generic"));
            assert!(!may(id, "6.1.0-1012-oem") && !may(id, "6.18.44"));
        }
    }

    #[test]
    fn targets_narrow_the_row() {
        let task = at(ProgType::Tracing, AttachType::TraceIter, "bpf_iter_task");
        let tcp = at(ProgType::Tracing, AttachType::TraceIter, "bpf_iter_tcp");
        assert!(!task.usable().contains(HelperId::Setsockopt));
        assert!(tcp.usable().contains(HelperId::Setsockopt));
        let ca = |target| {
            let key = HookKey { prog_type: ProgType::StructOps, attach_type: 3, target };
            HelperRow::find(&key).expect("a row").usable().contains(HelperId::Setsockopt)
        };
        assert!(ca("tcp_congestion_ops.init"));
        assert!(!ca("tcp_congestion_ops.release"));
    }

    #[test]
    fn d_path_waits_for_its_target() {
        let raw_tp = at(ProgType::Tracing, AttachType::TraceRawTp, "");
        assert!(matches!(raw_tp.helper(HelperId::DPath), HelperUse::NotAllowedInProbe(_)));
        let xdp = at(ProgType::Xdp, AttachType::Xdp, "");
        assert_eq!(xdp.helper(HelperId::DPath), HelperUse::CannotUse);
    }
}

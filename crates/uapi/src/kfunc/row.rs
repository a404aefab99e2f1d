//! `Kfunc`: what is known about one, and which programs may call it.
//!
//! Kernel: the filters of the `BTF_KFUNCS` sets, `bpf_prog_type_to_kfunc_hook`, 6.18.

use super::scheduler::SchedulerCalls;
use crate::helper::HookKey;
use crate::{AttachType, Behaviours, ProgType};

bitflags::bitflags! {
    /// What the verifier needs to know about a kfunc, with the kernel's bits (`KF_*`,
    /// include/linux/btf.h).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct KfuncFlags: u32 {
        /// `KF_ACQUIRE`: the result is a reference.
        const ACQUIRE = 1 << 0;
        /// `KF_RELEASE`: the reference among the arguments is released. Implies trusted arguments.
        const RELEASE = 1 << 1;
        /// `KF_RET_NULL`: the result may be NULL.
        const RET_NULL = 1 << 2;
        /// `KF_TRUSTED_ARGS`: pointers to kernel objects must be trusted.
        const TRUSTED_ARGS = 1 << 4;
        /// `KF_SLEEPABLE`: only sleepable programs, outside critical sections.
        const SLEEPABLE = 1 << 5;
        /// `KF_DESTRUCTIVE`: wants CAP_SYS_BOOT.
        const DESTRUCTIVE = 1 << 6;
        /// `KF_RCU`: pointers to kernel objects must be trusted or RCU.
        const RCU = 1 << 7;
        /// `KF_ITER_NEW`: constructor of an iterator.
        const ITER_NEW = 1 << 8;
        /// `KF_ITER_NEXT`: next method of an iterator.
        const ITER_NEXT = 1 << 9;
        /// `KF_ITER_DESTROY`: destructor of an iterator.
        const ITER_DESTROY = 1 << 10;
        /// `KF_RCU_PROTECTED`: only inside an RCU section.
        const RCU_PROTECTED = 1 << 11;
        /// `KF_FASTCALL`: callers may rely on `r1` to `r5` being preserved.
        const FASTCALL = 1 << 12;
    }
}

bitflags::bitflags! {
    /// Groups of program types for which kfuncs are registered.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct KfuncHooks: u16 {
        /// Every program type.
        const COMMON = 1 << 0;
        /// xdp.
        const XDP = 1 << 1;
        /// sched_cls.
        const TC = 1 << 2;
        /// struct_ops.
        const STRUCT_OPS = 1 << 3;
        /// tracing, tracepoint, perf_event, lsm.
        const TRACING = 1 << 4;
        /// syscall.
        const SYSCALL = 1 << 5;
        /// cgroup_skb, cgroup_sock, cgroup_device, cgroup_sock_addr, cgroup_sockopt,
        /// cgroup_sysctl, sock_ops.
        const CGROUP = 1 << 6;
        /// sched_act.
        const SCHED_ACT = 1 << 7;
        /// sk_skb.
        const SK_SKB = 1 << 8;
        /// socket_filter.
        const SOCKET_FILTER = 1 << 9;
        /// lwt_in, lwt_out, lwt_xmit, lwt_seg6local.
        const LWT = 1 << 10;
        /// netfilter.
        const NETFILTER = 1 << 11;
        /// kprobe.
        const KPROBE = 1 << 12;
        /// Those for which kfuncs for tasks and objects were registered first, and xdp: kfuncs for
        /// packets are not for tracing.
        const FIRST = 1 << 1 | 1 << 2 | 1 << 4;
        /// For most: xdp, sched_cls, struct_ops, tracing, syscall, cgroup.
        const GENERIC = 0b111_1110;
    }
}

impl KfuncHooks {
    /// The groups that a program type belongs to: its own, and the common one.
    pub const fn of(prog_type: ProgType) -> KfuncHooks {
        let own = match prog_type {
            ProgType::Xdp => KfuncHooks::XDP,
            ProgType::SchedCls => KfuncHooks::TC,
            ProgType::StructOps => KfuncHooks::STRUCT_OPS,
            ProgType::Tracing | ProgType::Tracepoint | ProgType::PerfEvent | ProgType::Lsm => {
                KfuncHooks::TRACING
            }
            ProgType::Syscall => KfuncHooks::SYSCALL,
            ProgType::CgroupSkb
            | ProgType::CgroupSock
            | ProgType::CgroupDevice
            | ProgType::CgroupSockAddr
            | ProgType::CgroupSockopt
            | ProgType::CgroupSysctl
            | ProgType::SockOps => KfuncHooks::CGROUP,
            ProgType::SchedAct => KfuncHooks::SCHED_ACT,
            ProgType::SkSkb => KfuncHooks::SK_SKB,
            ProgType::SocketFilter => KfuncHooks::SOCKET_FILTER,
            ProgType::LwtIn | ProgType::LwtOut | ProgType::LwtXmit | ProgType::LwtSeg6local => {
                KfuncHooks::LWT
            }
            ProgType::Netfilter => KfuncHooks::NETFILTER,
            ProgType::Kprobe => KfuncHooks::KPROBE,
            _ => KfuncHooks::COMMON,
        };
        own.union(KfuncHooks::COMMON)
    }
}

/// A rule that narrows the program types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// None.
    Any,
    /// Only kprobe and uprobe sessions.
    Session,
    /// Only with the `expected_attach_type` of iterators.
    Iter,
    /// Only LSM programs.
    Lsm,
    /// For sched_ext: only these members. Other program types are not affected.
    Scheduler(SchedulerCalls),
    /// Those that count and cancel dispatched tasks.
    Slots,
}

/// One kfunc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kfunc {
    /// Name in the kernel's BTF.
    pub name: &'static str,
    /// What the verifier must know.
    pub flags: KfuncFlags,
    /// Program types that may call it, before `filter` is applied.
    pub hooks: KfuncHooks,
    /// Narrower rule.
    pub filter: Filter,
}

/// Those of keys, which some kernels give to programs that trace alone.
const KEYS: [&str; 3] = ["bpf_key_put", "bpf_lookup_system_key", "bpf_lookup_user_key"];

impl Kfunc {
    /// Whether the member of `sched_ext_ops` that the program implements may call it.
    fn scheduler_may(&self, hook: &HookKey<'_>, rules: &Behaviours) -> bool {
        let calls = match self.filter {
            Filter::Scheduler(calls) => calls,
            _ if rules.scx_slots_by_member => SchedulerCalls::DISPATCH,
            _ => SchedulerCalls::all(),
        };
        let is_asked = rules.scx_kfuncs_by_member && hook.prog_type == ProgType::StructOps;
        !is_asked || calls.hold(hook.target)
    }

    /// Whether it is one of the kernel's tests, which packet programs could call first.
    fn is_early_test(&self, prog_type: ProgType) -> bool {
        let of_packets = matches!(prog_type, ProgType::SchedCls | ProgType::SchedAct);
        of_packets && self.is_test()
    }

    fn is_test(&self) -> bool {
        self.name.starts_with("bpf_kfunc_call_")
    }

    /// Whether programs of this type might call it before kfuncs of [`KfuncHooks::GENERIC`] were
    /// registered for them.
    fn allowed_early(&self, prog_type: ProgType) -> bool {
        if self.hooks.contains(KfuncHooks::COMMON) {
            return true;
        }
        match prog_type {
            ProgType::Syscall => self.is_test(),
            ProgType::CgroupSkb | ProgType::CgroupSockAddr => {
                !self.hooks.contains(KfuncHooks::SYSCALL)
            }
            ProgType::Xdp => !self.hooks.contains(KfuncHooks::FIRST),
            ProgType::Tracing | ProgType::Lsm => true,
            other => !KfuncHooks::of(other).contains(KfuncHooks::CGROUP),
        }
    }

    /// Whether a program of this kind may call it. If not: `calling kernel function %s is not
    /// allowed`.
    pub fn allowed(&self, hook: &HookKey<'_>, rules: &Behaviours) -> bool {
        let at = |attach: AttachType| hook.attach_type == attach.number();
        let filter = match self.filter {
            Filter::Any => true,
            Filter::Session => {
                at(AttachType::TraceKprobeSession) || at(AttachType::TraceUprobeSession)
            }
            Filter::Iter => at(AttachType::TraceIter),
            Filter::Lsm => hook.prog_type == ProgType::Lsm,
            Filter::Scheduler(_) | Filter::Slots => self.scheduler_may(hook, rules),
        };
        if rules.struct_ops_kfuncs_only && !self.is_early_test(hook.prog_type) {
            return hook.prog_type == ProgType::StructOps;
        }
        let all_may = match hook.prog_type {
            ProgType::Syscall => rules.kfuncs_in_syscalls,
            ProgType::Xdp => rules.kfuncs_in_xdp,
            _ => rules.kfuncs_in_cgroups,
        };
        if !all_may && !self.allowed_early(hook.prog_type) {
            return false;
        }
        let traces = matches!(hook.prog_type, ProgType::Tracing | ProgType::Lsm);
        if traces && !rules.skb_dynptrs_traced && self.name == "bpf_dynptr_from_skb" {
            return false;
        }
        let schedules = hook.prog_type == ProgType::StructOps;
        if !schedules && !rules.scx_selects_anywhere && self.name == "scx_bpf_select_cpu_dfl" {
            return false;
        }
        let raw_tp = hook.prog_type == ProgType::RawTracepoint;
        let hooks = match hook.prog_type {
            ProgType::Tracepoint | ProgType::PerfEvent if rules.no_kfuncs_at_tracepoints => {
                KfuncHooks::COMMON
            }
            ProgType::SockOps if !rules.kfuncs_in_sock_ops => KfuncHooks::COMMON,
            _ if raw_tp && rules.kfuncs_in_raw_tp => KfuncHooks::of(ProgType::Tracing),
            prog_type => KfuncHooks::of(prog_type),
        };
        let tracing_alone = !rules.keys_for_all && KEYS.contains(&self.name);
        let own = if tracing_alone { KfuncHooks::TRACING } else { self.hooks };
        filter && own.intersects(hooks)
    }
}

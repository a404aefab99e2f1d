//! Which programs a process without all capabilities loads; what they may call is in `helper`.
//!
//! Kernel: `bpf_prog_load` (6.18).

use crate::ProgType;

/// Whether only a process with CAP_PERFMON loads programs of this type. Asked of 6.18 with CAP_BPF
/// and CAP_NET_ADMIN alone: these types give EPERM.
pub fn needs_perfmon(prog_type: ProgType) -> bool {
    matches!(
        prog_type,
        ProgType::Kprobe
            | ProgType::Tracepoint
            | ProgType::PerfEvent
            | ProgType::RawTracepoint
            | ProgType::RawTracepointWritable
            | ProgType::Tracing
            | ProgType::Lsm
            | ProgType::StructOps
            | ProgType::Ext
    )
}

/// Whether a process without CAP_BPF may load programs of this type, where the system lets it load
/// any. Documented in bpf(2) and by `kernel.unprivileged_bpf_disabled`.
pub fn is_for_unprivileged(prog_type: ProgType) -> bool {
    matches!(prog_type, ProgType::SocketFilter | ProgType::CgroupSkb)
}

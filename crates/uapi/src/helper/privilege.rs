//! What a program without all privileges may call.
//!
//! Kernel: `bpf_base_func_proto` and the `get_func_proto` of the program types, 6.18.

use super::id::HelperId;
use crate::ProgType;

/// Whether a call from a program of this type needs CAP_PERFMON. Without it: `program of this type
/// cannot use helper`.
///
/// Tested on 6.18 by loading with CAP_BPF and CAP_NET_ADMIN only: each helper in each type that can
/// be loaded that way.
pub fn needs_cap_perfmon(id: HelperId, prog_type: ProgType) -> bool {
    match prog_type {
        ProgType::Syscall => is_for_tracing(id) && !casts_socket(id),
        _ => is_for_tracing(id) || casts_socket(id),
    }
}

fn is_for_tracing(id: HelperId) -> bool {
    matches!(
        id,
        HelperId::CopyFromUser
            | HelperId::CopyFromUserTask
            | HelperId::FindVma
            | HelperId::GetBranchSnapshot
            | HelperId::GetCurrentComm
            | HelperId::GetCurrentTask
            | HelperId::GetCurrentTaskBtf
            | HelperId::GetTaskStack
            | HelperId::PerfEventRead
            | HelperId::PerfEventReadValue
            | HelperId::ProbeReadKernel
            | HelperId::ProbeReadKernelStr
            | HelperId::ProbeReadUser
            | HelperId::ProbeReadUserStr
            | HelperId::SendSignal
            | HelperId::SendSignalThread
            | HelperId::Snprintf
            | HelperId::SnprintfBtf
            | HelperId::TaskPtRegs
            | HelperId::TracePrintk
            | HelperId::TraceVprintk
            | HelperId::SysBpf
    )
}

fn casts_socket(id: HelperId) -> bool {
    matches!(
        id,
        HelperId::SkcToMptcpSock
            | HelperId::SkcToTcp6Sock
            | HelperId::SkcToTcpRequestSock
            | HelperId::SkcToTcpSock
            | HelperId::SkcToTcpTimewaitSock
            | HelperId::SkcToUdp6Sock
            | HelperId::SkcToUnixSock
    )
}

/// Whether a call of a helper common to all program types needs CAP_BPF.
///
/// Documented, not tested: the machine lets nobody load a program without CAP_BPF. Where the
/// documentation is unclear, yes.
pub fn needs_cap_bpf(id: HelperId) -> bool {
    matches!(
        id,
        HelperId::SpinLock
            | HelperId::SpinUnlock
            | HelperId::Jiffies64
            | HelperId::PerCpuPtr
            | HelperId::ThisCpuPtr
            | HelperId::TimerInit
            | HelperId::TimerSetCallback
            | HelperId::TimerStart
            | HelperId::TimerCancel
            | HelperId::KptrXchg
            | HelperId::ForEachMapElem
            | HelperId::Loop
            | HelperId::UserRingbufDrain
            | HelperId::RingbufReserveDynptr
            | HelperId::RingbufSubmitDynptr
            | HelperId::RingbufDiscardDynptr
            | HelperId::DynptrFromMem
            | HelperId::DynptrRead
            | HelperId::DynptrWrite
            | HelperId::DynptrData
            | HelperId::TaskStorageGet
            | HelperId::TaskStorageDelete
            | HelperId::CgrpStorageGet
            | HelperId::CgrpStorageDelete
            | HelperId::GetCurrentCgroupId
            | HelperId::GetCurrentAncestorCgroupId
            | HelperId::CurrentTaskUnderCgroup
            | HelperId::GetCgroupClassid
            | HelperId::GetCurrentPidTgid
            | HelperId::GetCurrentUidGid
            | HelperId::GetNsCurrentPidTgid
            | HelperId::KtimeGetCoarseNs
    )
}

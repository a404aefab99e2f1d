//! The prototypes of all helpers, one row each, in the order of the ABI; and those that differ by
//! program type.
//!
//! Columns: helper, result, arguments, properties. Every row that can be tested on Linux 6.18 was:
//! each argument was given wrong values, and the verifier's messages had to match the row.

use super::arg_shorthand::*;
use super::arg_type::{ArgType, RetType};
use super::id::HelperId as Id;
use super::proto::{HelperProto, ProtoFlags};
use super::ret;

const GPL: u8 = ProtoFlags::GPL_ONLY.bits();
const PKT: u8 = ProtoFlags::PKT_ACCESS.bits();
const SLEEP: u8 = ProtoFlags::MIGHT_SLEEP.bits();
const FAST: u8 = ProtoFlags::ALLOW_FASTCALL.bits();
const ACQ: u8 = ProtoFlags::ACQUIRE.bits();
const CAST: u8 = ProtoFlags::PTR_CAST.bits();
const MAPCALL: u8 = ProtoFlags::MAP_CALL.bits();
const MAPWRITE: u8 = ProtoFlags::MAP_WRITE.bits();

const fn row(id: Id, ret: RetType, args: [ArgType; 5], flags: u8) -> HelperProto {
    HelperProto { id, ret, args, flags: ProtoFlags::from_bits_truncate(flags) }
}

/// Indexed by the number of the helper.
#[rustfmt::skip]
pub(super) static PROTOS: [HelperProto; Id::COUNT] = [
    row(Id::Unspec, ret::VOID, [___, ___, ___, ___, ___], 0),
    row(Id::MapLookupElem, ret::VALUE_OR_NULL, [MAP, KEY, ___, ___, ___], PKT | MAPCALL),
    row(Id::MapUpdateElem, ret::INT, [MAP, KEY, VALUE, ANY, ___], PKT | MAPCALL | MAPWRITE),
    row(Id::MapDeleteElem, ret::INT, [MAP, KEY, ___, ___, ___], PKT | MAPCALL | MAPWRITE),
    row(Id::ProbeRead, ret::INT, [MEM_OUT, SIZE_OR_ZERO, ANY, ___, ___], GPL),
    row(Id::KtimeGetNs, ret::INT, [___, ___, ___, ___, ___], 0),
    row(Id::TracePrintk, ret::INT, [MEM, SIZE, ___, ___, ___], GPL),
    row(Id::GetPrandomU32, ret::INT, [___, ___, ___, ___, ___], 0),
    row(Id::GetSmpProcessorId, ret::INT, [___, ___, ___, ___, ___], FAST),
    row(Id::SkbStoreBytes, ret::INT, [CTX, ANY, MEM, SIZE, ANY], 0),
    row(Id::L3CsumReplace, ret::INT, [CTX, ANY, ANY, ANY, ANY], 0),
    row(Id::L4CsumReplace, ret::INT, [CTX, ANY, ANY, ANY, ANY], 0),
    row(Id::TailCall, ret::VOID, [CTX, MAP, ANY, ___, ___], MAPCALL),
    row(Id::CloneRedirect, ret::INT, [CTX, ANY, ANY, ___, ___], 0),
    row(Id::GetCurrentPidTgid, ret::INT, [___, ___, ___, ___, ___], 0),
    row(Id::GetCurrentUidGid, ret::INT, [___, ___, ___, ___, ___], 0),
    row(Id::GetCurrentComm, ret::INT, [MEM_OUT, SIZE, ___, ___, ___], 0),
    row(Id::GetCgroupClassid, ret::INT, [CTX, ___, ___, ___, ___], 0),
    row(Id::SkbVlanPush, ret::INT, [CTX, ANY, ANY, ___, ___], 0),
    row(Id::SkbVlanPop, ret::INT, [CTX, ___, ___, ___, ___], 0),
    row(Id::SkbGetTunnelKey, ret::INT, [CTX, MEM_OUT, SIZE, ANY, ___], 0),
    row(Id::SkbSetTunnelKey, ret::INT, [CTX, MEM, SIZE, ANY, ___], 0),
    row(Id::PerfEventRead, ret::INT, [MAP, ANY, ___, ___, ___], GPL),
    row(Id::Redirect, ret::INT, [ANY, ANY, ___, ___, ___], 0),
    row(Id::GetRouteRealm, ret::INT, [CTX, ___, ___, ___, ___], 0),
    row(Id::PerfEventOutput, ret::INT, [CTX, MAP, ANY, MEM, SIZE_OR_ZERO], GPL),
    row(Id::SkbLoadBytes, ret::INT, [CTX, ANY, MEM_OUT, SIZE, ___], 0),
    row(Id::GetStackid, ret::INT, [CTX, MAP, ANY, ___, ___], GPL),
    row(Id::CsumDiff, ret::INT, [MEM_OR_NULL, SIZE_OR_ZERO, MEM_OR_NULL, SIZE_OR_ZERO, ANY], PKT),
    row(Id::SkbGetTunnelOpt, ret::INT, [CTX, MEM_OUT, SIZE, ___, ___], 0),
    row(Id::SkbSetTunnelOpt, ret::INT, [CTX, MEM, SIZE, ___, ___], 0),
    row(Id::SkbChangeProto, ret::INT, [CTX, ANY, ANY, ___, ___], 0),
    row(Id::SkbChangeType, ret::INT, [CTX, ANY, ___, ___, ___], 0),
    row(Id::SkbUnderCgroup, ret::INT, [CTX, MAP, ANY, ___, ___], 0),
    row(Id::GetHashRecalc, ret::INT, [CTX, ___, ___, ___, ___], 0),
    row(Id::GetCurrentTask, ret::INT, [___, ___, ___, ___, ___], GPL),
    row(Id::ProbeWriteUser, ret::INT, [ANY, MEM, SIZE, ___, ___], GPL),
    row(Id::CurrentTaskUnderCgroup, ret::INT, [MAP, ANY, ___, ___, ___], 0),
    row(Id::SkbChangeTail, ret::INT, [CTX, ANY, ANY, ___, ___], 0),
    row(Id::SkbPullData, ret::INT, [CTX, ANY, ___, ___, ___], 0),
    row(Id::CsumUpdate, ret::INT, [CTX, ANY, ___, ___, ___], 0),
    row(Id::SetHashInvalid, ret::INT, [CTX, ___, ___, ___, ___], 0),
    row(Id::GetNumaNodeId, ret::INT, [___, ___, ___, ___, ___], 0),
    row(Id::SkbChangeHead, ret::INT, [CTX, ANY, ANY, ___, ___], 0),
    row(Id::XdpAdjustHead, ret::INT, [CTX, ANY, ___, ___, ___], 0),
    row(Id::ProbeReadStr, ret::INT, [MEM_OUT, SIZE_OR_ZERO, ANY, ___, ___], GPL),
    row(Id::GetSocketCookie, ret::INT, [CTX, ___, ___, ___, ___], 0),
    row(Id::GetSocketUid, ret::INT, [CTX, ___, ___, ___, ___], 0),
    row(Id::SetHash, ret::INT, [CTX, ANY, ___, ___, ___], 0),
    row(Id::Setsockopt, ret::INT, [CTX, ANY, ANY, MEM, SIZE], 0),
    row(Id::SkbAdjustRoom, ret::INT, [CTX, ANY, ANY, ANY, ___], 0),
    row(Id::RedirectMap, ret::INT, [MAP, ANY, ANY, ___, ___], MAPCALL),
    row(Id::SkRedirectMap, ret::INT, [CTX, MAP, ANY, ANY, ___], 0),
    row(Id::SockMapUpdate, ret::INT, [CTX, MAP, KEY, ANY, ___], PKT),
    row(Id::XdpAdjustMeta, ret::INT, [CTX, ANY, ___, ___, ___], 0),
    row(Id::PerfEventReadValue, ret::INT, [MAP, ANY, MEM_OUT, SIZE, ___], GPL),
    row(Id::PerfProgReadValue, ret::INT, [CTX, MEM_OUT, SIZE, ___, ___], GPL),
    row(Id::Getsockopt, ret::INT, [CTX, ANY, ANY, MEM_OUT, SIZE], 0),
    row(Id::OverrideReturn, ret::INT, [CTX, ANY, ___, ___, ___], GPL),
    row(Id::SockOpsCbFlagsSet, ret::INT, [CTX, ANY, ___, ___, ___], 0),
    row(Id::MsgRedirectMap, ret::INT, [CTX, MAP, ANY, ANY, ___], 0),
    row(Id::MsgApplyBytes, ret::INT, [CTX, ANY, ___, ___, ___], 0),
    row(Id::MsgCorkBytes, ret::INT, [CTX, ANY, ___, ___, ___], 0),
    row(Id::MsgPullData, ret::INT, [CTX, ANY, ANY, ANY, ___], 0),
    row(Id::Bind, ret::INT, [CTX, MEM, SIZE, ___, ___], 0),
    row(Id::XdpAdjustTail, ret::INT, [CTX, ANY, ___, ___, ___], 0),
    row(Id::SkbGetXfrmState, ret::INT, [CTX, ANY, MEM_OUT, SIZE, ANY], 0),
    row(Id::GetStack, ret::INT, [CTX, MEM_OUT, SIZE_OR_ZERO, ANY, ___], GPL),
    row(Id::SkbLoadBytesRelative, ret::INT, [CTX, ANY, MEM_OUT, SIZE, ANY], 0),
    row(Id::FibLookup, ret::INT, [CTX, MEM_INOUT, SIZE, ANY, ___], GPL),
    row(Id::SockHashUpdate, ret::INT, [CTX, MAP, KEY, ANY, ___], PKT),
    row(Id::MsgRedirectHash, ret::INT, [CTX, MAP, KEY, ANY, ___], 0),
    row(Id::SkRedirectHash, ret::INT, [CTX, MAP, KEY, ANY, ___], 0),
    row(Id::LwtPushEncap, ret::INT, [CTX, ANY, MEM, SIZE, ___], 0),
    row(Id::LwtSeg6StoreBytes, ret::INT, [CTX, ANY, MEM, SIZE, ___], 0),
    row(Id::LwtSeg6AdjustSrh, ret::INT, [CTX, ANY, ANY, ___, ___], 0),
    row(Id::LwtSeg6Action, ret::INT, [CTX, ANY, MEM, SIZE, ___], 0),
    row(Id::RcRepeat, ret::INT, [CTX, ___, ___, ___, ___], GPL),
    row(Id::RcKeydown, ret::INT, [CTX, ANY, ANY, ANY, ___], GPL),
    row(Id::SkbCgroupId, ret::INT, [CTX, ___, ___, ___, ___], 0),
    row(Id::GetCurrentCgroupId, ret::INT, [___, ___, ___, ___, ___], 0),
    row(Id::GetLocalStorage, ret::VALUE, [MAP, ANY, ___, ___, ___], 0),
    row(Id::SkSelectReuseport, ret::INT, [CTX, MAP, KEY, ANY, ___], 0),
    row(Id::SkbAncestorCgroupId, ret::INT, [CTX, ANY, ___, ___, ___], 0),
    row(Id::SkLookupTcp, ret::SOCKET_OR_NULL, [CTX, MEM, SIZE_OR_ZERO, ANY, ANY], PKT | ACQ),
    row(Id::SkLookupUdp, ret::SOCKET_OR_NULL, [CTX, MEM, SIZE_OR_ZERO, ANY, ANY], PKT | ACQ),
    row(Id::SkRelease, ret::INT, [BTF_SOCK_REL, ___, ___, ___, ___], 0),
    row(Id::MapPushElem, ret::INT, [MAP, VALUE, ANY, ___, ___], PKT | MAPCALL | MAPWRITE),
    row(Id::MapPopElem, ret::INT, [MAP, VALUE_OUT, ___, ___, ___], MAPCALL | MAPWRITE),
    row(Id::MapPeekElem, ret::INT, [MAP, VALUE_OUT, ___, ___, ___], MAPCALL),
    row(Id::MsgPushData, ret::INT, [CTX, ANY, ANY, ANY, ___], 0),
    row(Id::MsgPopData, ret::INT, [CTX, ANY, ANY, ANY, ___], 0),
    row(Id::RcPointerRel, ret::INT, [CTX, ANY, ANY, ___, ___], GPL),
    row(Id::SpinLock, ret::VOID, [SPIN_LOCK, ___, ___, ___, ___], 0),
    row(Id::SpinUnlock, ret::VOID, [SPIN_LOCK, ___, ___, ___, ___], 0),
    row(Id::SkFullsock, ret::SOCKET_OR_NULL, [SOCK_COMMON, ___, ___, ___, ___], CAST),
    row(Id::TcpSock, ret::TCP_SOCK_OR_NULL, [SOCK_COMMON, ___, ___, ___, ___], CAST),
    row(Id::SkbEcnSetCe, ret::INT, [CTX, ___, ___, ___, ___], 0),
    row(Id::GetListenerSock, ret::SOCKET_OR_NULL, [SOCK_COMMON, ___, ___, ___, ___], 0),
    row(Id::SkcLookupTcp, ret::SOCK_COMMON_OR_NULL, [CTX, MEM, SIZE_OR_ZERO, ANY, ANY], PKT | ACQ),
    row(Id::TcpCheckSyncookie, ret::INT, [BTF_SOCK, MEM, SIZE, MEM, SIZE], GPL | PKT),
    row(Id::SysctlGetName, ret::INT, [CTX, MEM_INOUT, SIZE, ANY, ___], 0),
    row(Id::SysctlGetCurrentValue, ret::INT, [CTX, MEM_OUT, SIZE, ___, ___], 0),
    row(Id::SysctlGetNewValue, ret::INT, [CTX, MEM_OUT, SIZE, ___, ___], 0),
    row(Id::SysctlSetNewValue, ret::INT, [CTX, MEM, SIZE, ___, ___], 0),
    row(Id::Strtol, ret::INT, [MEM, SIZE, ANY, out(8), ___], 0),
    row(Id::Strtoul, ret::INT, [MEM, SIZE, ANY, out(8), ___], 0),
    row(Id::SkStorageGet, ret::VALUE_OR_NULL, [MAP, BTF_SOCK, VALUE_OR_NULL, ANY, ___], 0),
    row(Id::SkStorageDelete, ret::INT, [MAP, BTF_SOCK, ___, ___, ___], 0),
    row(Id::SendSignal, ret::INT, [ANY, ___, ___, ___, ___], 0),
    row(Id::TcpGenSyncookie, ret::INT, [BTF_SOCK, MEM, SIZE, MEM, SIZE], GPL | PKT),
    row(Id::SkbOutput, ret::INT, [btf("sk_buff"), MAP, ANY, MEM, SIZE_OR_ZERO], GPL),
    row(Id::ProbeReadUser, ret::INT, [MEM_OUT, SIZE_OR_ZERO, ANY, ___, ___], GPL),
    row(Id::ProbeReadKernel, ret::INT, [MEM_OUT, SIZE_OR_ZERO, ANY, ___, ___], GPL),
    row(Id::ProbeReadUserStr, ret::INT, [MEM_OUT, SIZE_OR_ZERO, ANY, ___, ___], GPL),
    row(Id::ProbeReadKernelStr, ret::INT, [MEM_OUT, SIZE_OR_ZERO, ANY, ___, ___], GPL),
    row(Id::TcpSendAck, ret::INT, [btf("tcp_sock"), ANY, ___, ___, ___], 0),
    row(Id::SendSignalThread, ret::INT, [ANY, ___, ___, ___, ___], 0),
    row(Id::Jiffies64, ret::INT, [___, ___, ___, ___, ___], 0),
    row(Id::ReadBranchRecords, ret::INT, [CTX, MEM_INOUT_OR_NULL, SIZE_OR_ZERO, ANY, ___], GPL),
    row(Id::GetNsCurrentPidTgid, ret::INT, [ANY, ANY, MEM_OUT, SIZE, ___], 0),
    row(Id::XdpOutput, ret::INT, [btf("xdp_buff"), MAP, ANY, MEM, SIZE_OR_ZERO], GPL),
    row(Id::GetNetnsCookie, ret::INT, [CTX_OR_NULL, ___, ___, ___, ___], 0),
    row(Id::GetCurrentAncestorCgroupId, ret::INT, [ANY, ___, ___, ___, ___], 0),
    row(Id::SkAssign, ret::INT, [CTX, BTF_SOCK, ANY, ___, ___], 0),
    row(Id::KtimeGetBootNs, ret::INT, [___, ___, ___, ___, ___], 0),
    row(Id::SeqPrintf, ret::INT, [btf("seq_file"), MEM, SIZE, MEM_OR_NULL, SIZE_OR_ZERO], GPL),
    row(Id::SeqWrite, ret::INT, [btf("seq_file"), MEM, SIZE_OR_ZERO, ___, ___], GPL),
    row(Id::SkCgroupId, ret::INT, [BTF_SOCK, ___, ___, ___, ___], 0),
    row(Id::SkAncestorCgroupId, ret::INT, [BTF_SOCK, ANY, ___, ___, ___], 0),
    row(Id::RingbufOutput, ret::INT, [MAP, MEM, SIZE_OR_ZERO, ANY, ___], 0),
    row(Id::RingbufReserve, ret::RINGBUF_MEM_OR_NULL, [MAP, ALLOC_SIZE, ANY, ___, ___], ACQ),
    row(Id::RingbufSubmit, ret::VOID, [RINGBUF_MEM_REL, ANY, ___, ___, ___], 0),
    row(Id::RingbufDiscard, ret::VOID, [RINGBUF_MEM_REL, ANY, ___, ___, ___], 0),
    row(Id::RingbufQuery, ret::INT, [MAP, ANY, ___, ___, ___], 0),
    row(Id::CsumLevel, ret::INT, [CTX, ANY, ___, ___, ___], 0),
    row(Id::SkcToTcp6Sock, ret::btf_or_null("tcp6_sock"), [BTF_SOCK, ___, ___, ___, ___], CAST),
    row(Id::SkcToTcpSock, ret::btf_or_null("tcp_sock"), [BTF_SOCK, ___, ___, ___, ___], CAST),
    row(Id::SkcToTcpTimewaitSock, ret::btf_or_null("tcp_timewait_sock"), [BTF_SOCK, ___, ___, ___, ___], CAST),
    row(Id::SkcToTcpRequestSock, ret::btf_or_null("tcp_request_sock"), [BTF_SOCK, ___, ___, ___, ___], CAST),
    row(Id::SkcToUdp6Sock, ret::btf_or_null("udp6_sock"), [BTF_SOCK, ___, ___, ___, ___], CAST),
    row(Id::GetTaskStack, ret::INT, [btf("task_struct"), MEM_OUT, SIZE_OR_ZERO, ANY, ___], 0),
    row(Id::LoadHdrOpt, ret::INT, [CTX, MEM_INOUT, SIZE, ANY, ___], 0),
    row(Id::StoreHdrOpt, ret::INT, [CTX, MEM, SIZE, ANY, ___], 0),
    row(Id::ReserveHdrOpt, ret::INT, [CTX, ANY, ANY, ___, ___], 0),
    row(Id::InodeStorageGet, ret::VALUE_OR_NULL, [MAP, btf_or_null("inode"), VALUE_OR_NULL, ANY, ___], 0),
    row(Id::InodeStorageDelete, ret::INT, [MAP, btf_or_null("inode"), ___, ___, ___], 0),
    row(Id::DPath, ret::INT, [btf("path"), MEM_OUT, SIZE_OR_ZERO, ___, ___], 0),
    row(Id::CopyFromUser, ret::INT, [MEM_OUT, SIZE_OR_ZERO, ANY, ___, ___], SLEEP),
    row(Id::SnprintfBtf, ret::INT, [MEM_INOUT, SIZE, MEM, SIZE, ANY], 0),
    row(Id::SeqPrintfBtf, ret::INT, [btf("seq_file"), MEM, SIZE_OR_ZERO, ANY, ___], GPL),
    row(Id::SkbCgroupClassid, ret::INT, [CTX, ___, ___, ___, ___], 0),
    row(Id::RedirectNeigh, ret::INT, [ANY, MEM_OR_NULL, SIZE_OR_ZERO, ANY, ___], 0),
    row(Id::PerCpuPtr, ret::MEM_OR_BTF_OR_NULL, [PERCPU, ANY, ___, ___, ___], 0),
    row(Id::ThisCpuPtr, ret::MEM_OR_BTF, [PERCPU, ___, ___, ___, ___], 0),
    row(Id::RedirectPeer, ret::INT, [ANY, ANY, ___, ___, ___], 0),
    row(Id::TaskStorageGet, ret::VALUE_OR_NULL, [MAP, btf_or_null("task_struct"), VALUE_OR_NULL, ANY, ___], 0),
    row(Id::TaskStorageDelete, ret::INT, [MAP, btf_or_null("task_struct"), ___, ___, ___], 0),
    row(Id::GetCurrentTaskBtf, ret::btf_trusted("task_struct"), [___, ___, ___, ___, ___], GPL),
    row(Id::BprmOptsSet, ret::INT, [btf("linux_binprm"), ANY, ___, ___, ___], 0),
    row(Id::KtimeGetCoarseNs, ret::INT, [___, ___, ___, ___, ___], 0),
    row(Id::ImaInodeHash, ret::INT, [btf("inode"), MEM_OUT, SIZE, ___, ___], SLEEP),
    row(Id::SockFromFile, ret::btf_or_null("socket"), [btf("file"), ___, ___, ___, ___], 0),
    row(Id::CheckMtu, ret::INT, [CTX, ANY, inout(4), ANY, ANY], GPL),
    row(Id::ForEachMapElem, ret::INT, [MAP, FUNC, STACK_OR_NULL, ANY, ___], MAPCALL),
    row(Id::Snprintf, ret::INT, [MEM_INOUT_OR_NULL, SIZE_OR_ZERO, CONST_STR, MEM_OR_NULL, SIZE_OR_ZERO], GPL),
    row(Id::SysBpf, ret::INT, [ANY, MEM, SIZE, ___, ___], 0),
    row(Id::BtfFindByNameKind, ret::INT, [MEM, SIZE, ANY, ANY, ___], 0),
    row(Id::SysClose, ret::INT, [ANY, ___, ___, ___, ___], 0),
    row(Id::TimerInit, ret::INT, [TIMER, MAP, ANY, ___, ___], GPL),
    row(Id::TimerSetCallback, ret::INT, [TIMER, FUNC, ___, ___, ___], GPL),
    row(Id::TimerStart, ret::INT, [TIMER, ANY, ANY, ___, ___], GPL),
    row(Id::TimerCancel, ret::INT, [TIMER, ___, ___, ___, ___], GPL),
    row(Id::GetFuncIp, ret::INT, [CTX, ___, ___, ___, ___], GPL),
    row(Id::GetAttachCookie, ret::INT, [CTX, ___, ___, ___, ___], 0),
    row(Id::TaskPtRegs, ret::btf("pt_regs"), [btf("task_struct"), ___, ___, ___, ___], GPL),
    row(Id::GetBranchSnapshot, ret::INT, [MEM_OUT, SIZE_OR_ZERO, ___, ___, ___], GPL),
    row(Id::TraceVprintk, ret::INT, [MEM, SIZE, MEM_OR_NULL, SIZE_OR_ZERO, ___], GPL),
    row(Id::SkcToUnixSock, ret::btf_or_null("unix_sock"), [BTF_SOCK, ___, ___, ___, ___], 0),
    row(Id::KallsymsLookupName, ret::INT, [MEM, SIZE_OR_ZERO, ANY, out(8), ___], 0),
    row(Id::FindVma, ret::INT, [btf("task_struct"), ANY, FUNC, STACK_OR_NULL, ANY], 0),
    row(Id::Loop, ret::INT, [ANY, FUNC, STACK_OR_NULL, ANY, ___], 0),
    row(Id::Strncmp, ret::INT, [MEM, SIZE, CONST_STR, ___, ___], 0),
    row(Id::GetFuncArg, ret::INT, [CTX, ANY, out(8), ___, ___], 0),
    row(Id::GetFuncRet, ret::INT, [CTX, out(8), ___, ___, ___], 0),
    row(Id::GetFuncArgCnt, ret::INT, [CTX, ___, ___, ___, ___], 0),
    row(Id::GetRetval, ret::INT, [___, ___, ___, ___, ___], 0),
    row(Id::SetRetval, ret::INT, [ANY, ___, ___, ___, ___], 0),
    row(Id::XdpGetBuffLen, ret::INT, [CTX, ___, ___, ___, ___], 0),
    row(Id::XdpLoadBytes, ret::INT, [CTX, ANY, MEM_OUT, SIZE, ___], 0),
    row(Id::XdpStoreBytes, ret::INT, [CTX, ANY, MEM, SIZE, ___], 0),
    row(Id::CopyFromUserTask, ret::INT, [MEM_OUT, SIZE_OR_ZERO, ANY, btf("task_struct"), ANY], GPL | SLEEP),
    row(Id::SkbSetTstamp, ret::INT, [CTX, ANY, ANY, ___, ___], 0),
    row(Id::ImaFileHash, ret::INT, [btf("file"), MEM_OUT, SIZE, ___, ___], SLEEP),
    row(Id::KptrXchg, ret::btf_or_null(""), [KPTR_DEST, KPTR_REL, ___, ___, ___], ACQ),
    row(Id::MapLookupPercpuElem, ret::VALUE_OR_NULL, [MAP, KEY, ANY, ___, ___], PKT | MAPCALL),
    row(Id::SkcToMptcpSock, ret::btf_or_null("mptcp_sock"), [SOCK_COMMON, ___, ___, ___, ___], CAST),
    row(Id::DynptrFromMem, ret::INT, [MEM_OUT, SIZE_OR_ZERO, ANY, DYNPTR_LOCAL_OUT, ___], 0),
    row(Id::RingbufReserveDynptr, ret::INT, [MAP, ANY, ANY, DYNPTR_RINGBUF_OUT, ___], 0),
    row(Id::RingbufSubmitDynptr, ret::VOID, [DYNPTR_RINGBUF_REL, ANY, ___, ___, ___], 0),
    row(Id::RingbufDiscardDynptr, ret::VOID, [DYNPTR_RINGBUF_REL, ANY, ___, ___, ___], 0),
    row(Id::DynptrRead, ret::INT, [MEM_OUT, SIZE_OR_ZERO, DYNPTR_RDONLY, ANY, ANY], 0),
    row(Id::DynptrWrite, ret::INT, [DYNPTR_RDONLY, ANY, MEM, SIZE_OR_ZERO, ANY], 0),
    row(Id::DynptrData, ret::DYNPTR_MEM_OR_NULL, [DYNPTR_RDONLY, ANY, ALLOC_SIZE, ___, ___], 0),
    row(Id::TcpRawGenSyncookieIpv4, ret::INT, [fixed(20), MEM, SIZE_OR_ZERO, ___, ___], GPL | PKT),
    row(Id::TcpRawGenSyncookieIpv6, ret::INT, [fixed(40), MEM, SIZE_OR_ZERO, ___, ___], GPL | PKT),
    row(Id::TcpRawCheckSyncookieIpv4, ret::INT, [fixed(20), fixed(20), ___, ___, ___], GPL | PKT),
    row(Id::TcpRawCheckSyncookieIpv6, ret::INT, [fixed(40), fixed(20), ___, ___, ___], GPL | PKT),
    row(Id::KtimeGetTaiNs, ret::INT, [___, ___, ___, ___, ___], 0),
    row(Id::UserRingbufDrain, ret::INT, [MAP, FUNC, STACK_OR_NULL, ANY, ___], 0),
    row(Id::CgrpStorageGet, ret::VALUE_OR_NULL, [MAP, btf_or_null("cgroup"), VALUE_OR_NULL, ANY, ___], 0),
    row(Id::CgrpStorageDelete, ret::INT, [MAP, btf_or_null("cgroup"), ___, ___, ___], 0),
];

/// `bpf_get_cgroup_classid`: see the rows of `usable_table.rs` that name it.
#[rustfmt::skip]
pub(super) static GET_CGROUP_CLASSID_CURR: HelperProto =
    row(Id::GetCgroupClassid, ret::INT, [___, ___, ___, ___, ___], 0);
/// `bpf_get_socket_cookie`: see the rows of `usable_table.rs` that name it.
#[rustfmt::skip]
pub(super) static GET_SOCKET_COOKIE_SOCK: HelperProto =
    row(Id::GetSocketCookie, ret::INT, [BTF_SOCK_OR_NULL, ___, ___, ___, ___], 0);
/// `bpf_xdp_get_buff_len`: see the rows of `usable_table.rs` that name it.
#[rustfmt::skip]
pub(super) static XDP_GET_BUFF_LEN_TRACE: HelperProto =
    row(Id::XdpGetBuffLen, ret::INT, [btf("xdp_buff"), ___, ___, ___, ___], 0);
/// `bpf_setsockopt`: see the rows of `usable_table.rs` that name it.
#[rustfmt::skip]
pub(super) static SETSOCKOPT_SOCK: HelperProto =
    row(Id::Setsockopt, ret::INT, [BTF_SOCK, ANY, ANY, MEM, SIZE], 0);
/// `bpf_getsockopt`: see the rows of `usable_table.rs` that name it.
#[rustfmt::skip]
pub(super) static GETSOCKOPT_SOCK: HelperProto =
    row(Id::Getsockopt, ret::INT, [BTF_SOCK, ANY, ANY, MEM_OUT, SIZE], 0);
/// `bpf_sk_assign`: see the rows of `usable_table.rs` that name it.
#[rustfmt::skip]
pub(super) static SK_ASSIGN_SK_LOOKUP: HelperProto =
    row(Id::SkAssign, ret::INT, [CTX, SOCKET_OR_NULL, ANY, ___, ___], 0);
/// `bpf_sk_storage_get`: see the rows of `usable_table.rs` that name it.
#[rustfmt::skip]
pub(super) static SK_STORAGE_GET_CGROUP_SOCK: HelperProto =
    row(Id::SkStorageGet, ret::VALUE_OR_NULL, [MAP, CTX, VALUE_OR_NULL, ANY, ___], 0);
/// `bpf_get_stackid`: see the rows of `usable_table.rs` that name it.
#[rustfmt::skip]
pub(super) static GET_STACKID_PERF_EVENT: HelperProto =
    row(Id::GetStackid, ret::INT, [CTX, MAP, ANY, ___, ___], 0);
/// `bpf_sk_storage_get`: see the rows of `usable_table.rs` that name it.
#[rustfmt::skip]
pub(super) static SK_STORAGE_GET_TRACE: HelperProto =
    row(Id::SkStorageGet, ret::VALUE_OR_NULL, [MAP, btf_or_null("sock_common"), VALUE_OR_NULL, ANY, ___], 0);
/// `bpf_sk_storage_delete`: see the rows of `usable_table.rs` that name it.
#[rustfmt::skip]
pub(super) static SK_STORAGE_DELETE_TRACE: HelperProto =
    row(Id::SkStorageDelete, ret::INT, [MAP, btf_or_null("sock_common"), ___, ___, ___], 0);
/// `bpf_get_smp_processor_id`: see the rows of `usable_table.rs` that name it.
#[rustfmt::skip]
pub(super) static GET_SMP_PROCESSOR_ID_RAW: HelperProto =
    row(Id::GetSmpProcessorId, ret::INT, [___, ___, ___, ___, ___], 0);
/// `bpf_get_func_ip`: see the rows of `usable_table.rs` that name it.
#[rustfmt::skip]
pub(super) static GET_FUNC_IP_MULTI: HelperProto =
    row(Id::GetFuncIp, ret::INT, [CTX, ___, ___, ___, ___], 0);

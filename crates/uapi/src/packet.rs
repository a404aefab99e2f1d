//! Packets: which programs may write to them, pass them to helpers or read them with legacy loads,
//! and what invalidates packet pointers.
//!
//! Kernel: `may_access_direct_pkt_data`, `may_access_skb`, `bpf_helper_changes_pkt_data`, 6.18:
//! each type and each helper was tried.

use crate::ProgType;
use crate::helper::{HelperId, HelperProto};

/// Whether the program may write to the packet directly. If not: `cannot write into packet`.
pub fn may_write_packet(prog_type: ProgType) -> bool {
    matches!(
        prog_type,
        ProgType::SchedCls
            | ProgType::SchedAct
            | ProgType::Xdp
            | ProgType::LwtXmit
            | ProgType::SkSkb
            | ProgType::SkMsg
            | ProgType::CgroupSockopt
    )
}

/// Whether the helper may be given packet memory. If not: `helper access to the packet is not
/// allowed`.
pub fn may_pass_packet(prog_type: ProgType, proto: &HelperProto) -> bool {
    match prog_type {
        ProgType::CgroupSockopt => true,
        ProgType::LwtIn
        | ProgType::LwtOut
        | ProgType::LwtSeg6local
        | ProgType::SkReuseport
        | ProgType::FlowDissector
        | ProgType::CgroupSkb
        | ProgType::SchedCls
        | ProgType::SchedAct
        | ProgType::Xdp
        | ProgType::LwtXmit
        | ProgType::SkSkb
        | ProgType::SkMsg => proto.pkt_access(),
        _ => false,
    }
}

/// Whether the program may use BPF_LD_ABS and BPF_LD_IND. If not: `BPF_LD_[ABS|IND] instructions
/// not allowed for this program type`.
pub fn may_access_skb(prog_type: ProgType) -> bool {
    matches!(prog_type, ProgType::SocketFilter | ProgType::SchedCls | ProgType::SchedAct)
}

/// Whether a call of the helper invalidates all packet pointers.
pub fn helper_changes_pkt_data(helper: HelperId) -> bool {
    matches!(
        helper,
        HelperId::SkbStoreBytes
            | HelperId::L3CsumReplace
            | HelperId::L4CsumReplace
            | HelperId::CloneRedirect
            | HelperId::SkbVlanPush
            | HelperId::SkbVlanPop
            | HelperId::SkbChangeProto
            | HelperId::SkbChangeTail
            | HelperId::SkbPullData
            | HelperId::SkbChangeHead
            | HelperId::SkbAdjustRoom
            | HelperId::XdpAdjustHead
            | HelperId::XdpAdjustMeta
            | HelperId::XdpAdjustTail
            | HelperId::LwtPushEncap
            | HelperId::LwtSeg6StoreBytes
            | HelperId::LwtSeg6AdjustSrh
            | HelperId::LwtSeg6Action
            | HelperId::StoreHdrOpt
            | HelperId::MsgPullData
            | HelperId::MsgPushData
            | HelperId::MsgPopData
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::helper::default_proto;

    /// Seen on 6.18.
    #[test]
    fn helpers_take_packets_by_type_and_prototype() {
        let key = default_proto(HelperId::MapLookupElem);
        let read = default_proto(HelperId::ProbeReadKernel);
        assert!(may_pass_packet(ProgType::CgroupSkb, key));
        assert!(!may_pass_packet(ProgType::CgroupSkb, read));
        assert!(!may_pass_packet(ProgType::SockOps, key));
        assert!(may_pass_packet(ProgType::CgroupSockopt, read));
    }
}

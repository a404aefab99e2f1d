//! Which `expected_attach_type` a program type takes, and which program types name a kernel type to
//! attach to.
//!
//! Kernel: `bpf_prog_load_check_attach` (6.18); tested by loading every program type with every
//! number, with and without a kernel type.

use crate::helper::AttachSet;
use crate::{AttachType, ProgType};

/// Largest number of a type in BTF; larger ones are rejected before the verifier sees the program.
pub const BTF_MAX_TYPE: u32 = 0x000f_ffff;

/// Attach types of the program types that do not take every number.
const ROWS: [(ProgType, &[AttachType]); 9] = {
    use AttachType as A;
    [
        (ProgType::CgroupSkb, &[A::CgroupInetIngress, A::CgroupInetEgress]),
        (
            ProgType::CgroupSock,
            &[
                // 0, which stands for none.
                A::CgroupInetIngress,
                A::CgroupInetSockCreate,
                A::CgroupInetSockRelease,
                A::CgroupInet4PostBind,
                A::CgroupInet6PostBind,
            ],
        ),
        (
            ProgType::CgroupSockAddr,
            &[
                A::CgroupInet4Bind,
                A::CgroupInet6Bind,
                A::CgroupInet4Connect,
                A::CgroupInet6Connect,
                A::CgroupUnixConnect,
                A::CgroupUdp4Sendmsg,
                A::CgroupUdp6Sendmsg,
                A::CgroupUnixSendmsg,
                A::CgroupUdp4Recvmsg,
                A::CgroupUdp6Recvmsg,
                A::CgroupUnixRecvmsg,
                A::CgroupInet4Getpeername,
                A::CgroupInet6Getpeername,
                A::CgroupUnixGetpeername,
                A::CgroupInet4Getsockname,
                A::CgroupInet6Getsockname,
                A::CgroupUnixGetsockname,
            ],
        ),
        (
            ProgType::SkReuseport,
            &[A::CgroupInetIngress, A::SkReuseportSelect, A::SkReuseportSelectOrMigrate],
        ),
        (ProgType::CgroupSockopt, &[A::CgroupGetsockopt, A::CgroupSetsockopt]),
        (ProgType::Ext, &[A::CgroupInetIngress]),
        (ProgType::SkLookup, &[A::SkLookup]),
        (ProgType::Syscall, &[A::CgroupInetIngress]),
        (ProgType::Netfilter, &[A::Netfilter]),
    ]
};

/// The numbers that a program of this type may be loaded with.
pub fn attach_types(prog_type: ProgType) -> AttachSet {
    match ROWS.iter().find(|(row, _)| *row == prog_type) {
        Some((_, types)) => AttachSet(types.iter().fold(0, |set, ty| set | 1 << ty.number())),
        None => AttachSet(u64::MAX),
    }
}

/// Whether a kernel whose attach types end before `end` takes every number for a program of this
/// type, because all of the type's own came later: 5.10 for sk_reuseport programs.
pub fn takes_any_attach(prog_type: ProgType, end: u32) -> bool {
    // 0 stands for none.
    let own = attach_types(prog_type).0 & !1;
    own != 0 && own.trailing_zeros() >= end
}

/// Whether a program of this type may name a kernel type that it attaches to.
pub fn attaches_to_btf(prog_type: ProgType) -> bool {
    matches!(prog_type, ProgType::Tracing | ProgType::Lsm | ProgType::StructOps | ProgType::Ext)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_whose_attach_types_came_later_takes_any() {
        let end = AttachType::SkReuseportSelect.number();
        assert!(takes_any_attach(ProgType::SkReuseport, end));
        assert!(!takes_any_attach(ProgType::SkReuseport, end + 1));
        for prog_type in [ProgType::Ext, ProgType::Syscall, ProgType::CgroupSkb, ProgType::Xdp] {
            assert!(!takes_any_attach(prog_type, end), "{prog_type}");
        }
    }

    #[test]
    fn types_with_rows_take_no_other_number() {
        for (prog_type, types) in ROWS {
            let taken = (0..64).filter(|&number| attach_types(prog_type).contains(number)).count();
            assert_eq!(taken, types.len(), "{prog_type}");
            assert!(!attach_types(prog_type).contains(u32::MAX));
        }
        assert!(attach_types(ProgType::SockOps).contains(u32::MAX));
    }
}

//! What a program may return.
//!
//! Kernel: `check_return_code`, 6.18. Tested with a program of each type and attach type that
//! returns an unknown number; the rejection named the range.

use crate::helper::AttachSet;
use crate::{AttachType, ProgType};

/// Inclusive range of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetvalRange {
    /// Smallest allowed.
    pub min: i32,
    /// Largest allowed.
    pub max: i32,
}

/// What is required of `r0` at exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetvalRule {
    /// Any number. `r0` must be initialized, and not a pointer if the program is unprivileged.
    Any,
    /// A number in the range.
    Range(RetvalRange),
    /// Depends on the function that the program is attached to, or on the program that it replaces.
    Target,
}

struct RetvalRow {
    prog_type: ProgType,
    attach: AttachSet,
    rule: RetvalRule,
}

const ALL: AttachSet = AttachSet(u64::MAX);

const fn row(prog_type: ProgType, attach: AttachSet, min: i32, max: i32) -> RetvalRow {
    RetvalRow { prog_type, attach, rule: RetvalRule::Range(RetvalRange { min, max }) }
}

const fn target(prog_type: ProgType, attach: AttachSet) -> RetvalRow {
    RetvalRow { prog_type, attach, rule: RetvalRule::Target }
}

const fn set(types: &[AttachType]) -> AttachSet {
    let mut bits = 0;
    let mut i = 0;
    while i < types.len() {
        bits |= 1 << types[i].number();
        i += 1;
    }
    AttachSet(bits)
}

const SESSION: AttachSet = set(&[AttachType::TraceKprobeSession, AttachType::TraceUprobeSession]);
const EGRESS: AttachSet = set(&[AttachType::CgroupInetEgress]);
const BIND: AttachSet = set(&[AttachType::CgroupInet4Bind, AttachType::CgroupInet6Bind]);
const NAMES: AttachSet = set(&[
    AttachType::CgroupUdp4Recvmsg,
    AttachType::CgroupUdp6Recvmsg,
    AttachType::CgroupUnixRecvmsg,
    AttachType::CgroupInet4Getpeername,
    AttachType::CgroupInet6Getpeername,
    AttachType::CgroupUnixGetpeername,
    AttachType::CgroupInet4Getsockname,
    AttachType::CgroupInet6Getsockname,
    AttachType::CgroupUnixGetsockname,
]);
const ITER: AttachSet = set(&[AttachType::TraceIter]);
const FENTRY_FEXIT: AttachSet = set(&[AttachType::TraceFentry, AttachType::TraceFexit]);

/// The first matching row counts; a type without a row may return anything. The rows of fentry and
/// fexit follow the documentation: the tested machine rejects such programs earlier.
static RETVAL_ROWS: [RetvalRow; 17] = [
    row(ProgType::Kprobe, SESSION, 0, 1),
    row(ProgType::CgroupSkb, EGRESS, 0, 3),
    row(ProgType::CgroupSkb, ALL, 0, 1),
    row(ProgType::CgroupSock, ALL, 0, 1),
    row(ProgType::SockOps, ALL, 0, 1),
    row(ProgType::CgroupDevice, ALL, 0, 1),
    row(ProgType::CgroupSockAddr, BIND, 0, 3),
    row(ProgType::CgroupSockAddr, NAMES, 1, 1),
    row(ProgType::CgroupSockAddr, ALL, 0, 1),
    row(ProgType::CgroupSysctl, ALL, 0, 1),
    row(ProgType::CgroupSockopt, ALL, 0, 1),
    row(ProgType::Tracing, ITER, 0, 1),
    row(ProgType::Tracing, FENTRY_FEXIT, 0, 0),
    target(ProgType::Ext, ALL),
    target(ProgType::Lsm, ALL),
    row(ProgType::SkLookup, ALL, 0, 1),
    row(ProgType::Netfilter, ALL, 0, 1),
];

/// What a program of this type and attach type may return. For struct_ops members that return
/// pointers, BTF has more.
pub fn retval_rule(prog_type: ProgType, attach_type: u32) -> RetvalRule {
    let fits = |row: &&RetvalRow| row.prog_type == prog_type && row.attach.contains(attach_type);
    RETVAL_ROWS.iter().find(fits).map_or(RetvalRule::Any, |row| row.rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ranges that Linux 6.18 printed (`should have been in [0, 3]`), and the types for which
    /// it accepted any number.
    #[test]
    fn ranges_are_those_that_the_kernel_printed() {
        let range =
            |prog_type, attach_type: AttachType| match retval_rule(prog_type, attach_type.number())
            {
                RetvalRule::Range(r) => Some((r.min, r.max)),
                _ => None,
            };
        use AttachType as A;
        use ProgType as P;
        assert_eq!(range(P::CgroupSkb, A::CgroupInetIngress), Some((0, 1)));
        assert_eq!(range(P::CgroupSkb, A::CgroupInetEgress), Some((0, 3)));
        assert_eq!(range(P::CgroupSockAddr, A::CgroupInet6Bind), Some((0, 3)));
        assert_eq!(range(P::CgroupSockAddr, A::CgroupInet6Connect), Some((0, 1)));
        assert_eq!(range(P::CgroupSockAddr, A::CgroupUnixSendmsg), Some((0, 1)));
        assert_eq!(range(P::CgroupSockAddr, A::CgroupUnixRecvmsg), Some((1, 1)));
        assert_eq!(range(P::Kprobe, A::TraceKprobeMulti), None);
        assert_eq!(range(P::Kprobe, A::TraceKprobeSession), Some((0, 1)));
        assert_eq!(range(P::Tracing, A::TraceIter), Some((0, 1)));
        assert_eq!(range(P::Tracing, A::TraceRawTp), None);
        assert_eq!(range(P::Xdp, A::Xdp), None);
        assert_eq!(range(P::FlowDissector, A::FlowDissector), None);
    }
}

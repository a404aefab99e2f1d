//! Which map types may be given to which helper.
//!
//! Kernel: `check_map_func_compatibility`, `may_update_sockmap`, 6.18: every pair was tried with
//! valid arguments. The refusal is `cannot pass map_type %d into func %s#%d`, late in the check of
//! a call: after the arguments, and after the two messages of their own that `bpf_tail_call`
//! (`expected prog array map for tail call`) and
//! `bpf_for_each_map_elem` (`callback function not allowed for map`) have.
//!
//! Not tested, and therefore rejected here: arenas (no helper takes them), struct_ops maps.

use crate::helper::{HelperId as Id, HookKey};
use crate::{AttachType, Behaviours, MapType as M, ProgType};

struct Row {
    helper: Id,
    /// One bit a map type.
    maps: u64,
}

const fn maps(types: &[M]) -> u64 {
    let mut bits = 0;
    let mut i = 0;
    while i < types.len() {
        bits |= 1 << types[i].number();
        i += 1;
    }
    bits
}

/// Helpers with a map argument, by number. `bpf_timer_init` has none: it takes the map that holds
/// its timer.
#[rustfmt::skip]
static ROWS: [Row; 39] = [
    Row { helper: Id::MapLookupElem, maps: maps(&[M::Hash, M::Array, M::PercpuHash, M::PercpuArray, M::LruHash, M::LruPercpuHash, M::LpmTrie, M::ArrayOfMaps, M::HashOfMaps, M::Devmap, M::Sockmap, M::Xskmap, M::Sockhash, M::DevmapHash]) },
    Row { helper: Id::MapUpdateElem, maps: maps(&[M::Hash, M::Array, M::PercpuHash, M::PercpuArray, M::LruHash, M::LruPercpuHash, M::LpmTrie]) },
    Row { helper: Id::MapDeleteElem, maps: maps(&[M::Hash, M::Array, M::PercpuHash, M::PercpuArray, M::LruHash, M::LruPercpuHash, M::LpmTrie]) },
    Row { helper: Id::TailCall, maps: maps(&[M::ProgArray]) },
    Row { helper: Id::PerfEventRead, maps: maps(&[M::PerfEventArray]) },
    Row { helper: Id::PerfEventOutput, maps: maps(&[M::PerfEventArray]) },
    Row { helper: Id::GetStackid, maps: maps(&[M::StackTrace]) },
    Row { helper: Id::SkbUnderCgroup, maps: maps(&[M::CgroupArray]) },
    Row { helper: Id::CurrentTaskUnderCgroup, maps: maps(&[M::CgroupArray]) },
    Row { helper: Id::RedirectMap, maps: maps(&[M::Devmap, M::Cpumap, M::Xskmap, M::DevmapHash]) },
    Row { helper: Id::SkRedirectMap, maps: maps(&[M::Sockmap]) },
    Row { helper: Id::SockMapUpdate, maps: maps(&[M::Sockmap]) },
    Row { helper: Id::PerfEventReadValue, maps: maps(&[M::PerfEventArray]) },
    Row { helper: Id::MsgRedirectMap, maps: maps(&[M::Sockmap]) },
    Row { helper: Id::SockHashUpdate, maps: maps(&[M::Sockhash]) },
    Row { helper: Id::MsgRedirectHash, maps: maps(&[M::Sockhash]) },
    Row { helper: Id::SkRedirectHash, maps: maps(&[M::Sockhash]) },
    Row { helper: Id::GetLocalStorage, maps: maps(&[M::CgroupStorage, M::PercpuCgroupStorage]) },
    Row { helper: Id::SkSelectReuseport, maps: maps(&[M::Sockmap, M::Sockhash, M::ReuseportSockarray]) },
    Row { helper: Id::MapPushElem, maps: maps(&[M::Queue, M::Stack, M::BloomFilter]) },
    Row { helper: Id::MapPopElem, maps: maps(&[M::Queue, M::Stack]) },
    Row { helper: Id::MapPeekElem, maps: maps(&[M::Queue, M::Stack, M::BloomFilter]) },
    Row { helper: Id::SkStorageGet, maps: maps(&[M::SkStorage]) },
    Row { helper: Id::SkStorageDelete, maps: maps(&[M::SkStorage]) },
    Row { helper: Id::SkbOutput, maps: maps(&[M::PerfEventArray]) },
    Row { helper: Id::XdpOutput, maps: maps(&[M::PerfEventArray]) },
    Row { helper: Id::RingbufOutput, maps: maps(&[M::Ringbuf]) },
    Row { helper: Id::RingbufReserve, maps: maps(&[M::Ringbuf]) },
    Row { helper: Id::RingbufQuery, maps: maps(&[M::Ringbuf]) },
    Row { helper: Id::InodeStorageGet, maps: maps(&[M::InodeStorage]) },
    Row { helper: Id::InodeStorageDelete, maps: maps(&[M::InodeStorage]) },
    Row { helper: Id::TaskStorageGet, maps: maps(&[M::TaskStorage]) },
    Row { helper: Id::TaskStorageDelete, maps: maps(&[M::TaskStorage]) },
    Row { helper: Id::ForEachMapElem, maps: maps(&[M::Hash, M::Array, M::PercpuHash, M::PercpuArray, M::LruHash, M::LruPercpuHash]) },
    Row { helper: Id::MapLookupPercpuElem, maps: maps(&[M::PercpuHash, M::PercpuArray, M::LruPercpuHash]) },
    Row { helper: Id::RingbufReserveDynptr, maps: maps(&[M::Ringbuf]) },
    Row { helper: Id::UserRingbufDrain, maps: maps(&[M::UserRingbuf]) },
    Row { helper: Id::CgrpStorageGet, maps: maps(&[M::CgrpStorage]) },
    Row { helper: Id::CgrpStorageDelete, maps: maps(&[M::CgrpStorage]) },
];

const SOCK_MAPS: u64 = maps(&[M::Sockmap, M::Sockhash]);

/// Whether the helper may be given a map of this type, in a program of this kind.
///
/// Helpers without a row have no rule: true.
pub fn map_func_compatible(
    map_type: M,
    helper: Id,
    hook: &HookKey<'_>,
    rules: &Behaviours,
) -> bool {
    let bit = 1 << map_type.number();
    let Ok(at) = ROWS.binary_search_by_key(&helper, |row| row.helper) else {
        return true;
    };
    if ROWS[at].maps & bit != 0 {
        return true;
    }
    match helper {
        Id::MapUpdateElem => bit & SOCK_MAPS != 0 && may_update_sockmap(hook, rules),
        Id::MapDeleteElem => {
            let sock_ops = hook.prog_type == ProgType::SockOps;
            let may = sock_ops || !rules.sockmap_deletes_checked || may_update_sockmap(hook, rules);
            bit & SOCK_MAPS != 0 && may
        }
        _ => false,
    }
}

/// Programs that may modify a sockmap or sockhash with the common map helpers.
fn may_update_sockmap(hook: &HookKey<'_>, rules: &Behaviours) -> bool {
    match hook.prog_type {
        ProgType::Tracing => hook.attach_type == AttachType::TraceIter.number(),
        ProgType::SocketFilter
        | ProgType::SchedCls
        | ProgType::SchedAct
        | ProgType::Xdp
        | ProgType::FlowDissector => rules.sockmaps_changed_by_packets,
        ProgType::SkReuseport | ProgType::SkLookup => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::helper::{ArgBase, default_proto};

    fn hook(prog_type: ProgType) -> HookKey<'static> {
        HookKey { prog_type, attach_type: 0, target: "" }
    }

    #[test]
    fn every_helper_with_a_map_argument_has_a_row() {
        let takes_map = |id: Id| {
            let mut args = default_proto(id).args.iter();
            args.any(|a| a.base == ArgBase::ConstMapPtr) && id != Id::TimerInit
        };
        let want: Vec<_> = Id::all().filter(|id| takes_map(*id)).collect();
        let have: Vec<_> = ROWS.iter().map(|row| row.helper).collect();
        assert_eq!(have, want);
    }

    /// Seen on 6.18.
    #[test]
    fn sockmaps_depend_on_the_program() {
        let may = |helper, prog_type| {
            map_func_compatible(M::Sockmap, helper, &hook(prog_type), &Behaviours::reference())
        };
        assert!(may(Id::MapUpdateElem, ProgType::SkLookup));
        assert!(!may(Id::MapUpdateElem, ProgType::SockOps));
        assert!(may(Id::MapDeleteElem, ProgType::SockOps));
        assert!(!may(Id::MapDeleteElem, ProgType::SkMsg));
        assert!(may(Id::MapLookupElem, ProgType::SkMsg));
    }

    /// Seen on 6.18.
    #[test]
    fn queues_are_pushed_and_not_looked_up() {
        let may = |map, helper| {
            map_func_compatible(map, helper, &hook(ProgType::Xdp), &Behaviours::reference())
        };
        assert!(may(M::Queue, Id::MapPushElem));
        assert!(!may(M::Queue, Id::MapLookupElem));
        assert!(may(M::BloomFilter, Id::MapPeekElem));
        assert!(!may(M::BloomFilter, Id::MapPopElem));
        assert!(!may(M::Hash, Id::TailCall));
    }
}

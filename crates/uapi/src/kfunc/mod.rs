//! Kfuncs: kernel functions that programs call by their BTF id.
//!
//! The table is keyed by name; argument and result types are those of the kernel's BTF. Kfuncs of
//! modules are not here. Deliberately absent: `bpf_xdp_metadata_rx_*` (only for programs bound to a
//! device).
//!
//! Kernel: the `BTF_KFUNCS` sets and their filters, `bpf_prog_type_to_kfunc_hook`, 6.18.

mod kfunc_table;
mod row;
mod scheduler;
mod test_module_table;

use kfunc_table::KFUNCS;
pub use row::{Filter, Kfunc, KfuncFlags, KfuncHooks};
pub use scheduler::SchedulerCalls;
use test_module_table::TEST_MODULE_KFUNCS;

impl Kfunc {
    /// All but those of test modules.
    pub fn all() -> impl Iterator<Item = &'static Kfunc> {
        KFUNCS.iter()
    }

    /// The kfunc with this name, or that with all arguments; `None` if nothing is known about it.
    ///
    /// Kernels from 7.0 on have two functions for a kfunc that takes arguments from the verifier:
    /// the program declares them in that with `_impl` in its name only.
    pub fn find(name: &str) -> Option<&'static Kfunc> {
        let ends = ["", "_impl"].into_iter();
        let mut tables = ends.flat_map(|end| [(end, &KFUNCS[..]), (end, &TEST_MODULE_KFUNCS[..])]);
        tables.find_map(|(end, rows)| {
            let wanted = || name.bytes().chain(end.bytes());
            let at = rows.binary_search_by(|row| row.name.bytes().cmp(wanted())).ok()?;
            rows.get(at)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::helper::HookKey;
    use crate::{Behaviours, ProgType};

    fn may(name: &str, prog_type: ProgType, attach_type: u32) -> bool {
        let hook = HookKey { prog_type, attach_type, target: "" };
        Kfunc::find(name).expect(name).allowed(&hook, &Behaviours::reference())
    }

    #[test]
    fn rows_are_sorted_by_name() {
        for pair in KFUNCS.windows(2).chain(TEST_MODULE_KFUNCS.windows(2)) {
            assert!(pair[0].name < pair[1].name, "{}", pair[1].name);
        }
    }

    #[test]
    fn iterators_come_in_threes() {
        let count = |flag| KFUNCS.iter().filter(|k| k.flags.contains(flag)).count();
        let new = count(KfuncFlags::ITER_NEW);
        assert_eq!(new, count(KfuncFlags::ITER_NEXT));
        assert_eq!(new, count(KfuncFlags::ITER_DESTROY));
    }

    /// Seen on 6.18.
    #[test]
    fn program_types_are_those_of_the_kernel() {
        assert!(may("bpf_iter_num_new", ProgType::RawTracepoint, 0));
        assert!(may("bpf_obj_new_impl", ProgType::SockOps, 0));
        assert!(!may("bpf_obj_new_impl", ProgType::SchedAct, 0));
        assert!(!may("bpf_obj_new_impl", ProgType::SocketFilter, 0));
        assert!(may("bpf_dynptr_from_skb", ProgType::LwtOut, 0));
        assert!(!may("bpf_dynptr_from_skb", ProgType::Xdp, 0));
        assert!(may("bpf_session_cookie", ProgType::Kprobe, 56));
        assert!(!may("bpf_session_cookie", ProgType::Kprobe, 42));
        assert!(may("bpf_sock_destroy", ProgType::Tracing, 28));
        assert!(!may("bpf_sock_destroy", ProgType::Tracing, 23));
    }
}

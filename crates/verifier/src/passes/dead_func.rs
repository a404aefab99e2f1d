//! Functions whose address is taken but which no path reaches (such as the callback of a `bpf_loop`
//! with no iterations).
//!
//! Their insns are removed as dead code, and the address then refers to the next function. At the
//! end of the program there is none; and if dead code precedes the function, so that both are
//! removed together, the address refers to a position in the code that follows. If no function
//! begins there, a kernel that compiles several functions fails with `verifier bug: No program to
//! jit at insn N (subprog < 0)`; `N` counts rewritten insns.
//!
//! Kernel: `jit_subprogs` after `opt_remove_dead_code`, 6.18, as observed.

use super::call_facts::{callee_start, is_pseudo_func};
use super::final_depth::WalkedInsns;
use super::subprogs::Subprogs;
use skep_insn::Insn;

/// The walked insn that takes the address of a function without walked insns, if no walked insn
/// follows or a dead one immediately precedes the function, in a program with several remaining
/// functions.
pub(crate) fn address_of_removed_end<W: WalkedInsns>(
    insns: &[Insn],
    subprogs: &Subprogs,
    walked: &W,
) -> Option<usize> {
    let end = (0..insns.len()).rev().find(|&idx| walked.was_seen(idx))? as i64;
    // The kernel's default exception callback is an additional function, but no address refers to
    // it.
    let hidden = walked.saw_exception() && subprogs.exception_cb.is_none();
    let seen = |&subprog: &usize| {
        (subprogs.start(subprog)..subprogs.end(subprog)).any(|idx| walked.was_seen(idx as usize))
    };
    if (0..subprogs.count()).filter(seen).count() + usize::from(hidden) < 2 {
        return None;
    }
    let dead = |idx: i64| usize::try_from(idx).is_ok_and(|idx| !walked.was_seen(idx));
    let names_end = |(idx, insn): &(usize, &Insn)| {
        let start = callee_start(*idx, insn);
        is_pseudo_func(insn)
            && walked.was_seen(*idx)
            && (start > end || (dead(start) && dead(start - 1)))
    };
    insns.iter().enumerate().find(names_end).map(|(idx, _)| idx)
}

/// The first function before the program's exception callback that is removed. The kernel then
/// looks for the callback by its old number, finds a different function or none, and has crashed
/// because of it (`docs/kernel-findings.md`).
pub(crate) fn removed_before_exception_cb<W: WalkedInsns>(
    subprogs: &Subprogs,
    walked: &W,
) -> Option<usize> {
    let is_dead = |&subprog: &usize| {
        !(subprogs.start(subprog)..subprogs.end(subprog)).any(|idx| walked.was_seen(idx as usize))
    };
    (0..subprogs.exception_cb?).find(is_dead).map(|subprog| subprogs.start(subprog) as usize)
}

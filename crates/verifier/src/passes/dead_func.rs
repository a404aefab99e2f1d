//! A function whose address is taken, but which is on no path (`bpf_loop` over nothing).
//!
//! Its insns are removed as dead code, and the address then is that of the function behind it. At
//! the end of the program there is none; and where dead code stands before the function, so that
//! both are removed together, the address ends up somewhere in what follows. Where no function
//! begins there, a kernel that compiles several functions gives up with `verifier bug: No program
//! to jit at insn N (subprog < 0)`; `N` counts rewritten insns.
//!
//! Kernel: `jit_subprogs` after `opt_remove_dead_code`, 6.18, as observed.

use super::call_facts::{callee_start, is_pseudo_func};
use super::final_depth::WalkedInsns;
use super::subprogs::Subprogs;
use skep_insn::Insn;

/// The walked insn that takes the address of a function with nothing walked in it, and nothing
/// walked behind it or something dead right before it, in a program of which several functions are
/// left.
pub(crate) fn address_of_removed_end<W: WalkedInsns>(
    insns: &[Insn],
    subprogs: &Subprogs,
    walked: &W,
) -> Option<usize> {
    let end = (0..insns.len()).rev().find(|&idx| walked.was_seen(idx))? as i64;
    // The kernel's own exception callback is a function more, but no address becomes its.
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

/// The first of a program's functions before its own exception callback that is removed. The kernel
/// goes on looking for the callback by the number that it had, finds another function or none, and
/// has crashed over it (`docs/kernel-findings.md`).
pub(crate) fn removed_before_exception_cb<W: WalkedInsns>(
    subprogs: &Subprogs,
    walked: &W,
) -> Option<usize> {
    let is_dead = |&subprog: &usize| {
        !(subprogs.start(subprog)..subprogs.end(subprog)).any(|idx| walked.was_seen(idx as usize))
    };
    (0..subprogs.exception_cb?).find(is_dead).map(|subprog| subprogs.start(subprog) as usize)
}

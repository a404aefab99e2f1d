//! The stack depths in the statistics: those of the walk, adjusted for the rewrites.
//!
//! No insns are rewritten here; this file only computes the effect of the kernel's rewrites on the
//! depths, because `stack depth 16+0` in the log (and veristat's sum of it) is printed after them.
//!
//! Absent: the epilogues of `struct_ops` programs, which may take more stack.
//!
//! Kernel: `remove_fastcall_spills_fills`, `optimize_bpf_loop`, `opt_remove_dead_code`,
//! `do_misc_fixups`, `print_verification_stats`, 6.18 on x86-64 with the JIT.

use super::call_facts::is_may_goto;
use super::subprogs::Subprogs;
use skep_insn::Insn;
use skep_insn::code::BPF_JMP;
use std::fmt::Write;

/// Stack used by an inlined `bpf_loop`: three saved registers.
const INLINED_LOOP_BYTES: u16 = 24;
/// Stack used by `may_goto`: a counter and a time stamp.
const MAY_GOTO_BYTES: u16 = 16;

/// Results of the walk for single insns.
pub(crate) trait WalkedInsns {
    /// Whether the walk ever reached this insn.
    fn was_seen(&self, idx: usize) -> bool;
    /// Whether this call of `bpf_loop` will be inlined: on every visit, its flags were 0 and its
    /// callback was the same.
    fn loop_is_inlined(&self, idx: usize) -> bool;
    /// Whether the walk reached a call of `bpf_throw`.
    fn saw_exception(&self) -> bool;
    /// Whether this insn remains once jumps to the next insn have been removed.
    fn is_left(&self, idx: usize) -> bool {
        self.was_seen(idx)
    }
}

/// How many insns the rewrites that take stack are done with: all of them in an accepted program.
/// A function's stack grows when the rewrite leaves its last insn.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StackRewrites {
    /// By the inlining of `bpf_loop`, after which functions that no path reached are removed.
    pub(crate) loops: usize,
    /// By the rewrite of `may_goto`.
    pub(crate) may_gotos: usize,
}

impl StackRewrites {
    pub(crate) fn all(insns: usize) -> StackRewrites {
        StackRewrites { loops: insns, may_gotos: insns }
    }
}

/// Depths of the subprogs that remain after the rewrites so far, in order.
///
/// `depths` are those used by the check of call chains, one for each subprog.
pub(crate) fn final_stack_depths<W: WalkedInsns>(
    insns: &[Insn],
    subprogs: &Subprogs,
    walked: &W,
    done: StackRewrites,
    depths: &[u16],
) -> Vec<u16> {
    if done == StackRewrites::default() {
        // The functions may not even be known yet.
        return depths.to_vec();
    }
    let removed = done.loops == insns.len();
    let mut left = Vec::with_capacity(subprogs.count());
    for (subprog, mut depth) in depths.iter().copied().enumerate().take(subprogs.count()) {
        let range = subprogs.start(subprog) as usize..subprogs.end(subprog) as usize;
        if removed && !range.clone().any(|idx| walked.was_seen(idx)) {
            continue;
        }
        let ended = |insns: usize| range.end <= insns;
        let (inlined, counted) = (ended(done.loops), ended(done.may_gotos));
        let (mut loops, mut may_gotos) = (false, false);
        let jumps = |&idx: &usize| insns[idx].class() == BPF_JMP && walked.was_seen(idx);
        for idx in range.filter(jumps) {
            loops |= walked.loop_is_inlined(idx);
            // With distance 0, it is removed as a no-op, and perhaps those before it.
            may_gotos |= is_may_goto(&insns[idx]) && insns[idx].off != 0 && walked.is_left(idx);
        }
        depth += if loops && inlined { INLINED_LOOP_BYTES } else { 0 };
        depth += if may_gotos && counted { MAY_GOTO_BYTES } else { 0 };
        left.push(depth);
    }
    if removed && walked.saw_exception() && subprogs.exception_cb.is_none() {
        // The kernel appends its own exception callback, which uses no stack.
        left.push(0);
    }
    left
}

/// The line `stack depth 16+0` of the statistics.
///
/// For a refused program, `depths` is what the walk has found so far.
pub(crate) fn stack_depth_text(depths: &[u16]) -> String {
    let mut text = String::from("stack depth ");
    for (subprog, depth) in depths.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{}{depth}", if subprog > 0 { "+" } else { "" });
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::super::program_fixture::*;
    use super::*;
    use skep_insn::code::BPF_PSEUDO_FUNC;

    /// A walk that reached all insns except some.
    #[derive(Default)]
    struct Walk {
        unseen: Vec<usize>,
        inlined_loop: Option<usize>,
        threw: bool,
    }

    impl WalkedInsns for Walk {
        fn was_seen(&self, idx: usize) -> bool {
            !self.unseen.contains(&idx)
        }
        fn loop_is_inlined(&self, idx: usize) -> bool {
            self.inlined_loop == Some(idx)
        }
        fn saw_exception(&self) -> bool {
            self.threw
        }
    }

    fn text(insns: &[Insn], depths: &[u16], walk: &Walk) -> String {
        let subprogs = subprogs_of(insns);
        let all = StackRewrites::all(insns.len());
        stack_depth_text(&final_stack_depths(insns, &subprogs, walk, all, depths))
    }

    #[test]
    fn may_goto_counts_once() {
        let all = Walk::default();
        let one = [mov(0, 0), may_goto(1), goto(-2), exit()];
        assert_eq!(text(&one, &[0], &all), "stack depth 16\n");
        assert_eq!(text(&one, &[8], &all), "stack depth 24\n");
        assert_eq!(text(&one, &[512], &all), "stack depth 528\n");
        assert_eq!(text(&[mov(0, 0), may_goto(0), exit()], &[0], &all), "stack depth 0\n");
        let two = [mov(0, 0), may_goto(1), goto(-2), may_goto(1), goto(-2), exit()];
        assert_eq!(text(&two, &[0], &all), "stack depth 16\n");
        let dead = [mov(0, 0), jeq(0, 0, 2), may_goto(1), goto(-2), exit()];
        let walk = Walk { unseen: vec![2, 3], ..Walk::default() };
        assert_eq!(text(&dead, &[0], &walk), "stack depth 0\n");
    }

    #[test]
    fn inlined_loops_save_registers() {
        let [lo, hi] = Insn::ld_imm64(2, BPF_PSEUDO_FUNC, 6);
        let bpf_loop = helper(181);
        let body = [mov(1, 10), lo, hi, mov(3, 0), mov(4, 0), bpf_loop, mov(0, 0), exit()];
        let insns = [&body[..], &[mov(0, 0), exit()]].concat();
        let walk = Walk { inlined_loop: Some(5), ..Walk::default() };
        assert_eq!(text(&insns, &[0, 0], &walk), "stack depth 24+0\n");
        assert_eq!(text(&insns, &[8, 0], &walk), "stack depth 32+0\n");
        assert_eq!(text(&insns, &[504, 0], &walk), "stack depth 528+0\n");
        assert_eq!(text(&insns, &[0, 8], &walk), "stack depth 24+8\n");
    }

    #[test]
    fn subprogs_come_and_go() {
        let dead = [mov(0, 0), jeq(0, 0, 1), call(1), exit(), mov(0, 0), exit()];
        let walk = Walk { unseen: vec![2, 4, 5], ..Walk::default() };
        assert_eq!(text(&dead, &[0, 0], &walk), "stack depth 0\n");
        let threw = Walk { threw: true, ..Walk::default() };
        assert_eq!(text(&[mov(0, 0), exit()], &[0], &threw), "stack depth 0+0\n");
    }
}

//! After the walk: checks the stack of call chains and prints the last lines of the log.
//!
//! Kernel: `check_max_stack_depth`, `print_verification_stats` (6.18).

use crate::check::replaced::loaded_type;
use crate::env::{Env, InsnFlags, Learned, LoopInline};
use crate::fixup;
use crate::log::note::{DepthList, Note, Totals};
use crate::passes::dead_func::{address_of_removed_end, removed_before_exception_cb};
use crate::passes::final_depth::{StackRewrites, WalkedInsns, final_stack_depths};
use crate::passes::stack_depth::{StackRules, SubprogStack, check_max_stack_depth};
use crate::rejection::{Check, unsupported};
use skep_program::Program;
use skep_uapi::ProgType;
use skep_uapi::limits::MAX_CALL_FRAMES;
use std::cell::OnceCell;

impl Env<'_> {
    /// Checks the stack depth of all call chains, without the slots of removed patterns.
    pub(crate) fn check_stack_depth(&mut self) -> Check {
        for (idx, subprog) in self.learned.subprogs.iter_mut().enumerate() {
            let depth = subprog.stack_depth as u16;
            subprog.stack_depth =
                self.learned.fastcall.final_stack_depth(&self.facts.layout, idx, depth).into();
        }
        let uncounted = self.facts.rules().long_chains_of_globals;
        let stacks: Vec<SubprogStack> = self
            .learned
            .subprogs
            .iter()
            .enumerate()
            .map(|(at, s)| SubprogStack {
                depth: s.stack_depth as u16,
                is_cb: s.is_cb,
                is_async_cb: s.is_async_cb,
                is_uncounted: uncounted && self.facts.subprogs[at].is_global,
            })
            .collect();
        let jit_requested = self.facts.rules().frames_of_sixteen;
        let more = if self.facts.rules().sixteen_frames { 2 } else { 1 };
        let frames_max = more * MAX_CALL_FRAMES;
        let rules = StackRules {
            jit_requested,
            private_stack: self.facts.rules().private_stacks && has_private_stack(self.facts.prog),
            frames_max,
            no_tail_calls_in_callbacks: self.facts.rules().no_tail_calls_in_callbacks,
            no_packet_loads_in_callbacks: self.facts.rules().no_packet_loads_in_callbacks,
            later_callbacks_measured: self.facts.rules().later_callbacks_measured,
            called_callbacks_measured: self.facts.rules().called_callbacks_measured,
        };
        let facts = self.facts;
        let (insns, layout) = (&facts.insns, &facts.layout);
        let reachable = check_max_stack_depth(insns, layout, &facts.callable, &stacks, rules)
            .map_err(|refusal| {
                self.walk.insn_idx = refusal.insn_idx.map_or(0, |i| i.0);
                self.trace.refuse_by_pass(facts, refusal)
            })?;
        for (subprog, reachable) in self.learned.subprogs.iter_mut().zip(reachable) {
            subprog.tail_call_reachable = reachable;
        }
        if let Some(idx) =
            address_of_removed_end(&self.facts.insns, &self.facts.layout, &self.learned)
        {
            self.walk.insn_idx = idx as u32;
            return unsupported(
                "the address of a function that is never walked, where no function will be",
            );
        }
        if let Some(idx) = removed_before_exception_cb(&self.facts.layout, &self.learned) {
            self.walk.insn_idx = idx as u32;
            return unsupported("functions removed before the exception callback");
        }
        self.learned.stack_rewrites = StackRewrites::all(self.facts.insns.len());
        Ok(())
    }

    fn stack_depths(&self) -> Vec<u16> {
        let depths: Vec<u16> = self.learned.subprogs.iter().map(|s| s.stack_depth as u16).collect();
        let (facts, done) = (self.facts, self.learned.stack_rewrites);
        let ended = Ended { env: self, left: OnceCell::new() };
        final_stack_depths(&facts.insns, &facts.layout, &ended, done, &depths)
    }

    /// Prints the statistics at the end of the log.
    pub(crate) fn print_stats(&mut self) {
        let depths = self.stack_depths();
        self.store.stats.mark_read =
            self.store.reads.as_ref().map_or(0, |reads| reads.longest_walk());
        self.store.stats.stack_depth_bytes = depths.iter().map(|&depth| u32::from(depth)).sum();
        if self.trace.log.level == 0 {
            return;
        }
        if self.trace.log.level & crate::log::LEVEL_STATS != 0 {
            self.trace.note(Note::StackDepths { depths: DepthList(&depths) });
        }
        self.trace.note(Note::Totals { totals: Totals(&self.store.stats) });
    }
}

/// The program at the end of the walk.
struct Ended<'a, 'b> {
    env: &'a Env<'b>,
    /// The insns that remain; few programs need to know.
    left: OnceCell<Vec<bool>>,
}

impl WalkedInsns for Ended<'_, '_> {
    fn was_seen(&self, idx: usize) -> bool {
        self.env.learned.was_seen(idx)
    }
    fn loop_is_inlined(&self, idx: usize) -> bool {
        self.env.learned.loop_is_inlined(idx)
    }
    fn saw_exception(&self) -> bool {
        self.env.learned.saw_exception()
    }
    fn is_left(&self, idx: usize) -> bool {
        self.left.get_or_init(|| fixup::insns_left(self.env))[idx]
    }
}

impl WalkedInsns for Learned {
    fn was_seen(&self, idx: usize) -> bool {
        self.aux[idx].has(InsnFlags::SEEN)
    }
    fn loop_is_inlined(&self, idx: usize) -> bool {
        matches!(self.aux[idx].loop_inline(), LoopInline::Fits(_))
    }
    fn saw_exception(&self) -> bool {
        self.seen_exception
    }
}

/// Whether programs of this type may interrupt themselves, so that each run needs its own stack.
fn has_private_stack(prog: &Program) -> bool {
    matches!(
        loaded_type(prog),
        ProgType::Kprobe
            | ProgType::Tracepoint
            | ProgType::PerfEvent
            | ProgType::RawTracepoint
            | ProgType::Tracing
    )
}

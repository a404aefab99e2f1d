//! Pushes and pops pending branches.

use super::branch_stack::Branch;
use crate::env::Env;
use crate::log::reject;
use crate::memory::push_tight;
use crate::rejection::{Check, FlowFault};
use crate::state::chains::Chains;
use crate::state::verifier_state::PackedState;
use crate::trace::Event;
use skep_uapi::limits::BPF_COMPLEXITY_LIMIT_JMP_SEQ;

impl Env<'_> {
    /// Saves the current state as a branch that goes on at `insn_idx`; change it through
    /// `BranchStack::last_mut` or, better, before the push.
    pub(crate) fn push_stack(
        &mut self,
        insn_idx: u32,
        prev_insn_idx: u32,
        speculative: bool,
    ) -> Check {
        let mut state = self.cur.save(&mut self.arena);
        state.meta.speculative |= speculative;
        if let Some(reads) = &mut self.reads {
            reads.wait(self.cur.frames.len());
        }
        self.push_branch(state, insn_idx, prev_insn_idx)?;
        let chains = self.frame().chains;
        if let Some(branch) = self.branches.last_mut() {
            branch.chains = chains;
        }
        Ok(())
    }

    /// The same for a state made by the caller (async callbacks).
    pub(crate) fn push_branch(
        &mut self,
        state: PackedState,
        insn_idx: u32,
        prev_insn_idx: u32,
    ) -> Check {
        if let Some(parent) = state.meta.parent {
            self.ckpts.hot_mut(parent).branches += 1;
        }
        let branch = Branch {
            state,
            insn_idx,
            prev_insn_idx,
            chains: Chains::LOST,
            history_top: self.cur.history.top(),
            log_pos: self.log.pos(),
        };
        push_tight(&mut self.branches.items, branch);
        if self.is_followed {
            self.record_push();
            self.tell(Event::Waits { from: prev_insn_idx, to: insn_idx });
        }
        let len = self.branches.items.len();
        if len > BPF_COMPLEXITY_LIMIT_JMP_SEQ as usize {
            reject!(self, E2BIG, FlowFault::TooManyJumps { len });
        }
        Ok(())
    }

    /// Makes the last waiting branch the current state; false if none waits.
    pub(crate) fn pop_stack(&mut self) -> bool {
        let Some(branch) = self.branches.items.pop() else { return false };
        if !self.log.traces_all() {
            self.log.reset(branch.log_pos);
        }
        self.cur.history.rewind(branch.state.stretch, branch.history_top);
        self.cur.load(branch.state, &mut self.arena);
        if let Some(reads) = &mut self.reads {
            reads.resume();
        }
        self.frame_mut().chains = branch.chains;
        self.insn_idx = branch.insn_idx;
        self.prev_insn_idx = branch.prev_insn_idx;
        if self.is_followed {
            self.record_pop();
            let (from, to) = (self.prev_insn_idx, self.insn_idx);
            let speculative = self.cur.meta.speculative;
            self.tell(Event::GoesOn { from, to, speculative });
        }
        true
    }
}

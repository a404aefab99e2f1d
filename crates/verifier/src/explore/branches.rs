//! Pushes and pops pending branches.

use super::branch_stack::Branch;
use crate::env::Env;
use crate::memory::push_tight;
use crate::rejection::{Check, FlowFault, reject};
use crate::state::chains::Chains;
use crate::state::verifier_state::PackedState;
use skep_uapi::limits::BPF_COMPLEXITY_LIMIT_JMP_SEQ;

impl Env<'_> {
    /// Saves the current state as a branch that continues at `insn_idx`. To give the branch
    /// different registers, change them before the push or through `BranchStack::last_mut`.
    pub(crate) fn push_stack(
        &mut self,
        insn_idx: u32,
        prev_insn_idx: u32,
        speculative: bool,
    ) -> Check {
        let mut state = self.walk.cur.save(&mut self.store.arena);
        state.meta.speculative |= speculative;
        self.store.path_waits(self.walk.cur.frames.len());
        self.push_branch(state, insn_idx, prev_insn_idx)?;
        let chains = self.walk.frame().chains;
        if let Some(branch) = self.store.branches.last_mut() {
            branch.chains = chains;
        }
        Ok(())
    }

    /// The same for a state created by the caller (async callbacks).
    pub(crate) fn push_branch(
        &mut self,
        state: PackedState,
        insn_idx: u32,
        prev_insn_idx: u32,
    ) -> Check {
        if let Some(parent) = state.meta.parent {
            self.store.ckpts.hot_mut(parent).branches += 1;
        }
        let branch = Branch {
            state,
            insn_idx,
            prev_insn_idx,
            chains: Chains::LOST,
            history_top: self.walk.cur.history.top(),
            log_pos: self.trace.log.pos(),
        };
        push_tight(&mut self.store.branches.items, branch);
        self.trace.tell_waits(prev_insn_idx, insn_idx);
        let len = self.store.branches.items.len();
        if len > BPF_COMPLEXITY_LIMIT_JMP_SEQ as usize {
            reject!(E2BIG, FlowFault::TooManyJumps { len });
        }
        Ok(())
    }

    /// Makes the branch pushed last the current state; false if none is pending.
    pub(crate) fn pop_stack(&mut self) -> bool {
        let Some(branch) = self.store.branches.items.pop() else { return false };
        if !self.trace.log.traces_all() {
            self.trace.log.reset(branch.log_pos);
        }
        self.walk.cur.history.rewind(branch.state.stretch, branch.history_top);
        self.walk.cur.load(branch.state, &mut self.store.arena);
        self.store.resume_path();
        self.walk.frame_mut().chains = branch.chains;
        self.walk.insn_idx = branch.insn_idx;
        self.walk.prev_insn_idx = branch.prev_insn_idx;
        self.tell_goes_on();
        true
    }
}

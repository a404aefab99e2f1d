//! Branches that wait to be walked, last in first out.
//!
//! Kernel: `push_stack`, `pop_stack` (6.18).

use crate::env::Env;
use crate::log::reject;
use crate::memory::{capacity_bytes, push_tight};
use crate::rejection::{Check, FlowFault};
use crate::state::chains::Chains;
use crate::state::history::JmpEntry;
use crate::state::verifier_state::PackedState;
use crate::trace::Event;
use skep_uapi::limits::BPF_COMPLEXITY_LIMIT_JMP_SEQ;

/// One waiting branch.
pub(crate) struct Branch {
    pub(crate) state: PackedState,
    /// Where it goes on.
    pub(crate) insn_idx: u32,
    /// The insn that branched.
    pub(crate) prev_insn_idx: u32,
    /// What the registers of its last frame depend on.
    chains: Chains,
    /// Newest entry of the history when it was pushed: the insn that branched may add to it.
    history_top: Option<JmpEntry>,
    /// Length of the log when it was pushed.
    log_pos: usize,
}

/// The stack.
#[derive(Default)]
pub(crate) struct BranchStack {
    items: Vec<Branch>,
}

impl BranchStack {
    /// The branch pushed last.
    pub(crate) fn last_mut(&mut self) -> Option<&mut Branch> {
        self.items.last_mut()
    }
    /// Bytes allocated.
    pub(crate) fn bytes(&self) -> u64 {
        capacity_bytes(&self.items)
    }
    /// No more than this waited at once.
    pub(crate) fn room(&self) -> usize {
        self.items.capacity()
    }
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }
}

impl Env<'_> {
    /// Saves the current state as a branch that goes on at `insn_idx`; change it through
    /// [`BranchStack::last_mut`] or, better, before the push.
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

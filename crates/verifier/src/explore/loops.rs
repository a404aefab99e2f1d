//! Loops whose precision marks are incomplete: strongly connected components being walked, and the
//! back-edges into them.
//!
//! A state equal to one inside an unfinished component is pruned although the precision marks of
//! that old state are still incomplete. Such a prune is recorded as a back-edge; when the component
//! is left, precision marks are propagated along all back-edges until nothing changes.
//!
//! Kernel: `maybe_enter_scc`, `maybe_exit_scc`, `add_scc_backedge`, `propagate_backedges` (6.18).

use crate::env::{Env, Learned, Store};
use crate::explore::scc_visits::{Backedge, CallChain};
use crate::log::note::Note;
use crate::rejection::{Check, FlowFault, Stop, reject};
use crate::state::frame::frame_insn_idx;
use crate::state::ids::CkptId;
use crate::state::ids::FrameId;
use crate::state::verifier_state::{OwnHistory, PackedState};
use smallvec::SmallVec;

/// Number of rounds after which all scalars of the back-edges are marked instead.
const MAX_BACKEDGE_ITERS: u32 = 64;

impl Env<'_> {
    /// The outermost component that contains a saved state.
    fn scc_callchain(&self, st: &PackedState) -> Option<CallChain> {
        let callsite = |frame: usize| self.store.arena.meta(st.frames[frame]).callsite;
        self.learned.outermost_scc(st.frames.len(), st.meta.insn_idx, callsite)
    }

    /// Whether the checkpoint may still get marks through back-edges.
    pub(crate) fn incomplete_read_marks(&mut self, id: CkptId) -> bool {
        if let Some(is_open) = self.is_in_open_loop(id) {
            return is_open;
        }
        if self.store.sccs.num_backedges == 0 {
            return false;
        }
        self.scc_callchain(&self.store.ckpts.get(id).state)
            .and_then(|chain| self.store.sccs.visits.get(&chain))
            .is_some_and(|visit| !visit.backedges.is_empty())
    }

    /// Records the checkpoint if it is the first in its component.
    pub(crate) fn maybe_enter_scc(&mut self, id: CkptId) {
        let Some(chain) = self.scc_callchain(&self.store.ckpts.get(id).state) else { return };
        let visit = self.store.sccs.visits.entry(chain).or_default();
        if visit.entry_state.is_none() {
            visit.entry_state = Some(id);
            if self.trace.log.traces_all() {
                self.trace.note(Note::ComponentEntered { chain: &chain });
            }
        }
    }

    /// All paths from a checkpoint have been explored: finishes the component if it entered it.
    pub(crate) fn maybe_exit_scc(&mut self, id: CkptId) -> Check {
        let Some(chain) = self.scc_callchain(&self.store.ckpts.get(id).state) else {
            return Ok(());
        };
        let Some(visit) = self.store.sccs.visits.get_mut(&chain) else {
            if self.store.ckpts.get(id).state.meta.speculative {
                return Ok(());
            }
            return Err(Stop::bug(format!("scc exit: no visit info for call chain {chain}")));
        };
        if visit.entry_state != Some(id) {
            return Ok(());
        }
        visit.entry_state = None;
        let mut backedges = std::mem::take(&mut visit.backedges);
        self.store.sccs.num_backedges -= std::mem::take(&mut visit.num_backedges);
        if self.trace.log.traces_all() {
            self.trace.note(Note::ComponentLeft { chain: &chain });
        }
        self.update_peak_states();
        self.propagate_backedges(&mut backedges)?;
        for edge in backedges {
            for frame in edge.state.frames {
                self.store.arena.release(frame);
            }
        }
        if self.store.sccs.num_backedges == 0 {
            self.store.ckpts.reuse_gone();
        }
        Ok(())
    }

    /// A throw ends a path anywhere, while the kernel expects paths to end at checkpoints or
    /// outside of components; it gives up if the component has no checkpoint yet.
    pub(crate) fn throw_exits_scc(&self) -> Check {
        if !self.facts.rules().exceptions_leave_loops {
            return Ok(());
        }
        let frames = &self.walk.cur.frames;
        let callsite = |frame: usize| frames[frame].meta.callsite;
        let chain = self.learned.outermost_scc(frames.len(), self.walk.insn_idx, callsite);
        if let Some(chain) = chain.filter(|chain| !self.store.sccs.visits.contains_key(chain)) {
            reject!(EFAULT, FlowFault::SccExit { chain: chain.to_string().into() });
        }
        Ok(())
    }

    /// Records that the current state was pruned by `equal_state`, whose marks are incomplete.
    pub(crate) fn add_scc_backedge(&mut self, equal_state: CkptId, insn_idx: u32) -> Check {
        let Some(chain) = self.scc_callchain(&self.store.ckpts.get(equal_state).state) else {
            // A call of an iterator's `next` outside of any loop, reached again through a callback.
            if self.facts.rules().nexts_need_a_loop {
                reject!(EFAULT, FlowFault::LoopOutside { insn_idx });
            }
            return Ok(());
        };
        let mut state = self.walk.cur.save(&mut self.store.arena);
        state.meta.insn_idx = insn_idx;
        state.own_history =
            Some(Box::new(OwnHistory(self.walk.cur.history.entries(state.stretch).into())));
        if self.trace.log.traces_all() {
            self.trace.note(Note::ComponentBackedge { chain: &chain });
        }
        let reads =
            self.store.reads.as_ref().map(|reads| Box::new(reads.current(state.frames.len())));
        let Some(visit) = self.store.sccs.visits.get_mut(&chain) else {
            return Err(Stop::bug(format!("add backedge: no visit info for call chain {chain}")));
        };
        visit.backedges.push(Backedge { state, equal_state, reads });
        visit.num_backedges += 1;
        self.store.sccs.num_backedges += 1;
        self.update_peak_states();
        Ok(())
    }

    fn propagate_backedges(&mut self, backedges: &mut [Backedge]) -> Check {
        let mut rounds = 0;
        loop {
            if rounds > MAX_BACKEDGE_ITERS {
                if self.trace.log.traces_all() {
                    self.trace.note(Note::TooManyRounds);
                }
                for edge in backedges.iter().rev() {
                    let curframe = edge.state.frames.len() as u32 - 1;
                    self.mark_all_scalars_precise(edge.state.meta.parent, curframe)?;
                }
                return Ok(());
            }
            rounds += 1;
            let mut changed = false;
            for edge in backedges.iter_mut().rev() {
                changed |= self.store.join_edge(edge);
                changed |= self.propagate_precision(edge.equal_state, Some(&edge.state))?;
            }
            if !changed {
                return Ok(());
            }
        }
    }
}

impl Learned {
    fn outermost_scc(
        &self,
        frames: usize,
        insn_idx: u32,
        callsite: impl Fn(usize) -> i32,
    ) -> Option<CallChain> {
        let mut chain = CallChain::default();
        for i in 0..frames {
            let at = frame_insn_idx(i, frames, insn_idx, &callsite);
            let scc = self.aux[at as usize].scc;
            if scc != 0 {
                chain.scc = scc;
                return Some(chain);
            }
            if i + 1 < frames {
                chain.callsites[i] = at;
            }
        }
        None
    }
}

impl Store {
    /// Propagates the read marks of a back-edge's target to its source.
    fn join_edge(&mut self, edge: &mut Backedge) -> bool {
        let (Some(reads), Some(of_edge)) = (&mut self.reads, &mut edge.reads) else {
            return false;
        };
        let state = &edge.state;
        let slots = |&frame: &FrameId| self.arena.frame(frame).slots_len as usize;
        let slots: SmallVec<[usize; 8]> = state.frames.iter().map(slots).collect();
        reads.join_state(edge.equal_state, of_edge, state.meta.parent, &slots)
    }
}

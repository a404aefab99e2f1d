//! At a prune point: is the current state covered by one already verified, and should it be saved?
//!
//! Kernel: `is_state_visited`, `clean_live_states`, `update_branch_counts`,
//! `maybe_free_verifier_state` (6.18).

use super::equal::{Compare, Exactness, states_maybe_looping};
use crate::env::{Env, InsnFlags, Store};
use crate::kernel_hole::HoleKind;
use crate::log::note::Note;
use crate::passes::call_facts::is_may_goto;
use crate::rejection::{Check, FlowFault, Stop};
use crate::state::chains::Chains;
use crate::state::checkpoint::{Bucket, Checkpoint, Hot, Marks, Mismatch};
use crate::state::history::LinkedReg;
use crate::state::ids::CkptId;
use crate::state::reg::{Extra, IterState};
use crate::state::stack::{Slot, SlotType};
use crate::state::values::{is_constant, named_constant};
use crate::state::verifier_state::OwnHistory;
use crate::trace::telling::ApartRun;
use crate::tuning::IdmapReset;
use skep_uapi::errno;
use smallvec::SmallVec;

/// A checkpoint is saved at every visit once the history since the last one is this long.
const HISTORY_MAX: usize = 40;

/// The result of comparing the current state with a checkpoint.
enum Match {
    /// It covers the current state; `loops` if its marks are incomplete.
    Hit {
        loops: bool,
    },
    Miss(Mismatch),
}

/// The state of a search at one insn.
struct Search {
    insn_idx: u32,
    /// States are saved at each visit of this insn.
    forces_checkpoint: bool,
    force_new_state: bool,
    add_new_state: bool,
    /// Whether incomplete marks matter even if states differ.
    notes_incomplete: bool,
    /// Checkpoints of the list that were looked at.
    states_cnt: u32,
    /// Whether the marks of the finished checkpoint compared last are incomplete. Used at calls of
    /// callbacks.
    was_incomplete: bool,
}

impl Env<'_> {
    fn bucket(&self, insn_idx: u32) -> usize {
        ((insn_idx ^ self.walk.cur.callsite_key()) % self.facts.insns.len() as u32) as usize
    }

    /// True if the current state is covered, so that the path ends here.
    pub(crate) fn is_state_visited(&mut self, insn_idx: u32) -> Check<bool> {
        let aux = &self.learned.aux[insn_idx as usize];
        let forces_checkpoint = aux.has(InsnFlags::FORCE_CHECKPOINT);
        let force_new_state = self.facts.test_state_freq
            || forces_checkpoint
            || (self.walk.cur.history.len() > HISTORY_MAX
                && self.facts.rules().long_histories_saved);
        let far = self.walk.pace.jmps - self.walk.pace.jmps_at_save >= 2
            && self.store.stats.insns_processed - self.walk.pace.insns_at_save >= 8;
        let mut search = Search {
            insn_idx,
            forces_checkpoint,
            force_new_state,
            add_new_state: force_new_state || far,
            notes_incomplete: self.store.sccs.num_backedges > 0
                && aux.has(InsnFlags::CALLS_CALLBACK),
            states_cnt: 0,
            was_incomplete: false,
        };

        if self.store.arena.wants_sweep() {
            self.collect_values();
        }
        let bucket = self.bucket(insn_idx);
        match self.facts.rules().dead_forgotten_at_once {
            true => self.clean_current(insn_idx),
            false => self.clean_live_states(bucket, insn_idx),
        }
        if self.search_list(bucket, &mut search)? {
            return Ok(true);
        }
        let states_cnt = search.states_cnt;
        self.store.stats.max_states_per_insn = self.store.stats.max_states_per_insn.max(states_cnt);
        let limit = self.facts.config.profile.states_unpriv_max;
        if (!self.facts.bpf_capable && states_cnt > limit) || !search.add_new_state {
            return Ok(false);
        }
        if self.facts.rules().single_ids_forgotten {
            self.forget_single_ids();
        }
        self.add_checkpoint(bucket, insn_idx);
        Ok(false)
    }

    /// Collects interned registers that no state refers to.
    fn collect_values(&mut self) {
        let frames = &self.walk.cur.frames;
        let names = frames.iter().flat_map(|f| f.names().iter().map(|name| name.val));
        let spills = frames.iter().flat_map(|f| f.slots().iter().map(|slot| slot.spill.val));
        let marks = self.store.arena.collect_values(names.chain(spills));
        self.store.transfers.retain(|name| marks.stays(name));
        self.trace.tell_sweep();
    }

    /// Compares with the newest checkpoint first, in the order of the kernel's list; true if one
    /// covers the current state.
    fn search_list(&mut self, bucket: usize, search: &mut Search) -> Check<bool> {
        let mut run = ApartRun::default();
        let found = self.search_from(bucket, search, &mut run);
        self.tell_rest(search.insn_idx, &mut run);
        found
    }

    /// Evicts checkpoints that miss too often.
    #[inline(always)] // A call per visit is measurable.
    fn search_from(
        &mut self,
        bucket: usize,
        search: &mut Search,
        run: &mut ApartRun,
    ) -> Check<bool> {
        let mut newer = None;
        let mut next = self.store.explored[bucket].newest;
        while let Some(id) = next {
            search.states_cnt += 1;
            let hot = self.store.ckpts.hot(id);
            next = hot.older;
            if hot.insn_idx != search.insn_idx {
                newer = Some(id);
                continue;
            }
            let is_apart = self.is_apart(hot);
            let mismatch = if is_apart && hot.branches == 0 && !search.notes_incomplete {
                Mismatch::Constant
            } else {
                let hot = *hot;
                match self.compare_with(id, &hot, is_apart, search)? {
                    Match::Hit { loops } => {
                        self.path_is_covered(id, loops, search.insn_idx)?;
                        return Ok(true);
                    }
                    Match::Miss(mismatch) => mismatch,
                }
            };
            if self.trace.has_listener() {
                self.tell_apart(id, mismatch, run);
            }
            if self.store.ckpts.hot_mut(id).misses_too_often(search) {
                self.store.evict(bucket, newer, id);
                self.maybe_free(id);
            } else {
                newer = Some(id);
            }
        }
        Ok(false)
    }

    /// The checkpoint covers the current state: its marks become the marks of the current path.
    fn path_is_covered(&mut self, id: CkptId, loops: bool, insn_idx: u32) -> Check {
        let hot = self.store.ckpts.hot_mut(id);
        hot.hit_cnt += 1;
        let within = loops || hot.branches > 0;
        self.tell_covered(id, within);
        self.join_reads(id);
        if self.learned.aux[insn_idx as usize].has(InsnFlags::JMP_POINT) {
            self.walk.push_jump();
        }
        self.propagate_precision(id, None)?;
        if loops && !self.ends_in_loop(id) {
            self.add_scc_backedge(id, insn_idx)?;
        }
        Ok(())
    }

    fn compare_with(
        &mut self,
        id: CkptId,
        hot: &Hot,
        is_apart: bool,
        search: &mut Search,
    ) -> Check<Match> {
        if hot.branches > 0 {
            return self.compare_with_unfinished(id, hot, is_apart, search);
        }
        if search.notes_incomplete {
            search.was_incomplete = self.incomplete_read_marks(id);
        }
        if is_apart {
            return Ok(Match::Miss(Mismatch::Constant));
        }
        let loops = self.incomplete_read_marks(id);
        let exact = if loops { self.exactness_in_loops() } else { Exactness::Covered };
        Ok(match self.compare(id, exact) {
            Ok(()) => Match::Hit { loops },
            Err(mismatch) => Match::Miss(mismatch),
        })
    }

    /// Whether the states differ in the register in which an earlier comparison with the checkpoint
    /// failed.
    #[inline(always)] // As for `Compare::is_apart`.
    fn is_apart(&self, hot: &Hot) -> bool {
        hot.hints.constant.is_some_and(|(regno, name)| {
            let cur = self.walk.frame().name(regno).val;
            cur != name.get()
                && (is_constant(cur) || self.store.arena.known(cur) != named_constant(name.get()))
        })
    }

    /// Compares with a checkpoint on the current path: a loop has come back to it.
    fn compare_with_unfinished(
        &mut self,
        id: CkptId,
        hot: &Hot,
        apart: bool,
        search: &mut Search,
    ) -> Check<Match> {
        let insn_idx = search.insn_idx;
        let aux = self.learned.aux[insn_idx as usize];
        let in_loops = self.exactness_in_loops();
        let mut may_be_infinite = true;
        if hot.in_async_callback_fn && self.is_another_async_entry(id) {
            // A different entry into an async callback is not a loop.
            may_be_infinite = false;
        } else if aux.has(InsnFlags::ITER_NEXT) {
            if !apart && self.states_equal(id, in_loops) && self.iter_is_active() {
                return Ok(Match::Hit { loops: true });
            }
            may_be_infinite = false;
        } else if is_may_goto(&self.facts.insns[insn_idx as usize]) {
            if !apart
                && self.store.ckpts.get(id).state.meta.may_goto_depth
                    != self.walk.cur.meta.may_goto_depth
                && self.states_equal(id, in_loops)
            {
                return Ok(Match::Hit { loops: true });
            }
        } else if aux.has(InsnFlags::CALLS_CALLBACK) {
            if !apart && self.states_equal(id, in_loops) {
                // Kernels that do not treat callbacks as loops use the result of the previous
                // comparison here.
                let loops = self.facts.callbacks_are_loops()
                    || search.was_incomplete
                    || self.goes_by(HoleKind::CallbackStates);
                return Ok(Match::Hit { loops });
            }
            may_be_infinite = false;
        }
        if may_be_infinite
            && !apart
            && states_maybe_looping(&self.store.arena, self.store.ckpts.get(id), &self.walk.cur)
            && self.is_round_again(id)
            && !self.iter_active_depths_differ(id)
            && self.unrolled_alike(id)
        {
            return self.infinite_loop(id, insn_idx);
        }
        // Kernels on which callbacks are no loops force no state in a loop.
        let is_forced = search.force_new_state && self.facts.rules().callbacks_converge;
        if !is_forced
            && self.walk.pace.jmps - self.walk.pace.jmps_at_save < 20
            && self.store.stats.insns_processed - self.walk.pace.insns_at_save < 100
        {
            search.add_new_state = false;
        }
        Ok(Match::Miss(Mismatch::Unfinished))
    }

    /// How closely states of unfinished loops must match.
    fn exactness_in_loops(&self) -> Exactness {
        match self.facts.rules().loops_compare_ranges {
            true => Exactness::RangeWithin,
            false => Exactness::Same,
        }
    }

    /// Whether the last frame belongs to a different entry into an async callback.
    fn is_another_async_entry(&self, id: CkptId) -> bool {
        let last = self.store.ckpts.get(id).state.frames.last().map(|&f| self.store.arena.meta(f));
        last.map(|f| f.async_entry_cnt) != Some(self.walk.frame().meta.async_entry_cnt)
    }

    fn unrolled_alike(&self, id: CkptId) -> bool {
        let (old, cur) = (&self.store.ckpts.get(id).state.meta, &self.walk.cur.meta);
        old.may_goto_depth == cur.may_goto_depth
            && old.callback_unroll_depth == cur.callback_unroll_depth
    }

    fn infinite_loop(&mut self, id: CkptId, insn_idx: u32) -> Check<Match> {
        self.trace.print_source_line(self.facts, insn_idx, "; ");
        let stop = Stop::refuse(errno::EINVAL, FlowFault::InfiniteLoop { insn_idx });
        let stop = self.trace.refused_first(stop);
        if !self.facts.rules().loops_only_named {
            self.trace.note(Note::CurrentState);
            self.print_state_all();
            self.trace.note(Note::OldState);
            let live = u32::from(self.learned.aux[insn_idx as usize].live_regs) | 1 << 10;
            let forgets = self.facts.rules().dead_forgotten_at_once;
            self.print_checkpoint(id, None, if forgets { live } else { !0 });
        }
        Err(stop)
    }

    pub(super) fn states_equal(&mut self, id: CkptId, exact: Exactness) -> bool {
        self.compare(id, exact).is_ok()
    }

    /// Why the checkpoint does not cover the current state, if it does not.
    #[inline(always)] // As for `Compare::is_apart`.
    fn compare(&mut self, id: CkptId, exact: Exactness) -> Result<(), Mismatch> {
        match &self.store.current_marks {
            Some(marks) if marks.stay => self.compare_marked(id, exact),
            _ => self.compare_as_saved(id, exact),
        }
    }

    fn compare_as_saved(&mut self, id: CkptId, exact: Exactness) -> Result<(), Mismatch> {
        self.store.stats.fast_paths.idmap_resets += 1;
        self.store.stats.fast_paths.idmap_resets_counter +=
            u64::from(self.facts.config.tuning.idmap_reset == IdmapReset::Counter);
        let mut compare = self.comparison(id, exact);
        if compare.states_equal() {
            return Ok(());
        }
        let (hints, mismatch) = (compare.hints, compare.mismatch);
        self.store.ckpts.hot_mut(id).hints = hints;
        Err(mismatch)
    }

    /// The same on kernels on which what is precise in the current state must be covered, too. A
    /// constant that is not covered is only a place to compare first: it may be precise just here.
    #[cold]
    fn compare_marked(&mut self, id: CkptId, exact: Exactness) -> Result<(), Mismatch> {
        let marks = self.store.ckpts.get(id).precise.clone();
        let constant = self.store.ckpts.hot(id).hints.constant;
        if let Some(current) = &self.store.current_marks {
            let precise = &mut self.store.ckpts.get_mut(id).precise;
            precise.iter_mut().enumerate().for_each(|(at, it)| it.add(current.of(at)));
        }
        let compared = self.compare_as_saved(id, exact);
        self.store.ckpts.get_mut(id).precise = marks;
        if compared != Err(Mismatch::Constant) {
            return compared;
        }
        let frameno = self.walk.cur.curframe() as u8;
        let hints = &mut self.store.ckpts.hot_mut(id).hints;
        hints.place = hints.constant.map(|(at, _)| LinkedReg { frameno, is_reg: true, at });
        hints.constant = constant;
        Err(Mismatch::Place)
    }

    /// Compares a checkpoint with the current state, using the hints of earlier comparisons.
    #[inline(always)]
    fn comparison(&mut self, id: CkptId, exact: Exactness) -> Compare<'_> {
        self.store.idmap.reset(self.store.id_gen);
        Compare {
            arena: &self.store.arena,
            idmap: &mut self.store.idmap,
            old: self.store.ckpts.get(id),
            cur: &self.walk.cur,
            aux: &self.learned.aux,
            exact,
            all_precise: self.facts.all_precise,
            allow_uninit_stack: self.facts.allow_uninit_stack,
            moves_by_variable: self.learned.moves_by_variable,
            rules: self.facts.rules(),
            hints: self.store.ckpts.hot(id).hints,
            mismatch: Mismatch::State,
        }
    }

    /// Whether the iterator in R1 of the current `next` call is active.
    fn iter_is_active(&self) -> bool {
        let r1 = self.reg(1);
        let off = r1.off.wrapping_add(r1.val.var_off.value as i32);
        let spi = crate::state::stack::spi_of(off);
        let reg = self.spilled(r1.frameno(), spi);
        matches!(reg.extra, Extra::Iter { active: IterState::Active, .. })
    }

    /// Whether an active iterator is at a different depth.
    fn iter_active_depths_differ(&self, id: CkptId) -> bool {
        let active_depth = |slot: &Slot| {
            if slot.types[0] != SlotType::Iter {
                return None;
            }
            match self.store.arena.val(slot.spill.val).extra {
                Extra::Iter { active: IterState::Active, depth, .. } => Some(depth),
                _ => None,
            }
        };
        let depth_of = |slot: &Slot| match self.store.arena.val(slot.spill.val).extra {
            Extra::Iter { depth, .. } => depth,
            _ => 0,
        };
        self.store.ckpts.get(id).state.frames.iter().zip(&self.walk.cur.frames).any(
            |(&old, cur)| {
                self.store
                    .arena
                    .frame_slots(old)
                    .zip(cur.slots())
                    .any(|(o, c)| active_depth(o).is_some_and(|depth| depth_of(c) != depth))
            },
        )
    }

    /// Saves the current state at the head of its list.
    fn add_checkpoint(&mut self, bucket: usize, insn_idx: u32) {
        self.store.stats.total_states += 1;
        self.store.explored_states_size += 1;
        self.update_peak_states();
        self.walk.pace.jmps_at_save = self.walk.pace.jmps;
        self.walk.pace.insns_at_save = self.store.stats.insns_processed;
        let mut state = self.walk.cur.save(&mut self.store.arena);
        state.meta.insn_idx = insn_idx;
        let mut precise = SmallVec::from_elem(Marks::default(), state.frames.len());
        if let Some(marks) = &mut self.store.current_marks {
            marks.save(&mut precise);
        }
        let hot = Hot {
            insn_idx,
            branches: 1,
            older: self.store.explored[bucket].newest,
            in_async_callback_fn: self.walk.frame().meta.in_async_callback_fn,
            ..Hot::default()
        };
        let chains = self.walk.frame().chains;
        let (id, recycled) =
            self.store.ckpts.add(hot, Checkpoint { state, precise, all_marked: false, chains });
        self.store.stats.fast_paths.states_saved += 1;
        self.store.stats.fast_paths.states_recycled += u64::from(recycled);
        self.trace.tell_saved(id, insn_idx);
        self.maybe_enter_scc(id);
        if let Some(entries) = &mut self.store.loop_entries {
            entries.save(id);
        }
        self.save_reads(id);
        self.walk.cur.meta.parent = Some(id);
        self.walk.cur.meta.first_insn_idx = insn_idx;
        self.walk.cur.meta.dfs_depth += 1;
        self.walk.cur.history.begin_stretch();
        self.walk.cur.lose_chains();
        self.walk.frame_mut().chains = Chains::at_checkpoint();
        self.store.explored[bucket] =
            Bucket { newest: Some(id), uncleaned: self.store.explored[bucket].uncleaned + 1 };
    }

    /// The current path has ended: decrements the branch counts of its checkpoints.
    pub(crate) fn update_branch_counts(&mut self) -> Check {
        let mut next = self.walk.cur.meta.parent;
        self.hand_entry_on(None, next);
        while let Some(id) = next {
            let hot = self.store.ckpts.hot_mut(id);
            hot.branches -= 1;
            if hot.branches > 0 {
                break;
            }
            if self.store.sccs.num_backedges > 0 {
                self.keep_history(id);
            }
            next = self.store.ckpts.get(id).state.meta.parent;
            self.hand_entry_on(Some(id), next);
            self.maybe_exit_scc(id)?;
            self.maybe_free(id);
        }
        Ok(())
    }

    /// Copies the history of a finished checkpoint, from which a back-edge may have to continue
    /// backtracking.
    fn keep_history(&mut self, id: CkptId) {
        let stretch = self.store.ckpts.get(id).state.stretch;
        let history = OwnHistory(self.walk.cur.history.entries(stretch).into());
        self.store.ckpts.keep_history(id, history);
    }

    /// Frees a checkpoint that has left its list and is of no use to a path any more. Some kernels
    /// keep those that were not cleaned when they left it, and count them to the end.
    fn maybe_free(&mut self, id: CkptId) {
        let hot = *self.store.ckpts.hot(id);
        let is_entry = self.store.loop_entries.as_ref().is_some_and(|it| it.is_entry(id));
        let may_go = hot.in_free_list && hot.branches == 0 && !is_entry;
        let goes_at_once = self.facts.rules().loop_entries_left_over;
        if may_go && (goes_at_once || !self.incomplete_read_marks(id)) {
            let stays = self.facts.rules().evicted_states_stay && !hot.cleaned;
            let edges_pending = self.store.sccs.num_backedges > 0;
            self.store.ckpts.remove(id, edges_pending, &mut self.store.arena);
            self.store.free_list_size -= u32::from(!stays);
        }
    }

    pub(crate) fn update_peak_states(&mut self) {
        let counted = self.facts.rules().backedges_counted;
        let backedges = if counted { self.store.sccs.num_backedges } else { 0 };
        let now = self.store.explored_states_size + self.store.free_list_size + backedges;
        self.store.stats.peak_states = self.store.stats.peak_states.max(now);
    }
}

impl Store {
    /// Moves checkpoint `id`, which comes after `newer`, from its list to the free list.
    fn evict(&mut self, bucket: usize, newer: Option<CkptId>, id: CkptId) {
        let hot = self.ckpts.hot_mut(id);
        hot.in_free_list = true;
        let (older, cleaned) = (hot.older, hot.cleaned);
        self.free_list_size += 1;
        self.explored_states_size -= 1;
        self.explored[bucket].uncleaned -= u32::from(!cleaned);
        match newer {
            Some(newer) => self.ckpts.hot_mut(newer).older = older,
            None => self.explored[bucket].newest = older,
        }
    }
}

impl Hot {
    /// Counts a miss; true if there are too many of them.
    #[inline]
    fn misses_too_often(&mut self, search: &Search) -> bool {
        if search.add_new_state {
            self.miss_cnt += 1;
        }
        let n = if search.forces_checkpoint && self.branches > 0 { 64 } else { 3 };
        self.miss_cnt > self.hit_cnt * n + n
    }
}

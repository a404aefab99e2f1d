//! At a prune point: is the current state covered by one already verified, and should it be saved?
//!
//! Kernel: `is_state_visited`, `clean_live_states`, `update_branch_counts`,
//! `maybe_free_verifier_state` (6.18).

use super::equal::{Compare, Exactness, frame_insn_idx, states_maybe_looping};
use crate::env::Env;
use crate::log::verbose;
use crate::passes::call_facts::is_may_goto;
use crate::rejection::Check;
use crate::state::checkpoint::{Checkpoint, CkptId, Marks};
use crate::state::reg::{Extra, IterState};
use crate::state::stack::{Slot, SlotType};
use smallvec::SmallVec;

/// A checkpoint at every visit once the history since the last one is this long.
const HISTORY_MAX: usize = 40;

/// What to do with the checkpoint that the current state is compared with.
enum Match {
    /// It covers the current state; `loops` if its marks are incomplete.
    Hit {
        loops: bool,
    },
    Miss,
}

/// How the search at one insn goes on.
struct Search {
    insn_idx: u32,
    force_new_state: bool,
    add_new_state: bool,
}

impl Env<'_> {
    fn bucket(&self, insn_idx: u32) -> usize {
        ((insn_idx ^ self.cur.callsite_key()) % self.insns.len() as u32) as usize
    }

    /// True if the current state is covered and the path can end here.
    pub(crate) fn is_state_visited(&mut self, insn_idx: u32) -> Check<bool> {
        let force_new_state = self.test_state_freq
            || self.aux[insn_idx as usize].force_checkpoint
            || self.cur.history.len() > HISTORY_MAX;
        let far = self.jmps_processed - self.prev_jmps_processed >= 2
            && self.stats.insns_processed - self.prev_insn_processed >= 8;
        let mut search =
            Search { insn_idx, force_new_state, add_new_state: force_new_state || far };

        let bucket = self.bucket(insn_idx);
        self.clean_live_states(bucket, insn_idx);
        let mut list = std::mem::take(&mut self.explored[bucket]);
        let found = self.search_list(&mut list, &mut search);
        self.explored[bucket] = list;
        let (hit, states_cnt) = found?;
        if hit {
            return Ok(true);
        }
        self.stats.max_states_per_insn = self.stats.max_states_per_insn.max(states_cnt);
        let limit = self.config.profile.states_unpriv_max;
        if (!self.bpf_capable && states_cnt > limit) || !search.add_new_state {
            return Ok(false);
        }
        self.add_checkpoint(bucket, insn_idx);
        Ok(false)
    }

    /// Newest first, as the kernel's list; evicts what misses too often.
    fn search_list(&mut self, list: &mut Vec<CkptId>, search: &mut Search) -> Check<(bool, u32)> {
        let mut states_cnt = 0;
        for at in (0..list.len()).rev() {
            let id = list[at];
            states_cnt += 1;
            if self.ckpts.get(id).state.meta.insn_idx != search.insn_idx {
                continue;
            }
            match self.compare_with(id, search)? {
                Match::Hit { loops } => {
                    self.ckpts.get_mut(id).hit_cnt += 1;
                    if self.aux[search.insn_idx as usize].jmp_point {
                        self.push_jmp_history(Default::default(), Default::default());
                    }
                    self.propagate_precision(id, None)?;
                    if loops {
                        self.add_scc_backedge(id, search.insn_idx)?;
                    }
                    return Ok((true, states_cnt));
                }
                Match::Miss => {
                    if self.count_miss(id, search) {
                        list.remove(at);
                        self.maybe_free(id);
                    }
                }
            }
        }
        Ok((false, states_cnt))
    }

    /// True if the checkpoint has missed too often and leaves the list.
    fn count_miss(&mut self, id: CkptId, search: &Search) -> bool {
        let force = self.aux[search.insn_idx as usize].force_checkpoint;
        let ckpt = self.ckpts.get_mut(id);
        if search.add_new_state {
            ckpt.miss_cnt += 1;
        }
        let n = if force && ckpt.branches > 0 { 64 } else { 3 };
        if ckpt.miss_cnt <= ckpt.hit_cnt * n + n {
            return false;
        }
        ckpt.in_free_list = true;
        self.free_list_size += 1;
        self.explored_states_size -= 1;
        true
    }

    fn compare_with(&mut self, id: CkptId, search: &mut Search) -> Check<Match> {
        if self.ckpts.get(id).branches > 0 {
            return self.compare_with_unfinished(id, search);
        }
        let loops = self.incomplete_read_marks(id);
        let exact = if loops { Exactness::RangeWithin } else { Exactness::Covered };
        Ok(if self.states_equal(id, exact) { Match::Hit { loops } } else { Match::Miss })
    }

    /// The checkpoint is on a path that is still walked: a loop came back to it.
    fn compare_with_unfinished(&mut self, id: CkptId, search: &mut Search) -> Check<Match> {
        let insn_idx = search.insn_idx;
        let meta = self.ckpts.get(id).state.meta;
        let last = self.ckpts.get(id).state.frames.last().map(|&f| self.arena.frame(f).meta);
        let aux = self.aux[insn_idx as usize];
        let mut may_be_infinite = true;
        if last.is_some_and(|f| f.in_async_callback_fn)
            && last.map(|f| f.async_entry_cnt) != Some(self.frame().meta.async_entry_cnt)
        {
            // Another entry into an async callback: not a loop.
            may_be_infinite = false;
        } else if aux.is_iter_next {
            if self.states_equal(id, Exactness::RangeWithin) && self.iter_is_active() {
                return Ok(Match::Hit { loops: true });
            }
            may_be_infinite = false;
        } else if is_may_goto(&self.insns[insn_idx as usize]) {
            if meta.may_goto_depth != self.cur.meta.may_goto_depth
                && self.states_equal(id, Exactness::RangeWithin)
            {
                return Ok(Match::Hit { loops: true });
            }
        } else if aux.calls_callback {
            if self.states_equal(id, Exactness::RangeWithin) {
                return Ok(Match::Hit { loops: false });
            }
            may_be_infinite = false;
        }
        if may_be_infinite
            && states_maybe_looping(&self.arena, self.ckpts.get(id), &self.cur)
            && self.states_equal(id, Exactness::Same)
            && !self.iter_active_depths_differ(id)
            && meta.may_goto_depth == self.cur.meta.may_goto_depth
            && meta.callback_unroll_depth == self.cur.meta.callback_unroll_depth
        {
            return self.infinite_loop(id, insn_idx);
        }
        if !search.force_new_state
            && self.jmps_processed - self.prev_jmps_processed < 20
            && self.stats.insns_processed - self.prev_insn_processed < 100
        {
            search.add_new_state = false;
        }
        Ok(Match::Miss)
    }

    fn infinite_loop(&mut self, id: CkptId, insn_idx: u32) -> Check<Match> {
        self.print_source_line(insn_idx, "; ");
        let message = format!("infinite loop detected at insn {insn_idx}");
        verbose!(self, "{message}\ncur state:");
        self.print_state_all();
        verbose!(self, "old state:");
        self.print_checkpoint(id, None, true);
        Err(crate::rejection::Stop::Reject { errno: crate::rejection::errno::EINVAL, message })
    }

    fn states_equal(&mut self, id: CkptId, exact: Exactness) -> bool {
        self.idmap.reset(self.id_gen);
        let mut compare = Compare {
            arena: &self.arena,
            idmap: &mut self.idmap,
            exact,
            all_precise: !self.bpf_capable,
            allow_uninit_stack: self.allow_uninit_stack,
            explore_alu_limits: self.explore_alu_limits,
        };
        let aux = &self.aux;
        compare.states_equal(self.ckpts.get(id), &self.cur, |i| aux[i as usize].live_regs)
    }

    /// Whether the iterator that the `next` call at hand gets in R1 is active.
    fn iter_is_active(&self) -> bool {
        let r1 = self.reg(1);
        let off = r1.off.wrapping_add(r1.val.var_off.value as i32);
        let spi = crate::state::stack::spi_of(off);
        let reg = self.spilled(r1.frameno(), spi);
        matches!(reg.extra, Extra::Iter { active: IterState::Active, .. })
    }

    /// Whether an active iterator has made a different number of steps.
    fn iter_active_depths_differ(&self, id: CkptId) -> bool {
        let active_depth = |slot: &Slot| {
            if slot.types[0] != SlotType::Iter {
                return None;
            }
            match self.arena.val(slot.spill.val).extra {
                Extra::Iter { active: IterState::Active, depth, .. } => Some(depth),
                _ => None,
            }
        };
        let depth_of = |slot: &Slot| match self.arena.val(slot.spill.val).extra {
            Extra::Iter { depth, .. } => depth,
            _ => 0,
        };
        self.ckpts.get(id).state.frames.iter().zip(&self.cur.frames).any(|(&old, cur)| {
            self.arena
                .frame_slots(old)
                .iter()
                .zip(cur.slots())
                .any(|(o, c)| active_depth(o).is_some_and(|depth| depth_of(c) != depth))
        })
    }

    /// Saves the current state at the head of its list.
    fn add_checkpoint(&mut self, bucket: usize, insn_idx: u32) {
        self.stats.total_states += 1;
        self.explored_states_size += 1;
        self.update_peak_states();
        self.prev_jmps_processed = self.jmps_processed;
        self.prev_insn_processed = self.stats.insns_processed;
        let mut state = self.cur.save(&mut self.arena);
        state.meta.insn_idx = insn_idx;
        let precise = state.frames.iter().map(|_| Marks::default()).collect();
        let id = self.ckpts.add(Checkpoint { state, precise, branches: 1, ..Default::default() });
        self.maybe_enter_scc(id);
        self.cur.meta.parent = Some(id);
        self.cur.meta.first_insn_idx = insn_idx;
        self.cur.meta.dfs_depth += 1;
        self.cur.history.clear();
        self.explored[bucket].push(id);
    }

    pub(crate) fn update_peak_states(&mut self) {
        let now = self.explored_states_size + self.free_list_size + self.sccs.num_backedges;
        self.stats.peak_states = self.stats.peak_states.max(now);
    }

    /// The current path has ended: its checkpoints have one branch less to wait for.
    pub(crate) fn update_branch_counts(&mut self) -> Check {
        let mut next = self.cur.meta.parent;
        while let Some(id) = next {
            let ckpt = self.ckpts.get_mut(id);
            ckpt.branches -= 1;
            if ckpt.branches > 0 {
                break;
            }
            next = ckpt.state.meta.parent;
            self.maybe_exit_scc(id)?;
            self.maybe_free(id);
        }
        Ok(())
    }

    fn maybe_free(&mut self, id: CkptId) {
        let ckpt = self.ckpts.get(id);
        if ckpt.in_free_list && ckpt.branches == 0 && !self.incomplete_read_marks(id) {
            self.ckpts.remove(id, &mut self.arena);
            self.free_list_size -= 1;
        }
    }

    /// Verified checkpoints of the list forget what is dead at their insn.
    fn clean_live_states(&mut self, bucket: usize, insn_idx: u32) {
        for at in 0..self.explored[bucket].len() {
            let id = self.explored[bucket][at];
            let ckpt = self.ckpts.get(id);
            if ckpt.branches > 0
                || ckpt.cleaned
                || ckpt.state.meta.insn_idx != insn_idx
                || !self.same_callsites(ckpt)
                || self.incomplete_read_marks(id)
            {
                continue;
            }
            self.clean_checkpoint(id);
        }
    }

    fn same_callsites(&self, old: &Checkpoint) -> bool {
        old.state.frames.len() == self.cur.frames.len()
            && old
                .state
                .frames
                .iter()
                .zip(&self.cur.frames)
                .all(|(&o, c)| self.arena.frame(o).meta.callsite == c.meta.callsite)
    }

    fn clean_checkpoint(&mut self, id: CkptId) {
        let n = self.ckpts.get(id).state.frames.len();
        let frames = self.ckpts.get(id).state.frames.clone();
        let insn_idx = self.ckpts.get(id).state.meta.insn_idx;
        let callsites: SmallVec<[i32; 8]> =
            frames.iter().map(|&f| self.arena.frame(f).meta.callsite).collect();
        let instance = self.arena.frame(frames[n - 1]).meta.instance;
        for i in 0..n {
            let at = frame_insn_idx(i, n, insn_idx, |f| callsites[f]);
            let live = self.aux[at as usize].live_regs;
            let alive = self.live_stack.live_mask(instance, insn_idx, i);
            let clean = self.arena.edit_frame(frames[i], |regs, slots| {
                for (r, reg) in regs.iter_mut().enumerate().take(10) {
                    if live >> r & 1 == 0 {
                        *reg = Default::default();
                    }
                }
                for (spi, slot) in slots.iter_mut().enumerate() {
                    if alive >> spi & 1 == 0 {
                        *slot = Slot::default();
                    }
                }
            });
            self.ckpts.get_mut(id).state.frames[i] = clean;
            let marks = &mut self.ckpts.get_mut(id).precise[i];
            marks.regs &= live;
            marks.stack &= alive;
        }
        self.ckpts.get_mut(id).cleaned = true;
    }
}

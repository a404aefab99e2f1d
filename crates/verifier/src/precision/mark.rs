//! Marks scalars precise, from a state back through all checkpoints of its path.
//!
//! Kernel: `__mark_chain_precision`, `mark_all_scalars_precise`, `propagate_precision` (6.18).

use super::backtrack::{ALWAYS, concerns};
use crate::env::{Env, Facts, Walk};
use crate::insn_aux::InsnFlags;
use crate::log::note::{Marked, Note, Tracked};
use crate::precision::backtrack_state::{BacktrackError, BacktrackState};
use crate::rejection::{Check, Stop, unsupported};
use crate::state::chains::Chains;
use crate::state::checkpoint::Marks;
use crate::state::current_marks::Traced;
use crate::state::frame::BPF_MAIN_FUNC;
use crate::state::history::JmpEntry;
use crate::state::ids::CkptId;
use crate::state::values::SCALAR;
use crate::state::verifier_state::PackedState;
use crate::tuning::BacktrackSkip;

/// Position in the part of the path that belongs to one state.
struct Stretch {
    /// Insn at which to start; -1 before the entry of the program.
    last_idx: i64,
    first_idx: i64,
    subseq_idx: i64,
    skip_first: bool,
    /// Whether to notice that the rest was traced before.
    retraces: bool,
}

/// The state from which backtracking started.
#[derive(Clone, Copy)]
struct Origin {
    parent: Option<CkptId>,
    curframe: u32,
}

/// An insn of a stretch, and the number of history entries up to it.
struct Place {
    idx: i64,
    left: usize,
}

impl Place {
    /// The history entry of the insn.
    #[inline]
    fn entry<'a>(&self, history: &'a [JmpEntry]) -> Option<&'a JmpEntry> {
        history[..self.left].last().filter(|e| i64::from(e.insn_idx) == self.idx)
    }
}

/// The result of backtracking through a stretch.
enum Walked {
    /// Nothing is tracked any more, or everything has been marked; `marked` if the oldest state
    /// reached got a new mark.
    Done { marked: bool },
    /// Backtracking continues in the parent.
    GoesOn,
}

impl Env<'_> {
    /// Marks register `regno` of the current frame, and what it depends on, as precise.
    #[inline(always)] // Mostly it is precise already.
    pub(crate) fn mark_chain_precision(&mut self, regno: u8) -> Check {
        if self.facts.all_precise {
            return Ok(());
        }
        self.store.stats.fast_paths.backtracks += 1;
        let is_precise = match self.follows_chains() {
            true => self.walk.frame().chains.is_precise(regno),
            false => self.mark_current(regno),
        };
        if is_precise {
            self.store.stats.fast_paths.backtracks_skipped += 1;
            return Ok(());
        }
        self.mark_from(regno)
    }

    #[inline(never)]
    fn mark_from(&mut self, regno: u8) -> Check {
        self.walk.bt.reset();
        self.walk.bt.frame = self.walk.cur.curframe() as usize;
        if !self.store.arena.is(self.walk.frame().name(regno), SCALAR) {
            return Err(Stop::bug(format!("backtracking misuse: r{regno} is no scalar")));
        }
        self.walk.bt.set_reg(regno);
        self.mark_chain_precision_batch(None)?;
        self.walk.cur.frame_mut().chains.set_precise(regno);
        Ok(())
    }

    /// Whether register dependencies may be used instead of the history; not with a log that prints
    /// every step.
    fn follows_chains(&self) -> bool {
        let skips = self.facts.config.tuning.backtrack_skip == BacktrackSkip::On;
        skips
            && self.store.current_marks.is_none()
            && !self.trace.log.traces_all()
            && self.facts.rules().first_rounds_walked_back
    }

    /// Whether to look for where the last backtracking began: kernels that forget what is precise
    /// in the current state go all the way again. Not with a log that prints every step.
    fn may_retrace(&self) -> bool {
        let forgets = self.store.current_marks.as_ref().is_some_and(|marks| !marks.stay);
        forgets && !self.trace.log.traces_all()
    }

    /// Marks the registers and slots in `self.walk.bt` as precise, starting from the current state
    /// or from `start`. True if a mark is new.
    pub(crate) fn mark_chain_precision_batch(
        &mut self,
        start: Option<&PackedState>,
    ) -> Check<bool> {
        if self.facts.all_precise || self.walk.bt.is_empty() {
            return Ok(false);
        }
        let entries = self.walk.cur.history.take();
        let changed = self.mark_back(start, &entries);
        self.walk.cur.history.put_back(entries);
        changed
    }

    /// `entries` is the whole history.
    fn mark_back(&mut self, start: Option<&PackedState>, entries: &[JmpEntry]) -> Check<bool> {
        let (meta, curframe) = match start {
            Some(st) => (st.meta, st.frames.len() as u32 - 1),
            None => (self.walk.cur.meta, self.walk.cur.curframe()),
        };
        let origin = Origin { parent: meta.parent, curframe };
        let mut way = Stretch {
            last_idx: i64::from(meta.insn_idx),
            first_idx: i64::from(meta.first_insn_idx),
            subseq_idx: -1,
            skip_first: true,
            retraces: start.is_none() && self.may_retrace(),
        };
        let follows = self.follows_chains();
        let chains = self.walk.frame().chains;
        let mut walked = if follows
            && start.is_none()
            && self.walk.follow(&chains, curframe as usize)
        {
            Walked::GoesOn
        } else {
            let own = start.and_then(|st| st.own_history.as_deref());
            let history = own
                .map_or(&entries[self.walk.cur.history.current_range(entries.len())], |own| &own.0);
            self.walk_back(&mut way, history, None, origin)?
        };
        let (mut changed, mut parent) = (false, meta.parent);
        loop {
            if let Walked::Done { marked } = walked {
                return Ok(changed | marked);
            }
            if self.walk.bt.is_empty() {
                return Ok(changed);
            }
            let Some(id) = parent else { break };
            // Never gone on the current path: there are branches left.
            if start.is_some() {
                self.refuse_gone(id)?;
            }
            changed |= self.mark_checkpoint(id);
            if self.walk.bt.is_empty() {
                return Ok(changed);
            }
            let ckpt = self.store.ckpts.get(id);
            let state = &ckpt.state;
            parent = state.meta.parent;
            way = Stretch {
                last_idx: i64::from(state.meta.last_insn_idx as i32),
                first_idx: i64::from(state.meta.first_insn_idx),
                subseq_idx: way.first_idx,
                skip_first: false,
                retraces: false,
            };
            if follows && way.last_idx >= 0 {
                let (chains, last) = (ckpt.chains, ckpt.state.frames.len() - 1);
                if self.walk.follow(&chains, last) {
                    walked = Walked::GoesOn;
                    continue;
                }
            }
            let state = &mut self.store.ckpts.get_mut(id).state;
            let (stretch, own) = (state.stretch, state.own_history.take());
            let history = own.as_deref().map_or_else(|| &entries[stretch.range()], |own| &own.0);
            let result = self.walk_back(&mut way, history, Some(id), origin);
            self.store.ckpts.get_mut(id).state.own_history = own;
            walked = result?;
        }
        if !self.walk.bt.is_empty() && self.facts.rules().precision_crosses_calls {
            self.mark_all_scalars_precise(origin.parent, origin.curframe)?;
            self.walk.bt.reset();
        }
        Ok(changed)
    }

    /// Backtracks through the stretch of the state at `at`, or of the state from which backtracking
    /// started.
    fn walk_back(
        &mut self,
        way: &mut Stretch,
        history: &[JmpEntry],
        at: Option<CkptId>,
        origin: Origin,
    ) -> Check<Walked> {
        self.log_stretch(way);
        if self.store.concerns.is_empty() {
            self.store.concerns = self.facts.insns.iter().map(concerns).collect();
        }
        if way.last_idx < 0 {
            return self.mark_entry_args(at).map(|marked| Walked::Done { marked });
        }
        let history = match self.facts.rules().first_rounds_walked_back {
            true => history,
            false => self.history_walked(way, history),
        };
        self.walk_stretch(way, history, at, origin)
    }

    /// The part of a stretch's history that kernels go back over which lose rounds of loops.
    #[cold]
    fn history_walked<'a>(&self, way: &Stretch, history: &'a [JmpEntry]) -> &'a [JmpEntry] {
        if !self.facts.rules().stretches_walked_back {
            return since_first(way, history);
        }
        let is_first = |entry: &JmpEntry| i64::from(entry.insn_idx) == way.first_idx;
        let is_jump =
            |entry: &JmpEntry| self.learned.aux[entry.insn_idx as usize].has(InsnFlags::JMP_POINT);
        let Some((one, later)) = history.split_first() else { return history };
        let next = later.iter().position(is_jump);
        let again = next.filter(|&at| is_first(one) && is_first(&later[at]));
        again.map_or(history, |at| &later[at..])
    }

    fn log_stretch(&mut self, s: &Stretch) {
        if self.trace.log.traces_all() {
            let frame = self.walk.bt.frame;
            let (last, first, subseq) = (s.last_idx, s.first_idx, s.subseq_idx);
            self.trace.note(Note::Backtracks { frame, last, first, subseq });
        }
    }

    fn walk_stretch(
        &mut self,
        s: &mut Stretch,
        history: &[JmpEntry],
        here: Option<CkptId>,
        origin: Origin,
    ) -> Check<Walked> {
        let mut at = Place { idx: s.last_idx, left: history.len() };
        if std::mem::take(&mut s.skip_first) {
            // The current insn is not included: it has not been walked completely.
            if !self.facts.step_back(s, history, &mut at)? {
                return Ok(Walked::GoesOn);
            }
        }
        let mut last = None;
        loop {
            let concerned = self.find_concerned(s, history, &mut at);
            if s.retraces && self.was_traced(&at, &mut last) {
                self.walk.bt.reset();
                return Ok(Walked::Done { marked: false });
            }
            let entry = at.entry(history);
            if concerned || entry.is_some_and(|e| e.linked.len() > 0) {
                self.store.stats.fast_paths.backtracked_insns += 1;
                match self.backtrack_insn(at.idx as u32, s.subseq_idx, entry) {
                    Ok(()) => {}
                    Err(BacktrackError::NotSupported) => {
                        if here.is_none() {
                            self.mark_current_scalars();
                        }
                        let from = self.give_up_from(origin.parent, here);
                        self.mark_all_scalars_precise(from, origin.curframe)?;
                        self.walk.bt.reset();
                        return Ok(Walked::Done { marked: false });
                    }
                    Err(BacktrackError::Stop(stop)) => return Err(stop),
                }
                if self.walk.bt.is_empty() {
                    return Ok(Walked::Done { marked: false });
                }
            }
            if !self.facts.step_back(s, history, &mut at)? {
                return Ok(Walked::GoesOn);
            }
        }
    }

    /// Whether the last backtracking from this state began at this place, with the same registers
    /// and slots: whatever comes now was marked then. `last` is where it began; the first call
    /// finds it, and leaves the beginning of this one instead.
    #[cold]
    fn was_traced(&mut self, at: &Place, last: &mut Option<Option<Traced>>) -> bool {
        let Some(marks) = &mut self.store.current_marks else { return false };
        let BacktrackState { frame, regs, slots } = self.walk.bt;
        let here = Traced { idx: at.idx, entries_left: at.left, frame, regs, slots };
        let last = *last.get_or_insert_with(|| marks.trace_from(here));
        last == Some(here)
    }

    /// The checkpoint from which on everything becomes precise if backtracking from below `origin`
    /// fails in the stretch of `here`.
    fn give_up_from(&self, origin: Option<CkptId>, here: Option<CkptId>) -> Option<CkptId> {
        match here {
            Some(id) if !self.facts.rules().marks_forgotten => Some(id),
            Some(id) if !self.facts.rules().precision_crosses_calls => {
                self.store.ckpts.get(id).state.meta.parent
            }
            _ => origin,
        }
    }

    /// Goes back, but not across a taken jump, to the next insn that affects the tracked registers
    /// or slots; false if there is none.
    #[inline]
    fn find_concerned(&self, s: &mut Stretch, history: &[JmpEntry], at: &mut Place) -> bool {
        if self.trace.log.traces_all() {
            return true;
        }
        let low = match history[..at.left].last() {
            Some(e) if i64::from(e.insn_idx) <= at.idx => i64::from(e.insn_idx),
            None if s.first_idx <= at.idx => s.first_idx,
            _ => at.idx,
        };
        let wanted = self.walk.bt.regs[self.walk.bt.frame] | ALWAYS;
        let straight = &self.store.concerns[low as usize..=at.idx as usize];
        let found = straight.iter().rposition(|concerns| concerns & wanted != 0);
        let idx = low + found.unwrap_or(0) as i64;
        if idx < at.idx {
            s.subseq_idx = idx + 1;
            at.idx = idx;
        }
        found.is_some()
    }

    /// Backtracking has reached the entry of a global function: only its arguments may still be
    /// tracked.
    fn mark_entry_args(&mut self, at: Option<CkptId>) -> Check<bool> {
        let mut changed = false;
        let bt = self.walk.bt;
        let entry = at.is_some_and(|id| {
            let frames = &self.store.ckpts.get(id).state.frames;
            let meta = self.store.arena.meta(frames[0]);
            frames.len() == 1 && meta.subprogno > 0 && meta.callsite == BPF_MAIN_FUNC
        });
        if let Some(id) = at
            && entry
            && bt.slots[bt.frame] == 0
            && bt.regs[bt.frame] & !0x3e == 0
        {
            let ckpt = self.store.ckpts.get_mut(id);
            let frame = self.store.arena.frame(ckpt.state.frames[0]);
            for r in (1..6).filter(|r| bt.regs[bt.frame] >> r & 1 == 1) {
                if self.store.arena.is(frame.regs[r], SCALAR) {
                    ckpt.precise[0].regs |= 1 << r;
                    changed = true;
                }
            }
            self.walk.bt.reset();
            return Ok(changed);
        }
        let (regs, slots) = (bt.regs[bt.frame], bt.slots[bt.frame]);
        Err(Stop::bug(format!("backtracking: func entry reg_mask {regs:x} stack_mask {slots:x}")))
    }

    /// Marks the tracked registers and slots in a checkpoint; those already marked are no longer
    /// tracked. True if a mark is new.
    fn mark_checkpoint(&mut self, id: CkptId) -> bool {
        let mut changed = false;
        let log = self.trace.log.traces_all();
        for fr in (0..=self.walk.bt.frame).rev() {
            if !log && self.walk.bt.regs[fr] == 0 && self.walk.bt.slots[fr] == 0 {
                continue;
            }
            let ckpt = self.store.ckpts.get_mut(id);
            let frame_id = ckpt.state.frames[fr];
            let frame = self.store.arena.frame(frame_id);
            let marks = &mut ckpt.precise[fr];
            let mut new_regs = 0;
            for r in bits(u64::from(self.walk.bt.regs[fr] & !marks.regs)) {
                new_regs |= u16::from(self.store.arena.is(frame.regs[r], SCALAR)) << r;
            }
            let mut new_slots = 0;
            for spi in bits(self.walk.bt.slots[fr] & !marks.stack) {
                let is_scalar = self
                    .store
                    .arena
                    .frame_slot(frame_id, spi)
                    .is_some_and(|s| s.is_spilled() && self.store.arena.is(s.spill, SCALAR));
                new_slots |= u64::from(is_scalar) << spi;
            }
            marks.regs |= new_regs;
            marks.stack |= new_slots;
            changed |= new_regs != 0 || new_slots != 0;
            if new_regs != 0 || new_slots != 0 {
                self.tell_precise(id, fr as u32);
                if !self.facts.rules().marks_forgotten {
                    // Those that were marked before may not have been followed: they came as
                    // copies.
                    let bt = &self.walk.bt;
                    let tracked = Marks { regs: bt.regs[fr], stack: bt.slots[fr] };
                    Marks { regs: new_regs, stack: new_slots } = self.scalars_of(id, fr, tracked);
                }
            }
            self.walk.bt.regs[fr] = new_regs;
            self.walk.bt.slots[fr] = new_slots;
            if log {
                let tracked = Tracked { regs: new_regs, slots: new_slots };
                self.trace.note(Note::BacktracksInto { frame: fr, tracked });
                self.print_checkpoint(id, Some(fr as u32), !0);
            }
        }
        changed
    }

    /// Fallback: marks every scalar of every checkpoint from `parent` back as precise.
    pub(crate) fn mark_all_scalars_precise(
        &mut self,
        parent: Option<CkptId>,
        curframe: u32,
    ) -> Check {
        let log = self.trace.log.traces_all();
        if log {
            self.trace.note(Note::FallsBack { frame: curframe });
        }
        let mut next = parent;
        while let Some(id) = next {
            self.refuse_gone(id)?;
            let ckpt = self.store.ckpts.get_mut(id);
            let was_marked = std::mem::replace(&mut ckpt.all_marked, true);
            let frames = if was_marked { &[] } else { &ckpt.state.frames[..] };
            next = ckpt.state.meta.parent;
            for (fr, &frame_id) in frames.iter().enumerate() {
                let frame = self.store.arena.frame(frame_id);
                let marks = &mut ckpt.precise[fr];
                for r in 0..10 {
                    let scalar = self.store.arena.is(frame.regs[r], SCALAR);
                    if scalar && marks.regs >> r & 1 == 0 {
                        marks.regs |= 1 << r;
                        if log {
                            self.trace.note(Note::Forced { frame: fr, place: Marked::Reg(r) });
                        }
                    }
                }
                for (spi, slot) in self.store.arena.frame_slots(frame_id).enumerate() {
                    let scalar = slot.is_spilled() && self.store.arena.is(slot.spill, SCALAR);
                    if scalar && marks.stack >> spi & 1 == 0 {
                        marks.stack |= 1 << spi;
                        if log {
                            self.trace.note(Note::Forced { frame: fr, place: Marked::Slot(spi) });
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The path of a back-edge leads through a state that 6.18 has freed by then, and reads
    /// nevertheless: between the entry of a component and a later entry within the same callback.
    fn refuse_gone(&self, id: CkptId) -> Check {
        if self.store.ckpts.hot(id).gone {
            return unsupported("a loop entered again behind a state that the kernel has freed");
        }
        Ok(())
    }

    /// Propagates the precision marks of checkpoint `old` to the state that it covers: the current
    /// one, or `to`.
    pub(crate) fn propagate_precision(
        &mut self,
        old: CkptId,
        to: Option<&PackedState>,
    ) -> Check<bool> {
        self.walk.bt.reset();
        self.walk.bt.frame = match to {
            Some(st) => st.frames.len() - 1,
            None => self.walk.cur.curframe() as usize,
        };
        if to.is_none() && self.store.current_marks.as_ref().is_some_and(|marks| marks.stay) {
            return self.propagate_one_by_one(old);
        }
        let ckpt = self.store.ckpts.get(old);
        for fr in (0..ckpt.state.frames.len()).rev() {
            let frame_id = ckpt.state.frames[fr];
            let frame = self.store.arena.frame(frame_id);
            let marks = ckpt.precise[fr];
            let mut first = true;
            for r in bits(u64::from(marks.regs) | if self.facts.all_precise { 0x3ff } else { 0 }) {
                if self.store.arena.is(frame.regs[r], SCALAR) {
                    self.walk.bt.regs[fr] |= 1 << r;
                    if self.trace.log.traces_all() {
                        self.trace.note(propagated(&mut first, fr, Marked::Reg(r)));
                    }
                }
            }
            for (spi, slot) in self.store.arena.frame_slots(frame_id).enumerate() {
                let marked = marks.stack >> spi & 1 == 1 || self.facts.all_precise;
                if marked && slot.is_spilled() && self.store.arena.is(slot.spill, SCALAR) {
                    self.walk.bt.slots[fr] |= 1 << spi;
                    if self.trace.log.traces_all() {
                        self.trace.note(propagated(&mut first, fr, Marked::Slot(spi)));
                    }
                }
            }
            if !first {
                self.trace.note(Note::LineEnds);
            }
        }
        self.mark_chain_precision_batch(to)
    }
}

impl Walk {
    /// Replaces the tracked registers by their dependencies at the last checkpoint, according to
    /// `chains`; false if the history has to be used.
    #[inline]
    fn follow(&mut self, chains: &Chains, curframe: usize) -> bool {
        let outer = &self.bt.regs[..curframe];
        if self.bt.frame != curframe
            || self.bt.slots[..=curframe].iter().any(|&m| m != 0)
            || outer.iter().any(|&m| m != 0)
        {
            return false;
        }
        match chains.follow(self.bt.regs[curframe]) {
            Some(from) => {
                self.bt.regs[curframe] = from;
                true
            }
            None => false,
        }
    }
}

impl Facts<'_> {
    /// Moves to the insn walked before; false at the start of the stretch.
    #[inline]
    fn step_back(&self, s: &mut Stretch, history: &[JmpEntry], at: &mut Place) -> Check<bool> {
        s.subseq_idx = at.idx;
        let entry = at.entry(history);
        if at.idx == s.first_idx && at.left == usize::from(entry.is_some()) {
            return Ok(false);
        }
        at.idx = match entry {
            Some(e) => {
                at.left -= 1;
                i64::from(e.prev_idx as i32)
            }
            None => at.idx - 1,
        };
        if !(0..self.insns.len() as i64).contains(&at.idx) {
            return Err(Stop::bug(format!("backtracking: idx {}", at.idx)));
        }
        Ok(true)
    }
}

/// The history from where the path last came by the first insn of a stretch.
fn since_first<'a>(s: &Stretch, history: &'a [JmpEntry]) -> &'a [JmpEntry] {
    let mut idx = s.last_idx;
    for (left, entry) in history.iter().enumerate().rev() {
        let run = i64::from(entry.insn_idx)..=idx;
        if run.contains(&s.first_idx) {
            return &history[left + usize::from(*run.start() != s.first_idx)..];
        }
        idx = i64::from(entry.prev_idx as i32);
    }
    history
}

fn propagated(first: &mut bool, frame: usize, place: Marked) -> Note<'static> {
    match std::mem::take(first) {
        true => Note::Propagated { frame, place },
        false => Note::PropagatedToo { place },
    }
}

/// Indices of the set bits.
fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let i = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (i < 64).then_some(i)
    })
}

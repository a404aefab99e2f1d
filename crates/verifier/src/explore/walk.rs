//! The walk: explores one path after another, insn by insn, until no branch is pending.
//!
//! Kernel: `do_check`, `do_check_common`, `do_check_main`, `do_check_subprogs` (6.18).

use crate::check;
use crate::check::scalar_insn::step_alu;
use crate::env::{Env, Found, InsnFlags, Walk};
use crate::explore::next::Next;
use crate::log::note::Note;
use crate::rejection::{Check, FlowFault, Stop, reject};
use crate::state::checkpoint::Bucket;
use crate::state::frame::{BPF_MAIN_FUNC, FrameMeta};
use crate::state::history::{Access, JmpEntry, LinkedRegs};
use crate::state::verifier_state::{StateMeta, VerifierState};
use skep_insn::Insn;
use skep_insn::code::*;
use skep_uapi::ProgFlags;
use skep_uapi::errno;

/// Whether the insn may read or write memory, according to its class.
#[inline]
fn may_touch_stack(insn: Insn) -> bool {
    match insn.class() {
        BPF_ALU | BPF_ALU64 => false,
        BPF_JMP | BPF_JMP32 => matches!(insn.op(), BPF_CALL | BPF_EXIT),
        _ => true,
    }
}

impl Env<'_> {
    /// Verifies the main program.
    pub(crate) fn do_check_main(&mut self) -> Check {
        self.walk.insn_idx = 0;
        if self.facts.is_replacement() && self.trace.log.traces() {
            let name = &self.facts.subprogs[0].name;
            self.trace.note(Note::Validating { name, subprog: 0 });
        }
        self.do_check_common(0)?;
        Ok(())
    }

    /// Verifies the main program and the global functions that it may call.
    pub(crate) fn walk_functions(&mut self) -> Check {
        if self.facts.rules().globals_when_called {
            self.do_check_main()?;
            return self.do_check_subprogs();
        }
        for subprog in &mut self.learned.subprogs[1..] {
            subprog.called = true;
        }
        self.do_check_subprogs()?;
        self.do_check_main()
    }

    /// Verifies each global function that walked code calls, until none is left. Once more if only
    /// code that was walked later calls it where it may sleep.
    fn do_check_subprogs(&mut self) -> Check {
        let mut verified = vec![None; self.learned.subprogs.len()];
        let mut i = 0;
        loop {
            let waits = |&i: &usize| {
                let callee = &self.learned.subprogs[i];
                let done = verified[i].is_some_and(|awake| awake || !callee.called_awake);
                self.facts.subprogs[i].is_global && callee.called && !done
            };
            let count = self.learned.subprogs.len();
            let next = (i + 1..count).chain(1..count).find(waits);
            i = match next {
                Some(i) => i,
                None => return Ok(()),
            };
            verified[i] = Some(self.learned.subprogs[i].called_awake);
            self.walk.insn_idx = self.facts.subprogs[i].start;
            let name = &self.facts.subprogs[i].name;
            if self.trace.log.traces() {
                self.trace.note(Note::Validating { name, subprog: i });
            }
            self.do_check_common(i as u32)?;
            if self.trace.log.traces() {
                self.trace.note(Note::SafeForAll { name, subprog: i });
            }
        }
    }

    /// Verifies one function on its own.
    fn do_check_common(&mut self, subprogno: u32) -> Check {
        let start = self.facts.subprogs[subprogno as usize].start;
        // Its first source line is logged again, whatever was logged before.
        self.trace.log_at.prev_linfo = None;
        let mut cur = VerifierState::default();
        let frame = self.store.arena.new_frame(FrameMeta {
            callsite: BPF_MAIN_FUNC,
            subprogno,
            instance: self.learned.live_stack.root(start),
            ..FrameMeta::default()
        });
        cur.frames.push(frame);
        cur.meta = StateMeta {
            first_insn_idx: start,
            last_insn_idx: u32::MAX,
            in_sleepable: self.facts.prog.prog_flags.contains(ProgFlags::SLEEPABLE)
                || self.learned.subprogs[subprogno as usize].called_awake,
            ..StateMeta::default()
        };
        self.walk.cur.history.clear();
        cur.history = std::mem::take(&mut self.walk.cur.history);
        self.walk.cur = cur;
        self.store.begin_path();
        self.walk.subprogno_walked = subprogno;
        self.walk.mark_state_scratched();
        self.walk.insn_idx = start;
        self.walk.prev_insn_idx = u32::MAX;
        check::entry::prepare_args(self, subprogno)?;
        self.trace.tell_function(subprogno);
        self.do_check()?;
        if !self.trace.log.traces_all() {
            self.trace.log.reset(0);
        }
        self.store.explored.fill(Bucket::default());
        Ok(())
    }

    #[inline(always)]
    fn do_check(&mut self) -> Check {
        let mut do_print_state = false;
        loop {
            self.walk_scalars();
            if self.store.stats.insns_processed >= self.store.memory_check_at {
                self.check_memory()?;
            }
            if !self.step(&mut do_print_state)? {
                continue;
            }
            self.walk.mark_state_scratched();
            self.update_branch_counts()?;
            self.update_live_stack();
            if !self.pop_stack() {
                return Ok(());
            }
            do_print_state = true;
        }
    }

    /// Walks insns on scalars, while nothing else can happen at them.
    fn walk_scalars(&mut self) {
        if self.walk.cur.meta.speculative || self.trace.wants_each_insn() {
            return;
        }
        let (first, before) = (self.walk.insn_idx, self.store.stats.insns_processed);
        if self.store.reads.is_none() {
            self.walk_run::<false>();
        } else if self.store.current_marks.is_none() {
            self.walk_marking();
        }
        self.tell_run(first, before);
    }

    /// Updates read marks, on kernels that use them.
    #[inline(never)]
    fn walk_marking(&mut self) {
        self.walk_run::<true>();
    }

    #[inline(always)]
    fn walk_run<const READS_ARE_MARKED: bool>(&mut self) {
        while self.store.stats.insns_processed < self.facts.config.profile.insns_max {
            let at = self.walk.insn_idx as usize;
            let Some(aux) = self.learned.aux.get(at) else { return };
            let insn = self.facts.insns[at];
            if aux.has(InsnFlags::PRUNE_POINT | InsnFlags::JMP_POINT)
                || !matches!(insn.class(), BPF_ALU | BPF_ALU64)
                || !step_alu(self, insn)
            {
                return;
            }
            if READS_ARE_MARKED {
                self.note_operands(insn);
            }
            self.learned.aux[at].flags |= InsnFlags::SEEN;
            self.store.stats.insns_processed += 1;
            self.walk.prev_insn_idx = at as u32;
            self.walk.insn_idx = at as u32 + 1;
        }
    }

    /// Walks one insn; true if the path ends.
    #[inline(always)] // A call per insn walked costs 2.5 % of `stress_backtrack`.
    fn step(&mut self, do_print_state: &mut bool) -> Check<bool> {
        self.walk.history_insn = None;
        self.walk.cur.meta.last_insn_idx = self.walk.prev_insn_idx;
        self.walk.cur.meta.insn_idx = self.walk.insn_idx;
        if self.walk.insn_idx as usize >= self.facts.insns.len() {
            let (i, n) = (self.walk.insn_idx as i32, self.facts.insns.len());
            reject!(EFAULT, FlowFault::InsnIdx { insn_idx: i, n });
        }
        self.store.stats.insns_processed += 1;
        if self.store.stats.insns_processed > self.facts.config.profile.insns_max {
            let n = self.store.stats.insns_processed;
            reject!(E2BIG, FlowFault::TooManyInsns { n });
        }
        let flags = self.aux().flags;
        if flags.contains(InsnFlags::PRUNE_POINT) && self.is_state_visited(self.walk.insn_idx)? {
            self.tell_pruned(*do_print_state);
            return Ok(true);
        }
        if flags.contains(InsnFlags::JMP_POINT) {
            self.walk.push_jump();
        }
        self.tell_insn(do_print_state);
        if !self.walk.cur.meta.speculative {
            self.aux_mut().flags |= InsnFlags::SEEN;
        } else if flags.contains(InsnFlags::NOSPEC) {
            return Ok(true);
        }
        let frames = self.walk.cur.frames.len();
        let may_touch_stack = may_touch_stack(self.insn());
        if may_touch_stack {
            self.learned.live_stack.begin_insn(self.walk.frame().meta.instance, self.walk.insn_idx);
        }
        let walked = match self.store.current_marks {
            None => check::do_check_insn(self),
            Some(_) => self.check_insn_marking(),
        };
        match walked {
            Ok(next @ (Next::Insn(to) | Next::Returned(to))) => {
                if self.walk.cur.frames.len() != frames {
                    self.walk.cur.lose_chains();
                }
                *do_print_state |= matches!(next, Next::Returned(_));
                if may_touch_stack && self.walk.cur.frames.len() == frames {
                    self.learned.live_stack.commit_writes();
                }
                let stop =
                    self.walk.cur.meta.speculative && self.aux().has(InsnFlags::NOSPEC_RESULT);
                self.walk.prev_insn_idx = self.walk.insn_idx;
                self.walk.insn_idx = to;
                Ok(stop)
            }
            Ok(Next::PathEnd) => Ok(true),
            Err(stop) if self.walk.cur.meta.speculative => {
                self.end_speculation(stop, may_touch_stack)?;
                Ok(true)
            }
            Err(stop) => Err(stop),
        }
    }

    /// A refused insn ends a speculative path, and the kernel puts a barrier there.
    #[cold]
    fn end_speculation(&mut self, stop: Stop, may_touch_stack: bool) -> Check {
        let ends = [errno::EPERM, errno::EACCES, errno::EINVAL];
        let refused = match stop.as_refused() {
            Some(refused) if ends.contains(&refused.errno) => refused,
            _ => return Err(stop),
        };
        self.trace.refused(refused);
        if may_touch_stack {
            self.learned.live_stack.commit_writes();
        }
        let aux = self.aux_mut();
        aux.flags |= InsnFlags::NOSPEC;
        if matches!(aux.found, Found::Mask(_)) {
            aux.found = Found::Nothing;
        }
        Ok(())
    }

    /// Makes the recorded stack reads and writes effective for the functions on the current path.
    pub(crate) fn update_live_stack(&mut self) {
        if self.store.reads.is_some() || self.facts.rules().dead_forgotten_at_once {
            return;
        }
        let instance = self.walk.frame().meta.instance;
        if self.trace.log.traces_all() {
            let mut text = String::new();
            self.learned.live_stack.update(instance, Some(&mut text));
            self.trace.note(Note::StackLiveness { listing: &text });
        } else {
            self.learned.live_stack.update(instance, None);
        }
    }
}

impl Walk {
    /// From this jump on, if one of the linked registers has to be precise, all have.
    fn join_linked(&mut self, linked: &LinkedRegs) {
        let curframe = self.cur.curframe() as u8;
        if !linked.iter().all(|l| l.is_reg && l.frameno == curframe) {
            self.cur.lose_chains();
            return;
        }
        let regs = linked.iter().fold(0, |regs, l| regs | 1 << l.at);
        self.frame_mut().chains.join(regs);
    }

    /// Records that the path came to this insn from `prev_insn_idx`: nothing is recorded of it yet.
    #[inline(always)]
    pub(super) fn push_jump(&mut self) {
        let (insn_idx, prev_idx) = (self.insn_idx, self.prev_insn_idx);
        self.cur.history.push(JmpEntry { insn_idx, prev_idx, ..JmpEntry::default() });
        self.history_insn = Some(insn_idx);
    }

    /// Records that the path came from `prev_insn_idx`, or adds to the existing entry of this insn.
    ///
    /// Kernel: `push_jmp_history` (6.18).
    pub(crate) fn push_jmp_history(&mut self, access: Access, linked: LinkedRegs) {
        let (insn_idx, prev_idx) = (self.insn_idx, self.prev_insn_idx);
        if let Some(last) = self.cur.history.last_mut()
            && self.history_insn == Some(insn_idx)
            && last.insn_idx == insn_idx
        {
            if access != Access::None {
                last.access = access;
            }
            if linked.len() > 0 {
                last.linked = linked;
                self.join_linked(&linked);
            }
            return;
        }
        if linked.len() > 0 {
            self.join_linked(&linked);
        }
        self.cur.history.push(JmpEntry { insn_idx, prev_idx, access, linked });
        self.history_insn = Some(insn_idx);
    }
}

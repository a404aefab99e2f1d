//! Counters ([`crate::coverage`]).
//!
//! # Invariants
//! 1. A counter clobbers `r10`, `r11` and flags, which are not live between ops.

use super::Emit;
use crate::asm::{Cc, Mem, Width, X86, forms};
use crate::coverage::{Base, Place};
use crate::op::Op;
use crate::opt::unroll::Loop;
use crate::regs::{COUNTERS, SCRATCH, SCRATCH2, x86};

impl Emit<'_> {
    /// Finds the ops for which conditional moves in front of them stand.
    pub(super) fn find_selected(&mut self) {
        let unit = self.unit;
        if unit.linkage.coverage.is_none() {
            return;
        }
        self.selected = vec![false; unit.ops.len()];
        for (at, op) in unit.ops.iter().enumerate() {
            if let Op::Select { to, .. } = *op {
                self.selected[at + 1..to as usize].fill(true);
            }
        }
    }

    /// After the prologue of a function.
    pub(super) fn coverage_entry(&mut self) {
        match self.counters() {
            Base::Nowhere => {}
            Base::Register => self.counters_to(COUNTERS),
            Base::Frame => {
                self.counters_to(SCRATCH);
                if let Some(word) = self.frame().counters() {
                    self.asm.rm(&forms::MOV_MR, Width::W64, SCRATCH, word);
                }
            }
        }
        self.count(Place::Entry(self.unit.flow.funcs[self.func].start));
        for kept in &self.unit.kept[self.func] {
            self.ld_imm(x86(kept.reg), 0);
        }
    }

    /// The frame is about to be left: adds what was counted in registers to the counters.
    pub(super) fn coverage_leave(&mut self) {
        for kept in &self.unit.kept[self.func] {
            let word = self.counter_word(kept.counter);
            self.asm.rm(&forms::ADD_MR, Width::W64, x86(kept.reg), word);
        }
    }

    /// The register in which the function keeps a counter.
    fn kept_in(&self, counter: u32) -> Option<X86> {
        let kept = self.unit.kept[self.func].iter().find(|kept| kept.counter == counter);
        kept.map(|kept| x86(kept.reg))
    }

    /// Whether an edge has a counter that is incremented where the edge is passed.
    pub(super) fn is_counted(&self, place: Place) -> bool {
        self.counter(place).is_some()
    }

    fn counter(&self, place: Place) -> Option<u32> {
        let plan = &self.unit.linkage.coverage.as_ref()?.plan;
        plan.counter(place).filter(|_| !self.is_selected(place))
    }

    /// Whether a conditional move counts the edge.
    fn is_selected(&self, place: Place) -> bool {
        let selects = |at: u32| matches!(self.unit.ops[at as usize], Op::Select { .. });
        let is_over = |at: u32| self.selected.get(at as usize) == Some(&true);
        match place {
            Place::Block(at) => is_over(at),
            Place::Fall(at) => selects(at) || is_over(at),
            Place::Taken(_) | Place::Leave(_) | Place::Entry(_) => false,
        }
    }

    /// Counts an edge, if it has a counter.
    pub(super) fn count(&mut self, place: Place) {
        if self.unit.linkage.coverage.is_some() {
            self.count_by(place, 1);
        }
    }

    /// Counts an edge several times.
    pub(super) fn count_by(&mut self, place: Place, times: u32) {
        let Some(counter) = self.counter(place) else { return };
        let form = if times < 128 { &forms::ADD_I8 } else { &forms::ADD_I32 };
        match self.kept_in(counter) {
            Some(reg) => self.asm.ri(form, Width::W64, reg, i64::from(times)),
            None => {
                let word = self.counter_word(counter);
                self.asm.mi(form, Width::W64, word, i64::from(times));
            }
        }
        self.flags = None;
    }

    /// The word of a counter. Its address may be in `r11`.
    fn counter_word(&mut self, counter: u32) -> Mem {
        let base = match self.frame().counters() {
            None => COUNTERS,
            Some(word) => {
                self.asm.rm(&forms::MOV_RM, Width::W64, SCRATCH, word);
                SCRATCH
            }
        };
        Mem::base(base, 8 * counter as i32)
    }

    /// Counts the edges that a jump to `to` passes over for which a conditional move stands: they
    /// are passed if `cc` holds. The jump itself has no counter (`coverage::Plan`).
    pub(super) fn count_selected(&mut self, cc: Cc, to: u32) {
        let Some(coverage) = &self.unit.linkage.coverage else { return };
        let at = self.at as u32;
        let over = (at + 1..to).flat_map(|over| [Place::Block(over), Place::Fall(over)]);
        let passed = std::iter::once(Place::Fall(at)).chain(over);
        let mut counters = passed.filter_map(|place| coverage.plan.counter(place)).peekable();
        if counters.peek().is_some() {
            self.asm.r(&forms::setcc(cc), Width::W32, SCRATCH2);
            self.asm.rr(&forms::MOVZX8, Width::W32, SCRATCH2, SCRATCH2);
        }
        for counter in counters {
            match self.kept_in(counter) {
                Some(reg) => self.asm.rr(&forms::ADD_MR, Width::W64, SCRATCH2, reg),
                None => {
                    let word = self.counter_word(counter);
                    self.asm.rm(&forms::ADD_MR, Width::W64, SCRATCH2, word);
                }
            }
            self.flags = None;
        }
    }

    /// The counters in a loop that is unrolled, except for the exit at its end.
    pub(super) fn counted_in(&self, looped: &Loop) -> Vec<Place> {
        let (head, latch) = (looped.rounds.head as u32, looped.rounds.latch as u32);
        let blocks = (head..=latch).map(Place::Block);
        let places = blocks.chain((head..latch).map(Place::Fall));
        places.filter(|place| self.is_counted(*place)).collect()
    }

    /// How often each counted edge in a loop was passed, when the loop is left in an iteration by
    /// the op at `at`.
    pub(super) fn passed(&self, looped: &Loop, at: usize, round: u32) -> Vec<(Place, u32)> {
        let here = |place: Place| match place {
            Place::Block(first) => first as usize <= at,
            Place::Fall(last) => (last as usize) < at,
            _ => false,
        };
        let places = self.counted_in(looped).into_iter();
        let mut passed: Vec<_> =
            places.map(|place| (place, round + u32::from(here(place)))).collect();
        let out = Place::Fall(looped.rounds.latch as u32);
        if at == looped.rounds.latch && self.is_counted(out) {
            passed.push((out, 1));
        }
        passed.retain(|(_, times)| *times > 0);
        passed
    }

    fn counters(&self) -> Base {
        let unit = self.unit;
        Base::new(unit.linkage.coverage.as_ref(), unit.tuning, unit.flow)
    }

    /// The address of the first counter of the thread's CPU.
    fn counters_to(&mut self, reg: X86) {
        let Some(coverage) = &self.unit.linkage.coverage else { return };
        let (address, stride) = (coverage.address, i64::from(coverage.stride_bytes as i32));
        let cpu_word = coverage.cpu_word;
        self.ld_imm(SCRATCH2, 0);
        self.asm.add_thread_word(SCRATCH2, cpu_word);
        self.asm.ri(&forms::IMUL_I32, Width::W64, SCRATCH2, stride);
        self.ld_imm(reg, address);
        self.asm.rr(&forms::ADD_RM, Width::W64, reg, SCRATCH2);
    }
}

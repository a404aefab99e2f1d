//! Counters ([`crate::coverage`]).
//!
//! # Invariants
//! 1. A counter clobbers `r10`, `r11` and flags, which are not live between ops.

use super::Emit;
use crate::asm::{Mem, Width, X86, forms};
use crate::coverage::{Base, Place};
use crate::opt::unroll::Loop;
use crate::regs::{COUNTERS, SCRATCH, SCRATCH2};

impl Emit<'_> {
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
    }

    /// Whether an edge has a counter.
    pub(super) fn is_counted(&self, place: Place) -> bool {
        self.unit.linkage.coverage.as_ref().is_some_and(|c| c.plan.counter(place).is_some())
    }

    /// Counts an edge, if it has a counter.
    pub(super) fn count(&mut self, place: Place) {
        if self.unit.linkage.coverage.is_some() {
            self.count_by(place, 1);
        }
    }

    /// Counts an edge several times.
    pub(super) fn count_by(&mut self, place: Place, times: u32) {
        let coverage = self.unit.linkage.coverage.as_ref();
        let Some(counter) = coverage.and_then(|coverage| coverage.plan.counter(place)) else {
            return;
        };
        self.flags = None;
        let base = match self.frame().counters() {
            None => COUNTERS,
            Some(word) => {
                self.asm.rm(&forms::MOV_RM, Width::W64, SCRATCH, word);
                SCRATCH
            }
        };
        let word = Mem::base(base, 8 * counter as i32);
        let form = if times < 128 { &forms::ADD_I8 } else { &forms::ADD_I32 };
        self.asm.mi(form, Width::W64, word, i64::from(times));
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

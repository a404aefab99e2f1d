//! Unrolled loops: all copies of the body in a row, and exits that restore the loop's registers.

use super::Emit;
use super::behind::LoopExit;
use crate::Error;
use crate::asm::Label;
use crate::op::{Op, Test};
use crate::opt::unroll::Loop;

impl Emit<'_> {
    /// Emits the loop at the current head, where `entry` is bound; returns the op after it.
    pub(super) fn unrolled(&mut self, looped: &Loop, entry: Label) -> Result<usize, Error> {
        let mut again = entry;
        if let Some(sum) = &looped.sum {
            self.asm.span(looped.rounds.head);
            self.op(sum.started())?;
            self.align_loop();
            again = self.asm.label();
            self.asm.bind(again);
            self.flags = None;
        }
        for round in 0..looped.rounds.times {
            let is_last = round + 1 == looped.rounds.times;
            for at in looped.rounds.head..looped.rounds.latch {
                if is_last && at > looped.rounds.head {
                    self.asm.bind(self.labels[at]);
                }
                self.round_op(looped, at, self.unit.ops[at], round)?;
            }
            let Op::Br { test, to } = self.unit.ops[looped.rounds.latch] else { continue };
            if is_last {
                self.asm.bind(self.labels[looped.rounds.latch]);
                self.at = looped.rounds.latch;
                for place in self.counted_in(looped) {
                    self.count_by(place, looped.rounds.times);
                }
                self.asm.span(looped.rounds.latch);
                let (front, op) = looped.in_round(looped.rounds.latch, Op::Br { test, to }, round);
                self.test_and_jump(front, op, again)?;
            } else {
                let test = Test { cond: test.cond.negated(), ..test };
                let to = looped.rounds.latch as u32 + 1;
                self.round_op(looped, looped.rounds.latch, Op::Br { test, to }, round)?;
                self.flags = None;
            }
        }
        let live = self.unit.flow.live_in(self.unit.ops, looped.rounds.latch + 1);
        for op in looped.repairs(looped.rounds.latch, looped.rounds.times - 1, live) {
            self.op(op)?;
        }
        self.flags = None;
        Ok(looped.rounds.latch + 1)
    }

    /// One op of a copy; jumps leave the loop.
    fn round_op(&mut self, looped: &Loop, at: usize, op: Op, round: u32) -> Result<(), Error> {
        self.at = at;
        self.asm.span(at);
        let (front, op) = looped.in_round(at, op, round);
        let Op::Br { to, .. } = op else { return self.written(op) };
        let repairs = looped.repairs(at, round, self.unit.flow.live_in(self.unit.ops, to as usize));
        let target = self.target(to);
        let passed = self.passed(looped, at, round);
        let label = match repairs.is_empty() && passed.is_empty() {
            true => target,
            false => self.asm.label(),
        };
        if label != target {
            self.exits.push(LoopExit { label, at, repairs, passed, to: target });
        }
        self.test_and_jump(front, op, label)
    }

    fn test_and_jump(&mut self, front: Option<Op>, op: Op, to: Label) -> Result<(), Error> {
        if let Some(front) = front {
            self.written(front)?;
        }
        if let Op::Br { test, .. } = op {
            self.br_to(test, to);
            self.note_flags(op);
        }
        Ok(())
    }

    /// Ways out of the function's loops.
    pub(super) fn loop_exits(&mut self) -> Result<(), Error> {
        for exit in std::mem::take(&mut self.exits) {
            self.at = exit.at;
            self.asm.span(exit.at);
            self.asm.bind(exit.label);
            for (place, times) in exit.passed {
                self.count_by(place, times);
            }
            for op in exit.repairs {
                self.op(op)?;
            }
            self.asm.jmp(exit.to);
        }
        self.flags = None;
        Ok(())
    }
}

//! A counter of an unrolled loop is updated once per unrolled body; otherwise each copy would wait
//! for the update in the previous one. Copies in between add the pending increment to the addresses
//! and comparisons that use it.

use super::trips::Rounds;
use crate::asm::Width;
use crate::op::{Addr, AluOp, Cond, Op, Reg, Src, Test};

/// A register to which one op of each iteration adds a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counter {
    pub(crate) reg: Reg,
    /// The op that steps.
    pub(crate) at: usize,
    step: i32,
}

/// The sum of all increments must fit a displacement with a margin.
const STEP_MAX: i32 = 1 << 16;
/// `r11`, which is never an operand of an op.
const SCRATCH: Reg = Reg(15);

/// The counters of a loop whose every use can be shifted.
pub(super) fn find(ops: &[Op], looped: &Rounds) -> Vec<Counter> {
    let mut counters: Vec<Counter> = Vec::new();
    let mut fronts = 0;
    for (at, op) in (looped.head..).zip(looped.body(ops)) {
        let Op::Alu { op: AluOp::Add, width, dst: reg, src: Src::Imm(step) } = *op else {
            continue;
        };
        let behind_max = step.saturating_mul(looped.times as i32);
        // Ops after the loop body read the fully incremented value, unless a copy comes first.
        let once = |other: usize| {
            looped.trips.is_some_and(|trips| {
                other == looped.latch || (trips.copy == Some(other) && other > at)
            })
        };
        let uses = (looped.head..)
            .zip(looped.body(ops))
            .filter(|(other, _)| *other != at && !once(*other));
        let leaves = uses.clone().any(|(_, op)| op.target().is_some());
        let read = uses.clone().any(|(_, op)| op.uses().has(reg));
        // A 32-bit increment wraps, which its replacement does not.
        if width == Width::W32 && (read || leaves || looped.trips.is_none()) {
            continue;
        }
        let shiftable = |(_, op): (usize, &Op)| {
            let reads = op.uses().has(reg);
            !op.defs().has(reg) && (!reads || shifted(*op, reg, behind_max).is_some())
        };
        // Only one register is free for an adjustment before a comparison.
        let front = |(_, op): &(usize, &Op)| {
            op.uses().has(reg) && matches!(shifted(**op, reg, behind_max), Some((Some(_), _)))
        };
        let fronts_here = uses.clone().filter(front).count();
        if (-STEP_MAX..=STEP_MAX).contains(&step)
            && uses.clone().all(shiftable)
            && fronts + fronts_here <= 1
        {
            fronts += fronts_here;
            counters.push(Counter { reg, at, step });
        }
    }
    counters
}

impl Counter {
    /// The pending increment before the op at `at` (after it for `self.at` itself): the increments
    /// of all copies except the last are omitted, and the last makes all of them.
    pub(super) fn behind(&self, at: usize, round: u32, times: u32) -> i32 {
        let stepped = at >= self.at;
        match (stepped, round + 1 == times) {
            (true, true) => 0,
            (stepped, _) => self.step * (round as i32 + i32::from(stepped)),
        }
    }

    /// Its increment per iteration.
    pub(super) fn stepped(&self, op: Op, round: u32, times: u32) -> Op {
        match op {
            Op::Alu { op, width, dst, .. } if round + 1 == times => {
                Op::Alu { op, width, dst, src: Src::Imm(self.step * times as i32) }
            }
            _ => Op::Nop,
        }
    }

    /// Adds the pending increment, preserving flags.
    pub(super) fn caught_up(&self, behind: i32) -> Op {
        let addr = Addr::sum(self.reg, None, behind);
        Op::Lea { width: Width::W64, dst: self.reg, addr }
    }
}

/// `op` with `reg + by` for `reg`, and the op needed before it; `None` if that is not possible.
pub(super) fn shifted(op: Op, reg: Reg, by: i32) -> Option<(Option<Op>, Op)> {
    if !op.uses().has(reg) {
        return Some((None, op));
    }
    let mut op = op;
    match &mut op {
        Op::Load { addr, .. } | Op::Fill { addr, .. } => *addr = shifted_addr(*addr, reg, by)?,
        Op::Store { addr, src, .. } | Op::AluStore { addr, src, .. } if *src != Src::Reg(reg) => {
            *addr = shifted_addr(*addr, reg, by)?;
        }
        Op::Lea { width: Width::W64, addr, .. } => *addr = shifted_addr(*addr, reg, by)?,
        Op::Alu { dst, src: Src::Mem(addr), .. } if *dst != reg => {
            *addr = shifted_addr(*addr, reg, by)?;
        }
        Op::Mov { width: Width::W64, dst, src: Src::Reg(_) } => {
            let addr = Addr::sum(reg, None, by);
            op = Op::Lea { width: Width::W64, dst: *dst, addr };
        }
        Op::Br { test, .. } => {
            let (front, better) = shifted_test(*test, reg, by)?;
            *test = better;
            return Some((front, op));
        }
        _ => return None,
    }
    Some((None, op))
}

fn shifted_addr(addr: Addr, reg: Reg, by: i32) -> Option<Addr> {
    let mut disp = i64::from(addr.disp);
    if addr.base == reg {
        disp += i64::from(by);
    }
    if let Some((_, scale)) = addr.index.filter(|(index, _)| *index == reg) {
        disp += i64::from(by) << scale;
    }
    Some(Addr { disp: i32::try_from(disp).ok()?, ..addr })
}

fn shifted_test(test: Test, reg: Reg, by: i32) -> Option<(Option<Op>, Test)> {
    let mut test = test;
    if let Src::Mem(addr) = &mut test.b {
        *addr = shifted_addr(*addr, reg, by)?;
    }
    // r10 may need the register intended for the counter.
    if [Src::Reg(reg), Src::Reg(Reg::FP)].contains(&test.b) {
        return None;
    }
    if test.a != reg {
        return Some((None, test));
    }
    if let (Src::Imm(imm), Cond::Eq | Cond::Ne, Width::W64) = (test.b, test.cond, test.width)
        && let Some(less) = imm.checked_sub(by)
    {
        return Some((None, Test { b: Src::Imm(less), ..test }));
    }
    let addr = Addr::sum(reg, None, by);
    let front = Op::Lea { width: Width::W64, dst: SCRATCH, addr };
    Some((Some(front), Test { a: SCRATCH, ..test }))
}

//! Loops with a known trip count, unrolled by a factor that divides it, are only left at the end of
//! the last copy, and the others need no test.

use crate::asm::Width;
use crate::flow::Flow;
use crate::op::{AluOp, Cond, Op, Reg, Src};

/// Maximum trip count, and number of ops before a loop that are searched for its initial value.
const ROUNDS_MAX: u32 = 1 << 20;
const WINDOW: usize = 32;
/// Numbers below this stay positive in 32 bits after one more step.
const NUMBER_MAX: i64 = 1 << 30;
const STEP_MAX: i64 = 1 << 16;

/// A loop with a known trip count, unless something else leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trips {
    pub(crate) rounds: u32,
    /// A copy of the counter that is only read by the test: made in the last copy only.
    pub(crate) copy: Option<usize>,
}

/// A single-block loop, and its unroll factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rounds {
    /// First op, and the back-edge.
    pub(crate) head: usize,
    pub(crate) latch: usize,
    /// The unroll factor.
    pub(crate) times: u32,
    /// If the factor divides the trip count: only the last copy has the test.
    pub(crate) trips: Option<Trips>,
}

impl Rounds {
    /// The ops of an iteration, including the back-edge.
    pub(super) fn body<'a>(&self, ops: &'a [Op]) -> &'a [Op] {
        &ops[self.head..=self.latch]
    }

    /// Whether the loop's own test may end it in an iteration.
    pub(super) fn may_end_in(&self, round: u32) -> bool {
        self.trips.is_none() || round + 1 == self.times
    }
}

/// The operand of a loop's test: the counter, the op that increments it, and the op that copies it
/// for the test.
struct Tested {
    counter: Reg,
    step: (usize, i32),
    copy: Option<usize>,
}

/// The trip count of the single-block loop from `head` to `latch`, which is only entered at the
/// end of what comes before `entry`.
pub(super) fn find(
    ops: &[Op],
    flow: &Flow,
    head: usize,
    latch: usize,
    entry: usize,
) -> Option<Trips> {
    let Op::Br { test, .. } = ops[latch] else { return None };
    let Src::Imm(limit) = test.b else { return None };
    let body = &ops[head..latch];
    // Nothing else may lead to a jump into the loop.
    if entry != head && flow.is_target[entry] {
        return None;
    }
    let tested = tested(body, test.a)?;
    let (at, by) = tested.step;
    let start = i32::try_from(start(ops, flow, entry, tested.counter)?).ok()?;
    // A copy made before the increment has the old value.
    let is_before = tested.copy.is_some_and(|copy| copy < at);
    let first = i64::from(start) + if is_before { 0 } else { i64::from(by) };
    let rounds = rounds(test.cond, first, i64::from(by), i64::from(limit))?;
    let alone = |copy: &usize| {
        let others = body.iter().enumerate().filter(|(other, _)| other != copy);
        others.into_iter().all(|(_, op)| op.target().is_none() && !op.uses().has(test.a))
    };
    let copy = tested.copy.filter(alone).map(|copy| head + copy);
    Some(Trips { rounds, copy })
}

/// The number of iterations until a test is first false, with `first` in the first iteration and
/// `by` more in each one. Values are so small that width and sign make no difference.
fn rounds(cond: Cond, first: i64, by: i64, limit: i64) -> Option<u32> {
    let small = 0..NUMBER_MAX;
    if !small.contains(&first) || !small.contains(&limit) || by.abs() >= STEP_MAX {
        return None;
    }
    let steps = match cond {
        Cond::Ne if by != 0 && (limit - first) % by == 0 => (limit - first) / by,
        Cond::Lt | Cond::SLt if by > 0 && first < limit => (limit - first + by - 1) / by,
        Cond::Le | Cond::SLe if by > 0 && first <= limit => (limit - first) / by + 1,
        Cond::Gt | Cond::SGt if by < 0 && first > limit => (first - limit - by - 1) / -by,
        Cond::Ge | Cond::SGe if by < 0 && first >= limit => (first - limit) / -by + 1,
        _ => return None,
    };
    // Neither a test that is false at once nor a counter that passes 0.
    let is_plain = steps > 0 && first + steps * by >= 0;
    u32::try_from(steps + 1).ok().filter(|rounds| is_plain && *rounds <= ROUNDS_MAX)
}

/// How the tested register is incremented.
fn tested(body: &[Op], reg: Reg) -> Option<Tested> {
    let (at, op) = only_def(body, reg)?;
    match *op {
        Op::Alu { op: AluOp::Add, src: Src::Imm(by), .. } => {
            Some(Tested { counter: reg, step: (at, by), copy: None })
        }
        Op::Mov { width: Width::W64, src: Src::Reg(counter), .. } => {
            let (step, op) = only_def(body, counter)?;
            let Op::Alu { op: AluOp::Add, src: Src::Imm(by), .. } = *op else {
                return None;
            };
            Some(Tested { counter, step: (step, by), copy: Some(at) })
        }
        _ => None,
    }
}

fn only_def(body: &[Op], reg: Reg) -> Option<(usize, &Op)> {
    let mut defs = body.iter().enumerate().filter(|(_, op)| op.defs().has(reg));
    let first = defs.next()?;
    defs.next().is_none().then_some(first)
}

/// The value of a register before `entry`, where a loop is entered.
fn start(ops: &[Op], flow: &Flow, entry: usize, reg: Reg) -> Option<u64> {
    for at in (entry.saturating_sub(WINDOW)..entry).rev() {
        let op = &ops[at];
        if op.is_end() {
            return None;
        }
        if op.defs().has(reg) {
            return match *op {
                Op::LdImm { value, .. } => Some(value),
                Op::Mov { width: Width::W64, src: Src::Imm(imm), .. } => Some(imm as i64 as u64),
                Op::Mov { width: Width::W32, src: Src::Imm(imm), .. } => Some(imm as u32 as u64),
                _ => None,
            };
        }
        if flow.is_target[at] {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Test;
    use crate::opt::constants::holds;

    /// Counted step by step, like the program in both widths.
    fn counted(test: Test, first: i64, by: i64, limit: i64) -> Option<u32> {
        let value = |round: i64| (first + round * by) as u64;
        let ends = |round: &i64| !holds(test, value(*round), limit as u64);
        (0..64).find(ends).map(|round| round as u32 + 1)
    }

    #[test]
    fn rounds_are_those_that_are_counted() {
        use Cond::*;
        let mut known = 0;
        for cond in [Ne, Lt, SLt, Le, SLe, Gt, SGt, Ge, SGe, Eq, Set] {
            for (first, by) in (0..20).flat_map(|first| (-5..=5).map(move |by| (first, by))) {
                for limit in 0..20 {
                    let Some(rounds) = rounds(cond, first, by, limit) else { continue };
                    for width in [Width::W32, Width::W64] {
                        let test = Test { cond, width, a: Reg::R0, b: Src::Imm(limit as i32) };
                        let counted = counted(test, first, by, limit);
                        assert_eq!(Some(rounds), counted, "{cond:?} {first} {by} {limit}");
                    }
                    known += 1;
                }
            }
        }
        assert!(known > 2000, "{known}");
    }
}

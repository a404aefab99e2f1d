//! Short loops are unrolled: otherwise a processor that takes one jump per cycle would be limited
//! by the back-edge. Loop-carried additions would still limit it: counters are updated once per
//! unrolled body (`counters`), and sums alternate between two registers (`sums`).
//!
//! The ops are not copied; the emitter emits their code again (each copy with the loop's exit).
//! With fuel, loops are not unrolled: fuel is counted in each iteration.
//!
//! # Invariants
//! 1. Where a loop is entered and left, its registers have the values given by the ops; inside,
//!    counters lag behind by a known number of increments, and sums are in two parts.

use super::counters::{self, Counter};
use super::sums::{self, Sum};
use super::trips::{self, Rounds, Trips};
use crate::flow::Flow;
use crate::op::{Op, RegSet};
use crate::tuning::Passes;
use std::ops::Range;

/// A loop with several consecutive copies of its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    pub(crate) rounds: Rounds,
    /// Counters that are updated once for all copies.
    pub(crate) counters: Vec<Counter>,
    /// A sum that is split into two registers.
    pub(crate) sum: Option<Sum>,
}

/// Maximum number of ops of all copies together, in loops with other exits and in those without.
const OPS_MAX: u32 = 24;
const STRAIGHT_MAX: u32 = 48;
const TIMES_MAX: u32 = 4;
/// Maximum unroll factor for a known trip count, which leaves fewer ops per iteration.
const TIMES_EVEN_MAX: u32 = 8;

/// The loops to unroll, in order.
pub(crate) fn plan(ops: &[Op], flow: &Flow, passes: Passes) -> Vec<Loop> {
    let mut loops = Vec::new();
    let mut known = None;
    for (latch, op) in ops.iter().enumerate() {
        let Op::Br { to, .. } = *op else { continue };
        let head = to as usize;
        if head >= latch {
            continue;
        }
        let body = &ops[head..latch];
        let entered = (head + 1..=latch).any(|at| flow.is_target[at]);
        let leaves = |op: &Op| match *op {
            Op::Br { to, .. } => to as usize > latch,
            _ => !(op.is_end() || op.is_call() || matches!(op, Op::TailCall { .. })),
        };
        let count = body.iter().filter(|op| !op.is_nop()).count() as u32 + 1;
        let is_straight = !body.iter().any(|op| op.target().is_some());
        let most = if is_straight { STRAIGHT_MAX } else { OPS_MAX };
        let times = (most / count).min(TIMES_MAX);
        if times >= 2 && !entered && body.iter().all(leaves) {
            let jumps = known.get_or_insert_with(|| jumps(ops));
            let entry = entry(ops, jumps[head], head..latch).filter(|_| passes.trips);
            let trips = entry.and_then(|entry| trips::find(ops, flow, head, latch, entry));
            let (times, trips) = trips
                .and_then(|trips| Some((even(trips, count, most)?, Some(trips))))
                .unwrap_or((times, None));
            let rounds = Rounds { head, latch, times, trips };
            let counters = match passes.counters {
                true => counters::find(ops, &rounds),
                false => Vec::new(),
            };
            let sum = match passes.sums {
                true => sums::find(ops, flow, &rounds, &counters),
                false => None,
            };
            loops.push(Loop { rounds, counters, sum });
        }
    }
    loops
}

/// The jumps to an op: their number, and the sum of their positions.
#[derive(Clone, Copy, Default)]
struct Jumps {
    count: u32,
    sum: usize,
}

/// By op: the jumps to it.
fn jumps(ops: &[Op]) -> Vec<Jumps> {
    let mut jumps = vec![Jumps::default(); ops.len() + 1];
    for (at, op) in ops.iter().enumerate() {
        if let Some(to) = op.target() {
            jumps[to as usize].count += 1;
            jumps[to as usize].sum += at;
        }
    }
    jumps
}

/// The end of the only way into a loop: its head, if that is by fall-through, or a jump to it.
fn entry(ops: &[Op], jumps: Jumps, body: Range<usize>) -> Option<usize> {
    let before = ops[..body.start].iter().rfind(|op| !op.is_nop());
    match jumps {
        Jumps { count: 1, .. } => Some(body.start),
        Jumps { count: 2, sum } if before.is_some_and(Op::is_end) => Some(sum - body.end),
        _ => None,
    }
}

/// The unroll factor that divides the trip count, with at most `most` ops.
fn even(trips: Trips, count: u32, most: u32) -> Option<u32> {
    // The test, the increment and the copy are emitted only once.
    let light = count.saturating_sub(2 + u32::from(trips.copy.is_some())).max(1);
    let most = (most / light).min(TIMES_EVEN_MAX);
    (2..=most).rev().find(|times| trips.rounds.is_multiple_of(*times))
}

impl Loop {
    /// The replacement for the op at `at` in a copy, counted from 0. A comparison may need another
    /// op before it.
    pub(crate) fn in_round(&self, at: usize, op: Op, round: u32) -> (Option<Op>, Op) {
        let copy = self.rounds.trips.and_then(|trips| trips.copy);
        if !self.rounds.may_end_in(round) && (at == self.rounds.latch || copy == Some(at)) {
            return (None, Op::Nop);
        }
        let (mut before, mut op) = (None, op);
        if let Some(sum) = self.sum.filter(|sum| sum.at == at && round % 2 == 1) {
            op = sum.in_other(op);
        }
        for counter in &self.counters {
            if counter.at == at {
                return (None, counter.stepped(op, round, self.rounds.times));
            }
            let behind = counter.behind(at, round, self.rounds.times);
            if behind != 0
                && let Some((front, shifted)) = counters::shifted(op, counter.reg, behind)
            {
                before = before.or(front);
                op = shifted;
            }
        }
        (before, op)
    }

    /// The ops that restore the registers when a copy is left at `at` for code in which `live` are
    /// read.
    pub(crate) fn repairs(&self, at: usize, round: u32, live: RegSet) -> Vec<Op> {
        let read = |counter: &&Counter| live.has(counter.reg);
        let steps = self.counters.iter().filter(read).filter_map(|counter| {
            match counter.behind(at, round, self.rounds.times) {
                0 => None,
                behind => Some(counter.caught_up(behind)),
            }
        });
        let sum = self.sum.filter(|sum| live.has(sum.reg)).map(|sum| sum.joined());
        steps.chain(sum).collect()
    }
}

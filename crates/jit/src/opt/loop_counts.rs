//! Counters that a function keeps in registers while it runs.
//!
//! A counter in memory delays a short loop: each `add` waits for the one of the previous iteration
//! to be stored and loaded. Registers that the function does not use start at 0, count, and are
//! added to the counters' words when it is left.
//!
//! # Invariants
//! 1. The function is left only by its `exit`s and tail calls: there is neither fuel nor an
//!    exception.
//! 2. Callees save the registers.

use super::slots;
use super::unroll::Loop;
use crate::Tuning;
use crate::coverage::{Kept, Plan};
use crate::flow::{Flow, Func};
use crate::op::Reg;
use crate::ops::Ops;
use crate::regs::{SPARE_R9, SPARE_RBP};

/// The counters that each function keeps in registers: of the innermost loops first, except for
/// those that are unrolled, whose iterations are counted together.
pub(crate) fn kept(
    ops: &Ops,
    flow: &Flow,
    loops: &[Loop],
    plan: &Plan,
    tuning: &Tuning,
) -> Vec<Vec<Kept>> {
    let spare = |func: &Func| {
        let range = func.start as usize..func.end as usize;
        let mut regs = slots::spare(ops, range.clone(), flow, tuning);
        regs.retain(|reg| ![SPARE_R9, SPARE_RBP].contains(reg));
        regs.retain(|reg| flow.held_at(range.start).all(|held| held.reg != *reg));
        regs
    };
    let mut regs: Vec<Vec<Reg>> = flow.funcs.iter().map(spare).collect();
    let mut kept = vec![Vec::new(); flow.funcs.len()];
    for (at, counter) in plan.in_loops() {
        let before = loops.partition_point(|looped| looped.rounds.head <= at);
        let is_unrolled = before > 0 && at <= loops[before - 1].rounds.latch;
        let func = flow.funcs.partition_point(|func| func.end as usize <= at);
        if !is_unrolled && let Some(reg) = regs[func].pop() {
            kept[func].push(Kept { counter, reg });
        }
    }
    kept
}

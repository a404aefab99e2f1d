//! Addresses that fold only once an operand is kept, or exchanged with another.
//!
//! Compilers for BPF have few registers and reuse them at once: `r5 += r4; r4 = *(r2); *(r5) = r4`
//! overwrites an operand of the sum before the sum is used. The load moves up to the sum, or the
//! new value is computed in another register, that of the sum if its old value is not an operand.
//!
//! # Invariants
//! 1. A load that moves up passes no write to memory, and one of shared memory passes no other
//!    access to shared memory.

use super::{Form, WINDOW, factor, rewritten};
use crate::asm::Width;
use crate::flow::Flow;
use crate::op::{Addr, CLOBBERED, Op, Reg, RegSet, Space, Src};
use crate::opt::renames::{redirected, renamed};
use crate::regs::SPARE_R9;
use std::ops::Range;

/// The only use of a sum, at the end of a stretch without jumps.
struct Use {
    /// The load or store.
    at: usize,
    /// The first op that overwrites an operand of the sum.
    clobber: Option<usize>,
}

/// Whether the sum that is made at `at` is now part of the address that it was made for.
pub(super) fn run(ops: &mut [Op], flow: &mut Flow, at: usize, (reg, made): (Reg, Form)) -> bool {
    if factor(&ops[at]).is_some() {
        return false;
    }
    let Some(only) = only_use(ops, flow, at, (reg, made)) else { return false };
    match only.clobber {
        None => exchange(ops, flow, only.at, (at, reg, made)),
        Some(clobber) => {
            move_up(ops, flow, only.at, (at, reg, made))
                || rename(ops, flow, (clobber, only.at), (at, reg, made))
        }
    }
}

fn only_use(ops: &[Op], flow: &Flow, at: usize, (reg, made): (Reg, Form)) -> Option<Use> {
    let parts = made.parts(reg);
    let mut clobber = None;
    for (next, op) in ops.iter().enumerate().skip(at + 1).take(WINDOW) {
        // A division uses registers of its own (`emit::div`).
        let stops = op.is_end() || op.is_call() || matches!(op, Op::Div { .. });
        if flow.is_target[next] || op.target().is_some() || stops {
            return None;
        }
        if op.uses().has(reg) {
            let is_access = matches!(op, Op::Load { .. } | Op::Store { .. } | Op::AluStore { .. });
            let ends = op.defs().has(reg) || flow.is_dead_after(next, reg);
            return (is_access && ends).then_some(Use { at: next, clobber });
        }
        if op.defs().has(reg) {
            return None;
        }
        if op.defs().meets(parts) && clobber.is_none() {
            clobber = Some(next);
        }
    }
    None
}

/// Moves a load to where its address is computed.
fn move_up(
    ops: &mut [Op],
    flow: &mut Flow,
    load: usize,
    (at, reg, made): (usize, Reg, Form),
) -> bool {
    let Some(moved @ Op::Load { dst, addr, .. }) = rewritten(&ops[load], reg, made) else {
        return false;
    };
    // What the load itself adds to the sum has its value only there.
    let others = ops[load].addr().map_or(RegSet::NONE, Addr::uses).minus(RegSet::of(&[reg]));
    let stays = |op: &Op| {
        let shares = addr.space == Space::Shared && op.is_shared_access();
        let touched = op.uses().or(op.defs());
        touched.has(dst) || op.defs().meets(others) || shares || !is_quiet(op)
    };
    if ops[at + 1..load].iter().any(stays) {
        return false;
    }
    ops[at] = moved;
    ops[load] = Op::Nop;
    for live in &mut flow.live_out[at..load] {
        *live = live.minus(RegSet::of(&[reg])).with(dst);
    }
    true
}

/// Whether an op neither writes memory nor may fail.
fn is_quiet(op: &Op) -> bool {
    let writes = matches!(op, Op::Store { .. } | Op::AluStore { .. } | Op::Fill { .. });
    let calls = matches!(op, Op::Atomic { .. } | Op::Probe { .. } | Op::TailCall { .. });
    !writes && !calls
}

/// Computes the value that overwrites an operand in another register.
fn rename(
    ops: &mut [Op],
    flow: &mut Flow,
    (clobber, last): (usize, usize),
    (at, reg, made): (usize, Reg, Form),
) -> bool {
    let parts = made.parts(reg);
    let Some(part) = parts.iter().find(|part| ops[clobber].defs().has(*part)) else { return false };
    let again = |op: &Op| op.defs().meets(parts);
    let ends = flow.is_dead_after(last, part) && !ops[last].defs().has(part);
    if !ends || ops[clobber + 1..last].iter().any(again) {
        return false;
    }
    let Some(to) = free(ops, flow, at..last, (reg, parts)) else { return false };
    let Some(first) = redirected(ops[clobber], part, to) else { return false };
    let Some(mut access) = rewritten(&ops[last], reg, made) else { return false };
    if ops[last].addr().is_some_and(|addr| addr.uses().has(part)) {
        return false;
    }
    if let Op::Store { src: Src::Reg(src), .. } | Op::AluStore { src: Src::Reg(src), .. } =
        &mut access
        && *src == part
    {
        *src = to;
    }
    let between: Option<Vec<Op>> =
        ops[clobber + 1..last].iter().map(|op| renamed(*op, part, to)).collect();
    let Some(between) = between else { return false };
    ops[at] = Op::Nop;
    ops[clobber] = first;
    ops[clobber + 1..last].copy_from_slice(&between);
    ops[last] = access;
    for live in &mut flow.live_out[at..last] {
        *live = live.minus(RegSet::of(&[reg])).or(parts);
    }
    flow.live_out[clobber..last].iter_mut().for_each(|live| *live = live.with(to));
    true
}

/// A register for a value from `range` on until the op after it.
fn free(ops: &[Op], flow: &Flow, range: Range<usize>, (reg, parts): (Reg, RegSet)) -> Option<Reg> {
    if !parts.has(reg) {
        return Some(reg);
    }
    let mut taken = parts.or(ops[range.end].uses()).or(ops[range.end].defs());
    let first = range.start;
    for at in range {
        taken = taken.or(flow.live_out[at]).or(ops[at].uses()).or(ops[at].defs());
    }
    let held = flow.held_at(first).fold(RegSet::NONE, |held, one| held.with(one.reg));
    CLOBBERED.minus(taken).minus(held).iter().find(|free| *free != SPARE_R9)
}

/// `r = base + a * i; load [r + b * j]`, where `b` is known before `a`: with the two exchanged, the
/// load waits for one addition less.
fn exchange(
    ops: &mut [Op],
    flow: &mut Flow,
    last: usize,
    (at, reg, made): (usize, Reg, Form),
) -> bool {
    let Form::Sum(sum @ Addr { index: Some((late, scale)), .. }) = made else { return false };
    let Some(addr) = ops[last].addr() else { return false };
    let Some((early, by)) = addr.index else { return false };
    let Some(disp) = addr.disp.checked_add(sum.disp) else { return false };
    let named = [sum.base, late, early].contains(&Reg::FP);
    let redefined = ops[at + 1..last].iter().any(|op| op.defs().has(early));
    let is_base = addr.base == reg && early != reg && late != reg;
    if named || redefined || !is_base || !is_later(ops, flow, at, (late, early)) {
        return false;
    }
    let exchanged = Addr { index: Some((late, scale)), disp, ..addr };
    match &mut ops[last] {
        Op::Load { addr, .. } | Op::Store { addr, .. } | Op::AluStore { addr, .. } => {
            *addr = exchanged;
        }
        _ => return false,
    }
    let addr = Addr::sum(sum.base, Some((early, by)), 0);
    ops[at] = Op::Lea { width: Width::W64, dst: reg, addr };
    flow.live_out[at..last].iter_mut().for_each(|live| *live = live.with(late));
    true
}

/// Whether `late` is written after `early` in the block of `at`, and loaded.
fn is_later(ops: &[Op], flow: &Flow, at: usize, (late, early): (Reg, Reg)) -> bool {
    for back in (at.saturating_sub(WINDOW)..at).rev() {
        let op = &ops[back];
        if flow.is_target[back + 1] || op.is_end() || op.defs().has(early) {
            return false;
        }
        if op.defs().has(late) && !op.uses().has(late) {
            return matches!(op, Op::Load { .. });
        }
    }
    false
}

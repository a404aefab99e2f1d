//! Addresses that fold only once an operand is kept, or exchanged with another.
//!
//! Compilers for BPF have few registers and reuse them at once: `r5 += r4; r4 = *(r2); *(r5) = r4`
//! overwrites an operand of the sum before the sum is used. The load moves up to the sum, or the
//! new value is computed in another register, that of the sum if its old value is not an operand.
//!
//! # Invariants
//! 1. A load that moves up passes no write to memory, and one of shared memory passes no other
//!    access to shared memory.

use super::form::{Form, factor, rewritten};
use crate::asm::Width;
use crate::flow::Flow;
use crate::op::{Addr, CLOBBERED, Op, Reg, RegSet, Space, Src};
use crate::ops::Ops;
use crate::opt::renames::{redirected, renamed};
use crate::regs::SPARE_R9;
use std::ops::Range;

/// Maximum distance to the use of a sum, in ops.
const WINDOW: usize = 32;

/// The definition of a sum.
#[derive(Clone, Copy)]
pub(super) struct Def {
    /// The op that computes it.
    pub(super) at: usize,
    pub(super) reg: Reg,
    pub(super) form: Form,
}

impl Def {
    /// Registers that must not change.
    fn parts(&self) -> RegSet {
        self.form.parts(self.reg)
    }
}

/// The only use of a sum, at the end of a stretch without jumps.
struct Use {
    /// The load or store.
    at: usize,
    /// The first op that overwrites an operand of the sum.
    clobber: Option<usize>,
}

/// Makes the sum part of the address that it was made for, if there is one.
pub(super) fn run(ops: &mut Ops, flow: &mut Flow, def: &Def) {
    if factor(&ops[def.at]).is_some() {
        return;
    }
    let Some(only) = only_use(ops, flow, def) else { return };
    match only.clobber {
        None => exchange(ops, flow, def, only.at),
        Some(clobber) => {
            if !move_up(ops, flow, def, only.at) {
                rename(ops, flow, def, clobber..only.at);
            }
        }
    }
}

fn only_use(ops: &Ops, flow: &Flow, def: &Def) -> Option<Use> {
    let mut clobber = None;
    for next in (def.at + 1..ops.len()).take(WINDOW) {
        let (op, effect) = (&ops[next], ops.effect(next));
        // A division uses registers of its own (`emit::div`).
        let stops = op.is_call() || matches!(op, Op::Div { .. });
        if flow.is_target[next] || effect.jumps || effect.ends || stops {
            return None;
        }
        if effect.uses.has(def.reg) {
            let is_access = matches!(op, Op::Load { .. } | Op::Store { .. } | Op::AluStore { .. });
            let ends = effect.defs.has(def.reg) || flow.is_dead_after(next, def.reg);
            return (is_access && ends).then_some(Use { at: next, clobber });
        }
        if effect.defs.has(def.reg) {
            return None;
        }
        if effect.defs.meets(def.parts()) && clobber.is_none() {
            clobber = Some(next);
        }
    }
    None
}

/// Moves a load to where its address is computed; returns whether it could.
fn move_up(ops: &mut Ops, flow: &mut Flow, def: &Def, load: usize) -> bool {
    let Some(moved @ Op::Load { dst, addr, .. }) = rewritten(&ops[load], def.reg, def.form) else {
        return false;
    };
    // What the load itself adds to the sum has its value only there.
    let others = ops[load].addr().map_or(RegSet::NONE, Addr::uses).minus(RegSet::of(&[def.reg]));
    let stays = |op: &Op| {
        let shares = addr.space == Space::Shared && op.is_shared_access();
        let touched = op.uses().or(op.defs());
        touched.has(dst) || op.defs().meets(others) || shares || !is_quiet(op)
    };
    if ops[def.at + 1..load].iter().any(stays) {
        return false;
    }
    ops.set(def.at, moved);
    ops.set(load, Op::Nop);
    for live in &mut flow.live_out[def.at..load] {
        *live = live.minus(RegSet::of(&[def.reg])).with(dst);
    }
    true
}

/// Whether an op neither writes memory nor may fail.
fn is_quiet(op: &Op) -> bool {
    let writes = matches!(op, Op::Store { .. } | Op::AluStore { .. } | Op::Fill { .. });
    let calls = matches!(op, Op::Atomic { .. } | Op::Probe { .. } | Op::TailCall { .. });
    !writes && !calls
}

/// Computes the value that overwrites an operand at the start of `range` in another register, until
/// the access at its end.
fn rename(ops: &mut Ops, flow: &mut Flow, def: &Def, range: Range<usize>) {
    let Range { start: clobber, end: last } = range;
    let parts = def.parts();
    let Some(part) = parts.iter().find(|part| ops[clobber].defs().has(*part)) else { return };
    let again = |op: &Op| op.defs().meets(parts);
    let ends = flow.is_dead_after(last, part) && !ops[last].defs().has(part);
    let adds = ops[last].addr().is_some_and(|addr| addr.uses().has(part));
    if !ends || adds || ops[clobber + 1..last].iter().any(again) {
        return;
    }
    let Some(to) = free(ops, flow, def, last) else { return };
    let Some(first) = redirected(ops[clobber], part, to) else { return };
    let Some(mut access) = rewritten(&ops[last], def.reg, def.form) else { return };
    if let Op::Store { src: Src::Reg(src), .. } | Op::AluStore { src: Src::Reg(src), .. } =
        &mut access
        && *src == part
    {
        *src = to;
    }
    let between = ops[clobber + 1..last].iter().map(|op| renamed(*op, part, to));
    let Some(between) = between.collect::<Option<Vec<Op>>>() else { return };
    ops.set(def.at, Op::Nop);
    ops.set(clobber, first);
    (clobber + 1..last).zip(between).for_each(|(at, op)| ops.set(at, op));
    ops.set(last, access);
    for live in &mut flow.live_out[def.at..last] {
        *live = live.minus(RegSet::of(&[def.reg])).or(parts);
    }
    flow.live_out[clobber..last].iter_mut().for_each(|live| *live = live.with(to));
}

/// A register for a value between the sum and the access at `last`.
fn free(ops: &[Op], flow: &Flow, def: &Def, last: usize) -> Option<Reg> {
    let parts = def.parts();
    if !parts.has(def.reg) {
        return Some(def.reg);
    }
    let touched = ops[def.at..=last].iter().flat_map(|op| [op.uses(), op.defs()]);
    let live = flow.live_out[def.at..last].iter().copied();
    let taken = touched.chain(live).fold(parts, RegSet::or);
    let held = flow.held_at(def.at).fold(RegSet::NONE, |held, one| held.with(one.reg));
    CLOBBERED.minus(taken).minus(held).iter().find(|free| *free != SPARE_R9)
}

/// `r = base + a * i; load [r + b * j]`, where `b` is known before `a`: with the two exchanged, the
/// load waits for one addition less.
fn exchange(ops: &mut Ops, flow: &mut Flow, def: &Def, last: usize) {
    let Form::Sum(sum @ Addr { index: Some(late), .. }) = def.form else { return };
    let Some(addr) = ops[last].addr() else { return };
    let Some(early) = addr.index else { return };
    let Some(disp) = addr.disp.checked_add(sum.disp) else { return };
    let named = [sum.base, late.0, early.0].contains(&Reg::FP);
    let redefined = ops[def.at + 1..last].iter().any(|op| op.defs().has(early.0));
    let is_base = addr.base == def.reg && early.0 != def.reg && late.0 != def.reg;
    if named || redefined || !is_base || !is_loaded_since(ops, flow, def.at, [late.0, early.0]) {
        return;
    }
    let exchanged = Addr { index: Some(late), disp, ..addr };
    let mut access = ops[last];
    match &mut access {
        Op::Load { addr, .. } | Op::Store { addr, .. } | Op::AluStore { addr, .. } => {
            *addr = exchanged;
        }
        _ => return,
    }
    ops.set(last, access);
    let addr = Addr::sum(sum.base, Some(early), 0);
    ops.set(def.at, Op::Lea { width: Width::W64, dst: def.reg, addr });
    flow.live_out[def.at..last].iter_mut().for_each(|live| *live = live.with(late.0));
}

/// Whether `late` is loaded after `early` is written, in the block of `at`.
fn is_loaded_since(ops: &[Op], flow: &Flow, at: usize, [late, early]: [Reg; 2]) -> bool {
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

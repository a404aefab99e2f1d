//! Moves spilled values from the stack to registers that BPF does not have.
//!
//! # Invariants
//! 1. Only in functions in which the stack's address is used only in loads and stores: slots are
//!    not accessible otherwise. `ranges` gives the range of indexed accesses.
//! 2. A slot is always accessed as a whole: no other access overlaps it.

use super::ranges;
use crate::asm::Width;
use crate::flow::Flow;
use crate::op::{Addr, Op, Reg, RegSet, Size, Src};
use crate::ops::Ops;
use crate::regs::{SPARE_R9, SPARE_R12, SPARE_RBP};
use crate::{Prologue, Tuning};
use std::ops::Range;

/// Saving and restoring a register costs about as much as this many accesses.
const USES_MIN: u32 = 4;

/// A place on the stack.
struct Slot {
    disp: i32,
    size: Size,
    /// Number of accesses, weighted by loop depth.
    uses: u32,
    /// Whether another access overlaps it.
    mixed: bool,
}

impl Slot {
    fn end(&self) -> i32 {
        self.disp + self.size.bytes() as i32
    }

    fn is_worth(&self) -> bool {
        !self.mixed && self.uses >= USES_MIN
    }
}

/// Returns whether something changed. With coverage, `rbp` is not available.
pub(super) fn run(ops: &mut Ops, flow: &Flow, tuning: &Tuning, counts: bool) -> bool {
    let mut changed = false;
    for func in &flow.funcs {
        let range = func.start as usize..func.end as usize;
        let (mut slots, others) = accesses(ops, flow, range.clone());
        if !slots.iter().any(Slot::is_worth) {
            continue;
        }
        let mut regs = spare(ops, range.clone(), flow, tuning);
        regs.retain(|reg| *reg != SPARE_RBP || !counts);
        if regs.is_empty() || (others && !has_apart(&mut slots, ops, range.clone())) {
            continue;
        }
        slots.retain(Slot::is_worth);
        slots.sort_by_key(|slot| std::cmp::Reverse(slot.uses));
        slots.truncate(regs.len());
        for at in range {
            let op = ops[at];
            let Some((size, addr, true)) = access(&op) else { continue };
            let here = |slot: &Slot| (slot.disp, slot.size) == (addr.disp, size);
            if let Some(number) = slots.iter().position(here) {
                ops.set(at, moved(op, regs[number]));
                changed = true;
            }
        }
    }
    changed
}

/// The registers that a function does not use.
pub(super) fn spare(ops: &Ops, range: Range<usize>, flow: &Flow, tuning: &Tuning) -> Vec<Reg> {
    let mut used = RegSet::NONE;
    let (mut calls, mut divides) = (false, false);
    for effect in &ops.effects()[range.clone()] {
        used = used.or(effect.touched());
    }
    for op in &ops[range] {
        calls |= op.is_call() || matches!(op, Op::TailCall { .. });
        divides |= matches!(op, Op::Div { .. });
    }
    let mut regs = Vec::new();
    if !calls && !divides {
        regs.push(SPARE_R9);
    }
    if tuning.prologue == Prologue::Minimal || tuning.fuel {
        // In programs that throw, it is used for finding the frame that catches (`frame`).
        if !tuning.fuel && flow.exception_cb.is_none() {
            regs.push(SPARE_RBP);
        }
        if !tuning.fuel && !flow.counts_tail_calls() {
            regs.push(SPARE_R12);
        }
        regs.extend((6..10).map(Reg));
    }
    regs.retain(|reg| !used.has(*reg));
    regs
}

/// The slots of a function that are accessed at fixed offsets, and whether r10 is used otherwise.
fn accesses(ops: &Ops, flow: &Flow, range: Range<usize>) -> (Vec<Slot>, bool) {
    let mut slots: Vec<Slot> = Vec::new();
    let mut others = false;
    for at in range.filter(|at| ops.uses(*at).has(Reg::FP)) {
        match access(&ops[at]) {
            Some((size, addr, plain)) => {
                let depth = flow.loop_depth[at].min(3);
                note(&mut slots, size, addr.disp, plain, 1 << (3 * depth));
            }
            None => others = true,
        }
    }
    (slots, others)
}

/// Marks the slots that accesses at other than fixed offsets may overlap. Returns whether all of
/// those are known: otherwise the stack's address escapes.
fn has_apart(slots: &mut [Slot], ops: &Ops, range: Range<usize>) -> bool {
    if !ops.effects()[range.clone()].iter().all(|effect| ranges::are_known(effect.touched())) {
        return false;
    }
    let Some(reaches) = ranges::reaches(ops, range) else { return false };
    for (at, reach) in reaches {
        if access(&ops[at]).is_none() {
            let met = |slot: &&mut Slot| {
                reach.start < i64::from(slot.end()) && i64::from(slot.disp) < reach.end
            };
            slots.iter_mut().filter(met).for_each(|slot| slot.mixed = true);
        }
    }
    true
}

/// Adds an access with that weight.
fn note(slots: &mut Vec<Slot>, size: Size, disp: i32, plain: bool, uses: u32) {
    let new = Slot { disp, size, uses, mixed: !plain };
    let (mut known, mut overlaps) = (false, false);
    for slot in slots.iter_mut() {
        if slot.disp == disp && slot.size == size {
            slot.uses = slot.uses.saturating_add(uses);
            slot.mixed |= !plain;
            known = true;
        } else if disp < slot.end() && slot.disp < new.end() {
            slot.mixed = true;
            overlaps = true;
        }
    }
    if !known {
        slots.push(Slot { mixed: !plain || overlaps, ..new });
    }
}

/// The access of an op that uses r10: size, address, and whether a register can replace it. `None`
/// if it is not an access, or not at a fixed offset.
fn access(op: &Op) -> Option<(Size, Addr, bool)> {
    let (size, addr, plain) = match *op {
        Op::Load { size, addr, big, .. } => (size, addr, !big),
        Op::Store { size, addr, big, src } => {
            if src == Src::Reg(Reg::FP) {
                return None;
            }
            (size, addr, !big)
        }
        Op::ArrayLookup { key: Src::Mem(addr), .. } => (Size::B4, addr, true),
        Op::Atomic { width: Width::W64, addr, reg, .. } if reg != Reg::FP => {
            (Size::B8, addr, false)
        }
        Op::Atomic { addr, reg, .. } if reg != Reg::FP => (Size::B4, addr, false),
        _ => return None,
    };
    let plain = plain && matches!(size, Size::B4 | Size::B8);
    (addr.base == Reg::FP && addr.index.is_none()).then_some((size, addr, plain))
}

/// The access `op` to a slot, with `reg` for the slot.
fn moved(op: Op, reg: Reg) -> Op {
    let width = |size| if size == Size::B8 { Width::W64 } else { Width::W32 };
    match op {
        Op::Load { size, sign: true, dst, .. } => {
            Op::MovSx { size, width: Width::W64, dst, src: reg }
        }
        Op::Load { size, dst, .. } => Op::Mov { width: width(size), dst, src: Src::Reg(reg) },
        Op::Store { size, src, .. } => Op::Mov { width: width(size), dst: reg, src },
        Op::ArrayLookup { map, .. } => Op::ArrayLookup { map, key: Src::Reg(reg) },
        op => op,
    }
}

//! Keeps addresses of global variables that loops need in registers that BPF does not have: an insn
//! that loads such an address is ten bytes long, and every iteration would execute it. Nearby
//! addresses share a register.
//!
//! Other 64-bit constants are not kept: of six programs whose loops have some, one became faster
//! and three became slower by more.
//!
//! The register is loaded right after the function's prologue (`Flow::held`); the passes that track
//! values fold it into addresses.
//!
//! # Invariants
//! 1. Such a register is written only there.

use super::slots;
use crate::asm::Width;
use crate::flow::{Flow, Held};
use crate::op::{Addr, Op, Reg, Src};
use crate::ops::Ops;
use crate::regs::{SPARE_R9, SPARE_RBP};
use crate::{Linkage, Tuning};
use std::collections::BTreeMap;
use std::ops::Range;

/// The minimum number of loads of an address, weighted by loop depth, that justifies a register.
const USES_MIN: u32 = 8;

/// Whether something changed. With coverage counters, `rbp` is in use.
pub(super) fn run(ops: &mut Ops, flow: &mut Flow, linkage: &Linkage, tuning: &Tuning) -> bool {
    let counts = linkage.coverage.is_some();
    let mut held = Vec::new();
    for (number, func) in flow.funcs.iter().enumerate() {
        let range = func.start as usize..func.end as usize;
        let uses = uses(ops, flow, range.clone(), linkage);
        if uses.is_empty() {
            continue;
        }
        // That register is for the sums of unrolled loops.
        let free = |reg: &Reg| *reg != SPARE_R9 && (*reg != SPARE_RBP || !counts);
        let regs = slots::spare(ops, range.clone(), flow, tuning).into_iter().filter(free);
        for ((value, _), reg) in uses.into_iter().zip(regs) {
            held.push(Held { func: number, reg, value });
            for at in range.clone().filter(|at| flow.loop_depth[*at] > 0) {
                ops.set(at, from_register(ops[at], reg, value));
            }
        }
    }
    flow.held = held;
    !flow.held.is_empty()
}

/// Addresses that justify a register in a function, with the number of loads of them and of nearby
/// ones, most frequent first.
fn uses(ops: &[Op], flow: &Flow, range: Range<usize>, linkage: &Linkage) -> Vec<(u64, u32)> {
    let mut each: BTreeMap<u64, u32> = BTreeMap::new();
    for at in range {
        let depth = flow.loop_depth[at].min(3);
        if let Op::LdImm { value, .. } = ops[at]
            && depth > 0
            && is_address(value, linkage)
        {
            let uses = each.entry(value).or_default();
            *uses = uses.saturating_add(1 << (3 * depth));
        }
    }
    let mut groups: Vec<(u64, u32, u32)> = Vec::new();
    for (value, uses) in each {
        match groups.last_mut() {
            Some((base, most, all)) if distance(*base, value).is_some() => {
                *all = all.saturating_add(uses);
                if uses > *most {
                    (*base, *most) = (value, uses);
                }
            }
            _ => groups.push((value, uses, uses)),
        }
    }
    groups.retain(|(_, _, all)| *all >= USES_MIN);
    groups.sort_by_key(|(_, _, all)| std::cmp::Reverse(*all));
    groups.into_iter().map(|(value, _, all)| (value, all)).collect()
}

/// Whether a constant is an address in a map value, and no shorter insn loads it.
fn is_address(value: u64, linkage: &Linkage) -> bool {
    let is_in = |values: u64| values != 0 && distance(values, value).is_some_and(|at| at >= 0);
    value > u64::from(u32::MAX) && linkage.maps.iter().any(|map| is_in(map.values))
}

fn distance(from: u64, to: u64) -> Option<i32> {
    i32::try_from(to.wrapping_sub(from) as i64).ok()
}

/// The address as the register, or the register plus an offset.
fn from_register(op: Op, reg: Reg, value: u64) -> Op {
    let Op::LdImm { dst, value: wanted } = op else { return op };
    let width = Width::W64;
    match distance(value, wanted) {
        None => op,
        Some(0) => Op::Mov { width, dst, src: Src::Reg(reg) },
        Some(disp) => Op::Lea { width, dst, addr: Addr::sum(reg, None, disp) },
    }
}

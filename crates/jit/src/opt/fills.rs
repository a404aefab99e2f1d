//! Adjacent stores of zeros become wide stores: a table or structure is cleared with a few of them.
//!
//! # Invariants
//! 1. A store moves down, to the last of those with which it is merged. In private memory it may
//!    pass accesses to other places relative to the same registers; in shared memory, none.
//! 2. Shared memory is cleared in aligned words, which processors store atomically: the whole word
//!    becomes visible when the last of its stores would. Not in wider blocks, which some processors
//!    store atomically as well: loads that follow soon waited for them (`trie` took 1.3 times as
//!    long).

use crate::flow::Flow;
use crate::op::{Addr, Op, Reg, Size, Space, Src};
use crate::ops::Ops;

/// Bytes of a block of private memory.
pub(crate) const BLOCK: u32 = 16;
/// Bytes of a word of shared memory.
pub(crate) const WORD: u32 = 8;

/// An access, usually of zeros: the op, and its bytes as displacements.
#[derive(Clone, Copy)]
struct Piece {
    op: usize,
    from: i64,
    to: i64,
}

/// Liveness does not change.
pub(super) fn run(ops: &mut Ops, flow: &Flow) {
    if !ops.kinds().clears {
        return;
    }
    let mut at = 0;
    while at < ops.len() {
        at = match zeros(&ops[at], at) {
            Some((addr, _)) if addr.space == Space::Own => own(ops, flow, at, addr),
            Some((addr, _)) => shared(ops, flow, at, addr),
            _ => at + 1,
        };
    }
    find_zeroed(ops, flow);
}

fn zeros(op: &Op, at: usize) -> Option<(Addr, Piece)> {
    let Op::Store { addr, src: Src::Imm(0), .. } = *op else { return None };
    accessed(op, at).map(|zeros| (addr, zeros))
}

/// Whether both are relative to the same registers.
fn is_beside(a: Addr, b: Addr) -> bool {
    Addr { disp: b.disp, ..a } == b
}

/// Merges the stores of zeros to private memory from `start` on; returns where to continue.
fn own(ops: &mut Ops, flow: &Flow, start: usize, place: Addr) -> usize {
    let (mut run, mut others): (Vec<Piece>, Vec<Piece>) = Default::default();
    let mut end = start;
    while end < ops.len() && (end == start || !flow.is_target[end]) {
        match zeros(&ops[end], end) {
            Some((addr, zeros)) if is_beside(addr, place) => {
                if !is_apart(zeros, &others) {
                    break;
                }
                run.push(zeros);
            }
            _ if !passes(&ops[end], place) => break,
            _ => {
                if let Some(other) = accessed(&ops[end], end) {
                    if !is_apart(other, &run) {
                        break;
                    }
                    others.push(other);
                }
            }
        }
        end += 1;
    }
    run.sort_by_key(|zeros| zeros.from);
    for near in run.chunk_by(|a, b| a.to >= b.from) {
        clear(ops, near, place);
    }
    end.max(start + 1)
}

/// Whether stores may move below the op, if they are to other places.
fn passes(op: &Op, place: Addr) -> bool {
    let stays = op.is_end() || op.target().is_some() || op.is_call();
    if stays || matches!(op, Op::TailCall { .. }) || op.defs().meets(place.uses()) {
        return false;
    }
    op.addr().is_none_or(|addr| accessed(op, 0).is_some() && is_beside(addr, place))
}

/// The range accessed by a plain load or store.
fn accessed(op: &Op, at: usize) -> Option<Piece> {
    let (Op::Load { size, addr, .. } | Op::Store { size, addr, .. }) = *op else { return None };
    let from = i64::from(addr.disp);
    Some(Piece { op: at, from, to: from + i64::from(size.bytes()) })
}

fn is_apart(place: Piece, others: &[Piece]) -> bool {
    others.iter().all(|other| place.to <= other.from || other.to <= place.from)
}

/// Writes the wide stores for a contiguous range into the last of its ops.
fn clear(ops: &mut Ops, near: &[Piece], place: Addr) {
    let from = near[0].from;
    let to = near.iter().fold(from, |to, zeros| to.max(zeros.to));
    let pieces = pieces(from, to);
    if pieces.len() >= near.len() {
        return;
    }
    let mut places: Vec<usize> = near.iter().map(|zeros| zeros.op).collect();
    places.sort_unstable();
    places.iter().for_each(|at| ops.set(*at, Op::Nop));
    for (at, (disp, bytes)) in places.iter().rev().zip(pieces) {
        ops.set(*at, cleared(Addr { disp, ..place }, bytes));
    }
}

fn cleared(addr: Addr, bytes: u32) -> Op {
    let size = match bytes {
        1 => Size::B1,
        2 => Size::B2,
        4 => Size::B4,
        8 => Size::B8,
        _ => return Op::Fill { addr, bytes, zeroed: false },
    };
    Op::Store { size, big: false, addr, src: Src::Imm(0) }
}

/// One op for a block or more; below that size, two that may overlap.
fn pieces(from: i64, to: i64) -> Vec<(i32, u32)> {
    let bytes = (to - from) as u32;
    if bytes >= BLOCK {
        return vec![(from as i32, bytes)];
    }
    let first = 1 << bytes.ilog2();
    let rest = bytes - first;
    let mut pieces = vec![(from as i32, first)];
    if rest > 0 {
        let last = if rest.is_power_of_two() { rest } else { first };
        pieces.push(((to - i64::from(last)) as i32, last));
    }
    pieces
}

/// Merges the stores of zeros to shared memory in words; returns where to continue.
fn shared(ops: &mut Ops, flow: &Flow, start: usize, place: Addr) -> usize {
    let mut run: Vec<Piece> = Vec::new();
    let mut end = start;
    while end < ops.len() && (end == start || !flow.is_target[end]) {
        match zeros(&ops[end], end) {
            Some((addr, zeros)) if is_beside(addr, place) => run.push(zeros),
            _ if !passes(&ops[end], place) || ops[end].addr().is_some() => break,
            _ => {}
        }
        end += 1;
    }
    let known = match (place.index, run.len()) {
        (None, 2..) => constant(ops, flow, start, place.base),
        _ => None,
    };
    let Some(base) = known else { return end.max(start + 1) };
    let mut first = 0;
    while first < run.len() {
        let count = word(&run[first..], base);
        if count > 1 {
            let stores = &run[first..first + count];
            let disp = stores.iter().fold(i64::MAX, |least, zeros| least.min(zeros.from)) as i32;
            stores.iter().for_each(|zeros| ops.set(zeros.op, Op::Nop));
            let addr = Addr { disp, ..place };
            ops.set(stores[count - 1].op, cleared(addr, WORD));
        }
        first += count.max(1);
    }
    end
}

/// How many of the first stores form an aligned word, each byte of it once.
fn word(run: &[Piece], base: u64) -> usize {
    let of = |zeros: &Piece| {
        let at = base.wrapping_add(zeros.from as u64);
        (at / u64::from(WORD), (at % u64::from(WORD)) as u32, (zeros.to - zeros.from) as u32)
    };
    let (number, ..) = of(&run[0]);
    let mut covered = 0_u32;
    for (count, zeros) in run.iter().enumerate() {
        let (other, from, bytes) = of(zeros);
        let mask = ((1 << bytes) - 1) << from;
        if other != number || from + bytes > WORD || covered & mask != 0 {
            return 0;
        }
        covered |= mask;
        if covered == u32::from(u8::MAX) {
            return count + 1;
        }
    }
    0
}

/// The constant in a register before an op, if the function loads one.
fn constant(ops: &[Op], flow: &Flow, at: usize, reg: Reg) -> Option<u64> {
    let value = |op: &Op| match *op {
        Op::LdImm { value, .. } => Some(value),
        _ => None,
    };
    for back in (0..at).rev() {
        if flow.is_target[back + 1] || ops[back].is_end() {
            break;
        }
        if ops[back].defs().has(reg) {
            return value(&ops[back]);
        }
    }
    let func = flow.funcs.iter().find(|func| (func.start..func.end).contains(&(at as u32)))?;
    let (start, end) = (func.start as usize, func.end as usize);
    // The value at the function's entry is a different one.
    let first = &ops[start];
    if first.uses().or(flow.live_out[start].minus(first.defs())).has(reg) {
        return None;
    }
    let mut sets = ops[start..end].iter().filter(|op| op.defs().has(reg));
    match (sets.next(), sets.next()) {
        (Some(op), None) => value(op),
        _ => None,
    }
}

/// Where the register of zeros still contains them from the previous op.
fn find_zeroed(ops: &mut Ops, flow: &Flow) {
    let mut holds = false;
    for at in 0..ops.len() {
        holds &= !flow.is_target[at];
        match ops[at] {
            Op::Fill { addr, bytes, .. } => {
                let zeroed = std::mem::replace(&mut holds, true);
                ops.set(at, Op::Fill { addr, bytes, zeroed });
            }
            Op::Nop | Op::Store { .. } | Op::Load { .. } => {}
            _ => holds = false,
        }
    }
}

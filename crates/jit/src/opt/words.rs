//! Bytes that are copied one by one to adjacent places become copies of words: compilers for BPF
//! copy unaligned fields byte by byte.
//!
//! # Invariants
//! 1. Source and destination are private memory.
//! 2. A load moves down to the last load of its word, a store to the last store. Nothing between
//!    them writes to either place or reads the destination.
//! 3. The loaded value is used only by its store.

use crate::flow::{Flow, Func};
use crate::op::{Addr, AtomicOp, Op, Reg, RegSet, Size, Space, Src};
use crate::ops::Ops;
use std::ops::Range;

/// Maximum number of ops between the first load and the last store, and of copies that are searched
/// for a neighbour.
const SPAN_MAX: usize = 64;
const NEAR: usize = 16;

/// A load, and the store that is its only user.
#[derive(Clone, Copy)]
struct Copy {
    load: usize,
    store: usize,
    bytes: u32,
    reg: Reg,
    from: Addr,
    to: Addr,
}

/// Bytes of memory.
#[derive(Clone, Copy)]
struct Place {
    addr: Addr,
    bytes: u32,
}

/// Whether something changed.
pub(super) fn run(ops: &mut Ops, flow: &Flow) -> bool {
    let mut changed = false;
    for func in &flow.funcs {
        let mut is_closed = None;
        let (mut start, mut stores) = (func.start as usize, 0);
        for end in func.start as usize + 1..=func.end as usize {
            let last = ops.effect(end - 1);
            stores += usize::from(matches!(ops[end - 1], Op::Store { src: Src::Reg(_), .. }));
            let ends = last.ends || last.jumps || flow.is_target[end];
            if ends || end == func.end as usize {
                if stores > 1 {
                    let copies = copies(ops, flow, start..end);
                    if copies.len() > 1 {
                        let closed = *is_closed.get_or_insert_with(|| frame_is_closed(ops, func));
                        changed |= joined(ops, copies, closed);
                    }
                }
                (start, stores) = (end, 0);
            }
        }
    }
    changed
}

/// Whether the stack's address is used only in loads and stores.
fn frame_is_closed(ops: &[Op], func: &Func) -> bool {
    ops[func.start as usize..func.end as usize].iter().all(|op| {
        let kept = match *op {
            Op::Store { src, .. } | Op::AluStore { src, .. } => src == Src::Reg(Reg::FP),
            Op::Atomic { reg, .. } => reg == Reg::FP,
            Op::Br { test, .. } => test.a == Reg::FP,
            Op::Alu { dst, .. } | Op::Div { dst, .. } => dst == Reg::FP,
            _ => false,
        };
        let through = op.addr().is_some_and(|addr| addr.base == Reg::FP);
        !kept && (through || !op.uses().has(Reg::FP))
    })
}

/// The copies of a block, in the order of their stores.
fn copies(ops: &Ops, flow: &Flow, range: Range<usize>) -> Vec<Copy> {
    let mut copies = Vec::new();
    // By register: the load that has not been used yet.
    let mut loaded: [Option<usize>; Reg::COUNT] = [None; Reg::COUNT];
    for at in range {
        let op = ops[at];
        if let Op::Store { size, big: false, addr: to, src: Src::Reg(reg) } = op
            && let Some(load) = loaded[usize::from(reg.0)]
            && let Op::Load { size: of, addr: from, .. } = ops[load]
            && of == size
            && size != Size::B8
            && to.space == Space::Own
            && !to.uses().has(reg)
            && flow.is_dead_after(at, reg)
        {
            copies.push(Copy { load, store: at, bytes: size.bytes(), reg, from, to });
        }
        ops.effect(at).touched().iter().for_each(|reg| loaded[usize::from(reg.0)] = None);
        if let Op::Load { sign: false, big: false, dst, addr, .. } = op
            && addr.space == Space::Own
            && !addr.uses().has(dst)
        {
            loaded[usize::from(dst.0)] = Some(at);
        }
    }
    copies
}

/// Merges copies into words as large as possible; returns whether there were any.
fn joined(ops: &mut Ops, copies: Vec<Copy>, closed: bool) -> bool {
    let mut copies = copies;
    let mut changed = false;
    for bytes in [8, 4, 2] {
        let mut first = 0;
        while first < copies.len() {
            if let Some(word) = word(ops, &copies, first, bytes, closed) {
                let parts: Vec<Copy> = word.iter().map(|part| copies[*part]).collect();
                write(ops, &parts, bytes);
                let mut at = 0;
                copies.retain(|_| (!word.contains(&at), at += 1).0);
                changed = true;
            } else {
                first += 1;
            }
        }
    }
    changed
}

/// The copies that make up a word starting with `first`, in the order of their bytes.
fn word(ops: &[Op], copies: &[Copy], first: usize, bytes: u32, closed: bool) -> Option<Vec<usize>> {
    let start = copies[first];
    let near = first.saturating_sub(NEAR)..(first + NEAR).min(copies.len());
    let (mut parts, mut end) = (vec![first], start.bytes);
    while end < bytes {
        let follows = |part: &usize| {
            let copy = copies[*part];
            is_at(copy.from, start.from, end) && is_at(copy.to, start.to, end)
        };
        let next = near.clone().find(follows)?;
        parts.push(next);
        end += copies[next].bytes;
    }
    let found: Vec<Copy> = parts.iter().map(|part| copies[*part]).collect();
    let whole = end == bytes && parts.len() > 1;
    (whole && may_join(ops, &found, bytes, closed)).then_some(parts)
}

fn is_at(addr: Addr, start: Addr, off: u32) -> bool {
    start.disp.checked_add(off as i32) == Some(addr.disp)
        && Addr { disp: start.disp, ..addr } == start
}

/// Whether the loads and stores may move to the last of each.
fn may_join(ops: &[Op], parts: &[Copy], bytes: u32, closed: bool) -> bool {
    let (from, to) = (Place { addr: parts[0].from, bytes }, Place { addr: parts[0].to, bytes });
    let Some(last) = parts.iter().max_by_key(|part| part.load) else { return false };
    let first = parts.iter().map(|part| part.load).min().unwrap_or(last.load);
    // The register of the last load holds the word.
    let carries = parts.iter().all(|part| part.store <= last.store);
    if !carries || last.store - first > SPAN_MAX || !from.is_apart(to, closed) {
        return false;
    }
    let named = from.addr.uses().or(to.addr.uses());
    let is_part = |at: usize| parts.iter().any(|part| part.load == at || part.store == at);
    (first..last.store).filter(|at| !is_part(*at)).all(|at| {
        let op = &ops[at];
        !op.defs().meets(named)
            && match accessed(op) {
                Some(Accessed::Nothing) => true,
                Some(Accessed::Read(place)) => place.is_apart(to, closed),
                Some(Accessed::Written(place)) => {
                    place.is_apart(to, closed) && place.is_apart(from, closed)
                }
                None => false,
            }
    }) && parts.iter().all(|part| !named.meets(RegSet::of(&[part.reg])))
}

impl Place {
    /// Whether the two are known not to overlap.
    fn is_apart(self, other: Place, closed: bool) -> bool {
        let (a, b) = (self.addr, other.addr);
        if (a.base, a.index) == (b.base, b.index) {
            let (a, b) = (i64::from(a.disp), i64::from(b.disp));
            return a + i64::from(self.bytes) <= b || b + i64::from(other.bytes) <= a;
        }
        closed && (a.base == Reg::FP) != (b.base == Reg::FP)
    }
}

/// The effect of an op on memory.
enum Accessed {
    Nothing,
    Read(Place),
    Written(Place),
}

/// `None` if that is not known.
fn accessed(op: &Op) -> Option<Accessed> {
    let place = |addr: Addr, size: Size| Place { addr, bytes: size.bytes() };
    match *op {
        Op::Load { size, addr, .. } => Some(Accessed::Read(place(addr, size))),
        Op::Store { size, addr, .. } | Op::AluStore { size, addr, .. } => {
            Some(Accessed::Written(place(addr, size)))
        }
        Op::Fill { addr, bytes, .. } => Some(Accessed::Written(Place { addr, bytes })),
        Op::Atomic { op: AtomicOp::Rmw { .. } | AtomicOp::Xchg | AtomicOp::Cmpxchg, .. } => None,
        Op::ArrayLookup { .. } | Op::Probe { .. } | Op::TailCall { .. } => None,
        _ if op.is_call() || op.is_end() || op.target().is_some() => None,
        _ => match op.addr() {
            // Operands have at most 8 bytes.
            Some(addr) => Some(Accessed::Read(Place { addr, bytes: 8 })),
            None => Some(Accessed::Nothing),
        },
    }
}

/// Replaces the last load and store of a word by those of the word.
fn write(ops: &mut Ops, parts: &[Copy], bytes: u32) {
    let size = match bytes {
        2 => Size::B2,
        4 => Size::B4,
        _ => Size::B8,
    };
    let last = parts.iter().copied().max_by_key(|part| part.load);
    let Some(last) = last else { return };
    for part in parts {
        ops.set(part.load, Op::Nop);
        ops.set(part.store, Op::Nop);
    }
    let (dst, addr) = (last.reg, parts[0].from);
    ops.set(last.load, Op::Load { size, sign: false, big: false, dst, addr });
    ops.set(last.store, Op::Store { size, big: false, addr: parts[0].to, src: Src::Reg(dst) });
}

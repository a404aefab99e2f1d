//! The frame offsets that a function's indexed loads and stores can access: a range analysis
//! through masks, comparisons and loop counters.
//!
//! # Invariants
//! 1. Nothing is taken from the verifier: everything is derived from the ops.
//! 2. If there is a result, no address in the frame escapes from the function's registers.

mod value;

use crate::asm::Width;
use crate::op::{AluOp, Cond, Op, Reg, Src, Test};
use std::collections::BTreeSet;
use std::ops::Range;
pub(super) use value::are_known;
use value::{Bounds, Kind, Limit, State, Value, number};

/// Maximum number of ops of a function, and of visits per op on average.
const OPS_MAX: usize = 4096;
const ROUNDS_MAX: usize = 24;
/// Maximum number of blocks in a counted loop.
const LOOP_MAX: usize = 64;
/// Ranges at a loop head grow step by step this often, before widening.
const EXACT: u32 = 3;

/// The range of an access, in bytes from r10.
pub(super) type Reach = Range<i64>;

/// A basic block. Blocks are numbered in the order of their ops.
#[derive(Default)]
struct Block {
    ops: Range<usize>,
    /// Blocks to which its last op jumps, and which it falls through to.
    jumps: Option<usize>,
    falls: Option<usize>,
    /// Blocks that lead here.
    from: Vec<usize>,
    visits: u32,
    state: Option<State>,
    /// The value from outside of the loop at this head, if the loop is counted.
    entry: Option<State>,
    counted: Option<Counted>,
}

/// A loop with a single comparison at its end that leaves it once a counter reaches a constant.
struct Counted {
    /// Not a constant.
    limit: Limit,
    /// Registers that only one op in the loop writes, an increment by that constant.
    steps: Vec<(Reg, i64)>,
    blocks: Vec<usize>,
}

/// The ops of a function that access its frame, and the range of each; `None` if not all are known.
pub(super) fn reaches(ops: &[Op], range: Range<usize>) -> Option<Vec<(usize, Reach)>> {
    if range.len() > OPS_MAX {
        return None;
    }
    let mut walk = Walk::new(ops, range);
    walk.find_counted();
    walk.grow()?;
    // Ranges that were widened too far are narrowed again by two passes over all blocks.
    if walk.is_widened {
        for _ in 0..2 {
            if !walk.shrink()? {
                break;
            }
        }
    }
    walk.holds()?;
    walk.found()
}

struct Walk<'a> {
    ops: &'a [Op],
    blocks: Vec<Block>,
    is_widened: bool,
}

impl Walk<'_> {
    fn new(ops: &[Op], range: Range<usize>) -> Walk<'_> {
        let mut starts = vec![range.start];
        for at in range.clone() {
            let target = ops[at].target();
            starts.extend(target.map(|to| to as usize));
            if (target.is_some() || ops[at].is_end()) && at + 1 < range.end {
                starts.push(at + 1);
            }
        }
        starts.sort_unstable();
        starts.dedup();
        let mut blocks: Vec<Block> = Vec::with_capacity(starts.len());
        blocks.resize_with(starts.len(), Block::default);
        for (number, start) in starts.iter().enumerate() {
            let end = starts.get(number + 1).copied().unwrap_or(range.end);
            let last = &ops[end - 1];
            let jumps = last.target().and_then(|to| starts.binary_search(&(to as usize)).ok());
            let falls = (!last.is_end() && end < range.end).then_some(number + 1);
            for to in jumps.into_iter().chain(falls) {
                blocks[to].from.push(number);
            }
            let block = &mut blocks[number];
            (block.ops, block.jumps, block.falls) = (*start..end, jumps, falls);
        }
        Walk { ops, blocks, is_widened: false }
    }

    /// The counted loops.
    fn find_counted(&mut self) {
        for head in 0..self.blocks.len() {
            let from = &self.blocks[head].from;
            let mut back = from.iter().copied().filter(|from| *from >= head);
            let (Some(latch), None) = (back.next(), back.next()) else { continue };
            self.blocks[head].counted = self.counted(head, latch);
        }
    }

    fn counted(&self, head: usize, latch: usize) -> Option<Counted> {
        let at = self.blocks[latch].ops.end - 1;
        let Op::Br { test: Test { cond: Cond::Ne, a, b: Src::Imm(limit), .. }, to } = self.ops[at]
        else {
            return None;
        };
        // The blocks that reach the latch without the head.
        let mut blocks = vec![head];
        let mut left = vec![latch];
        while let Some(block) = left.pop() {
            if blocks.len() > LOOP_MAX {
                return None;
            }
            if !blocks.contains(&block) {
                blocks.push(block);
                left.extend(&self.blocks[block].from);
            }
        }
        let first = &self.blocks[head];
        let mut entries = first.from.iter().filter(|from| blocks.contains(from));
        let is_back = to as usize == first.ops.start;
        if !is_back || entries.any(|from| *from != latch) || blocks.contains(&0) {
            return None;
        }
        let ops = || blocks.iter().flat_map(|block| self.blocks[*block].ops.clone());
        // Other backward jumps inside the loop: the ops across them may be executed repeatedly.
        let jump = |at: usize| self.ops[at].target().map(|to| (to as usize, at));
        let inner: Vec<_> = ops().filter_map(jump).filter(|j| j.0 <= j.1 && j.1 != at).collect();
        // By register: the op that writes it, and their number.
        let mut defs = [(0, 0); Reg::COUNT];
        for at in ops() {
            for reg in self.ops[at].defs().iter() {
                let (last, count) = defs[usize::from(reg.0)];
                defs[usize::from(reg.0)] = (at.max(last), count + 1);
            }
        }
        let mut steps = Vec::new();
        for (reg, (def, _)) in (0u8..).zip(defs).filter(|(_, (_, count))| *count == 1) {
            let again = inner.iter().any(|(to, from)| (*to..=*from).contains(&def));
            if let Op::Alu { op: AluOp::Add, src: Src::Imm(by), .. } = self.ops[def]
                && !again
                && by != 0
            {
                steps.push((Reg(reg), i64::from(by)));
            }
        }
        let limit = Limit { reg: a, value: limit.into() };
        Some(Counted { limit, steps, blocks })
    }

    /// All states, until a fixed point.
    fn grow(&mut self) -> Option<()> {
        let mut left = BTreeSet::from([0]);
        self.blocks[0].state = Some(State::new());
        let mut budget =
            ROUNDS_MAX * self.blocks.iter().map(|block| block.ops.len()).sum::<usize>();
        while let Some(number) = left.pop_first() {
            budget = budget.checked_sub(self.blocks[number].ops.len())?;
            for (to, mut state) in self.ways(number)?.into_iter().flatten() {
                let block = &mut self.blocks[to];
                if !arrives(block, number, &mut state) {
                    continue;
                }
                let Some(before) = &block.state else {
                    block.state = Some(state.joined(&state));
                    left.insert(to);
                    continue;
                };
                let mut joined = before.joined(&state);
                if joined != *before {
                    block.visits += u32::from(to <= number);
                    if block.visits > EXACT {
                        joined.widened(before);
                        self.is_widened = true;
                    }
                    block.state = Some(joined);
                    left.insert(to);
                }
            }
        }
        Some(())
    }

    /// Recomputes each state from those of its predecessors; returns whether some changed.
    fn shrink(&mut self) -> Option<bool> {
        let mut states = vec![None; self.blocks.len()];
        states[0] = Some(State::new());
        for number in 0..self.blocks.len() {
            for (to, mut state) in self.ways(number)?.into_iter().flatten() {
                if arrives(&mut self.blocks[to], number, &mut state) {
                    states[to] = Some(states[to].as_ref().unwrap_or(&state).joined(&state));
                }
            }
        }
        let mut changed = false;
        for (block, state) in self.blocks.iter_mut().zip(states) {
            changed |= block.state != state;
            block.state = state;
        }
        Some(changed)
    }

    /// `Some` if each state includes those of all predecessors.
    fn holds(&mut self) -> Option<()> {
        for number in 0..self.blocks.len() {
            for (to, mut state) in self.ways(number)?.into_iter().flatten() {
                let block = &mut self.blocks[to];
                if arrives(block, number, &mut state) {
                    let allowed = block.state.as_ref()?;
                    (allowed.joined(&state) == *allowed).then_some(())?;
                }
            }
        }
        Some(())
    }

    fn found(&self) -> Option<Vec<(usize, Reach)>> {
        let mut found = Vec::new();
        for block in &self.blocks {
            let Some(mut state) = block.state.clone() else { continue };
            for at in block.ops.clone() {
                let op = &self.ops[at];
                if let Some((addr, bytes)) = op.addr().zip(bytes(op)) {
                    let place = state.place(addr)?;
                    if place.kind == Kind::Frame {
                        found.push((at, place.lo..place.hi.checked_add(bytes)?));
                    }
                }
                state.step(op)?;
            }
        }
        Some(found)
    }

    /// The successors of a block, each with the state on that edge; none if it is not reached.
    fn ways(&self, number: usize) -> Option<[Option<(usize, State)>; 2]> {
        let block = &self.blocks[number];
        let Some(mut state) = block.state.clone() else { return Some([None, None]) };
        for op in &self.ops[block.ops.clone()] {
            state.step(op)?;
        }
        let Op::Br { test, .. } = self.ops[block.ops.end - 1] else {
            return Some([block.jumps.or(block.falls).map(|to| (to, state)), None]);
        };
        let opposite = Test { cond: test.cond.negated(), ..test };
        let way = |to: Option<usize>, mut state: State, test| {
            to.filter(|_| meets(&mut state, test)).map(|to| (to, state))
        };
        Some([way(block.jumps, state.clone(), test), way(block.falls, state, opposite)])
    }
}

/// Whether a block is entered from another in that state. At the head of a counted loop, the
/// counter is within its bounds.
fn arrives(block: &mut Block, from: usize, state: &mut State) -> bool {
    let Some(counted) = &block.counted else { return true };
    if !counted.blocks.contains(&from) {
        block.entry = Some(block.entry.as_ref().unwrap_or(state).joined(state));
        return true;
    }
    let Some(entry) = &block.entry else { return true };
    for (reg, by) in &counted.steps {
        let (first, limit) = (entry.of(*reg), state.at_limit(*reg, counted.limit));
        let one = first.lo == first.hi && first.kind == Kind::Number;
        let Some(limit) = limit.filter(|_| one) else { continue };
        if first.lo < 0 || limit < 0 {
            continue;
        }
        let (steps, rest) = ((limit - first.lo) / by, (limit - first.lo) % by);
        if rest == 0 && steps > 0 {
            let last = limit - by;
            let bounds = Bounds { lo: first.lo.min(last), hi: first.lo.max(last) };
            if !state.confine(*reg, bounds) {
                return false;
            }
        }
    }
    true
}

/// Bytes that an op itself accesses.
fn bytes(op: &Op) -> Option<i64> {
    let of = |width: Width| if width == Width::W64 { 8 } else { 4 };
    Some(match *op {
        Op::Load { size, .. }
        | Op::Probe { size, .. }
        | Op::Store { size, .. }
        | Op::AluStore { size, .. } => size.bytes().into(),
        Op::Atomic { width, .. }
        | Op::Mov { width, .. }
        | Op::Alu { width, .. }
        | Op::Div { width, .. }
        | Op::Br { test: Test { width, .. }, .. } => of(width),
        Op::ArrayLookup { .. } => 4,
        _ => return None,
    })
}

/// The state if a test is true; none if it cannot be.
fn meets(state: &mut State, test: Test) -> bool {
    let signed = matches!(test.cond, Cond::SGt | Cond::SGe | Cond::SLt | Cond::SLe);
    let most = if signed { i32::MAX.into() } else { u32::MAX.into() };
    let imm = |imm: i32| match test.width == Width::W64 || signed {
        true => i64::from(imm),
        false => i64::from(imm as u32),
    };
    let (a, b) = (
        state.of(test.a),
        match test.b {
            Src::Imm(value) => number(imm(value), imm(value)),
            Src::Reg(reg) => state.of(reg),
            Src::Mem(_) => return true,
        },
    );
    // For 32 bits, only if the values are the same in 64.
    let fits = |value: &Value| test.width == Width::W64 || value.within(0, most);
    if !fits(&a) || !fits(&b) {
        return true;
    }
    let mut possible = bounds(test.cond, a, b).is_none_or(|to| state.confine(test.a, to));
    if let Src::Reg(reg) = test.b {
        let to = bounds(test.cond.turned(), b, a);
        possible &= to.is_none_or(|to| state.confine(reg, to));
    }
    possible
}

/// The range of `a` if `a cond b`.
fn bounds(cond: Cond, a: Value, b: Value) -> Option<Bounds> {
    let plain = a.lo >= 0;
    let (from, to) = (b.lo.saturating_add(1), b.hi.saturating_sub(1));
    let (lo, hi) = match cond {
        Cond::Eq => (b.lo, b.hi),
        Cond::Ne if b.lo == b.hi && a.lo == b.lo => (from, i64::MAX),
        Cond::Ne if b.lo == b.hi && a.hi == b.hi => (i64::MIN, to),
        Cond::Lt if b.lo >= 0 => (0, to),
        Cond::Le if b.lo >= 0 => (0, b.hi),
        Cond::Gt if plain && b.lo >= 0 => (from, i64::MAX),
        Cond::Ge if plain && b.lo >= 0 => (b.lo, i64::MAX),
        Cond::SLt => (i64::MIN, to),
        Cond::SLe => (i64::MIN, b.hi),
        Cond::SGt => (from, i64::MAX),
        Cond::SGe => (b.lo, i64::MAX),
        _ => return None,
    };
    Some(Bounds { lo, hi })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{Addr, ShiftOp, Size, Space};

    const AT: Reg = Reg::R1;

    fn alu(op: AluOp, src: i32) -> Op {
        Op::Alu { op, width: Width::W64, dst: AT, src: Src::Imm(src) }
    }

    /// A word in the array at `r10 - 64`.
    fn word() -> Op {
        let addr = Addr { index: Some((AT, 2)), ..Addr::new(Reg::FP, -64, Space::Own) };
        Op::Load { size: Size::B4, sign: false, big: false, dst: Reg::R2, addr }
    }

    fn br(cond: Cond, width: Width, imm: i32, to: u32) -> Op {
        Op::Br { test: Test { cond, width, a: AT, b: Src::Imm(imm) }, to }
    }

    fn reach(ops: &[Op]) -> Option<Reach> {
        let at = ops.iter().position(|op| *op == word()).expect("an access");
        let found = reaches(ops, 0..ops.len())?;
        found.into_iter().find(|(op, _)| *op == at).map(|(_, reach)| reach)
    }

    #[test]
    fn masks_comparisons_and_counters_bound_an_index() {
        let (w32, w64) = (Width::W32, Width::W64);
        let zero = Op::LdImm { dst: AT, value: 0 };
        let nop = Op::Nop;
        let shift = Op::Shift { op: ShiftOp::Shr, width: w32, dst: AT, src: AT, by: Src::Imm(28) };
        let counts = |end: Op| [zero, word(), alu(AluOp::Add, 1), end, Op::Exit];
        let steps = [zero, word(), alu(AluOp::Add, 3), br(Cond::Ne, w64, 10, 1), Op::Exit];
        let back = [
            Op::LdImm { dst: AT, value: 15 },
            word(),
            alu(AluOp::Add, -1),
            br(Cond::Ne, w64, 0, 1),
            Op::Exit,
        ];
        let cases: [(Vec<Op>, Option<Reach>); 10] = [
            (vec![alu(AluOp::And, 7), word(), Op::Exit], Some(-64..-32)),
            (vec![shift, word(), Op::Exit], Some(-64..0)),
            (vec![br(Cond::Gt, w64, 7, 2), word(), Op::Exit], Some(-64..-32)),
            // Nothing is known about the upper half, or about possibly negative values.
            (vec![br(Cond::Gt, w32, 7, 2), word(), Op::Exit], None),
            (vec![br(Cond::SGt, w64, 7, 2), word(), Op::Exit], None),
            (vec![nop, word(), Op::Exit], None),
            (counts(br(Cond::Lt, w64, 16, 1)).to_vec(), Some(-64..0)),
            (counts(br(Cond::Ne, w32, 16, 1)).to_vec(), Some(-64..0)),
            // Unreachable.
            (steps.to_vec(), None),
            (back.to_vec(), Some(-60..0)),
        ];
        for (ops, expected) in cases {
            assert_eq!(reach(&ops), expected, "{ops:?}");
        }
    }

    /// A counter that is incremented twice in some iterations, or in an inner loop, may pass the
    /// end.
    #[test]
    fn a_counter_that_may_pass_the_end_is_none() {
        let zero = Op::LdImm { dst: AT, value: 0 };
        let skip = |to| Op::Br {
            test: Test { cond: Cond::Eq, width: Width::W64, a: Reg::R3, b: Src::Imm(1) },
            to,
        };
        let end = br(Cond::Ne, Width::W64, 16, 1);
        let one = alu(AluOp::Add, 1);
        assert_eq!(reach(&[zero, word(), one, skip(5), one, end, Op::Exit]), None);
        assert_eq!(reach(&[zero, word(), one, skip(2), end, Op::Exit]), None);
        // The counter is incremented once or not at all.
        assert_eq!(reach(&[zero, word(), skip(4), one, end, Op::Exit]), Some(-64..0));
    }

    #[test]
    fn an_address_that_gets_away_ends_it() {
        let fp = Op::Mov { width: Width::W64, dst: Reg::R2, src: Src::Reg(Reg::FP) };
        let call = Op::Call { helper: 1, map: None };
        let kept = Op::Mov { width: Width::W64, dst: Reg(6), src: Src::Reg(Reg::FP) };
        assert_eq!(reaches(&[kept, call, Op::Exit], 0..3), Some(Vec::new()));
        assert_eq!(reaches(&[fp, call, Op::Exit], 0..3), None);
        let addr = Addr::new(Reg::R1, 0, Space::Shared);
        let src = Src::Reg(Reg::R2);
        let store = Op::Store { size: Size::B8, big: false, addr, src };
        assert_eq!(reaches(&[fp, store, Op::Exit], 0..3), None);
        let half = Op::Mov { width: Width::W32, dst: Reg::R3, src };
        assert_eq!(reaches(&[fp, half, Op::Exit], 0..3), None);
    }
}

//! The frame offsets that a function's indexed loads and stores can access: a range analysis
//! through masks, comparisons and loop counters.
//!
//! # Invariants
//! 1. Nothing is taken from the verifier: everything is derived from the ops.
//! 2. If there is a result, no address in the frame escapes from the function's registers.

mod value;

use crate::asm::Width;
use crate::op::{AluOp, Cond, Op, Reg, Src, Test};
use std::collections::BTreeMap;
use std::ops::Range;
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

/// A basic block.
#[derive(Default)]
struct Block {
    end: usize,
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
    /// By register: the increment made by the only op in the loop that writes it.
    steps: BTreeMap<u8, i64>,
    /// Starts of its blocks.
    blocks: Vec<usize>,
}

/// The range of each op of a function that accesses its frame; `None` if not all are known.
pub(super) fn reaches(ops: &[Op], range: Range<usize>) -> Option<BTreeMap<usize, Reach>> {
    if range.len() > OPS_MAX {
        return None;
    }
    let mut walk = Walk::new(ops, range);
    walk.find_counted();
    walk.grow()?;
    // Ranges that were widened too far are narrowed again by two passes over all blocks.
    for _ in 0..2 {
        walk.shrink()?;
    }
    walk.holds()?;
    walk.found()
}

struct Walk<'a> {
    ops: &'a [Op],
    start: usize,
    /// By first op.
    blocks: BTreeMap<usize, Block>,
}

impl Walk<'_> {
    fn new(ops: &[Op], range: Range<usize>) -> Walk<'_> {
        let mut blocks = BTreeMap::from([(range.start, Block::default())]);
        for at in range.clone() {
            if let Some(to) = ops[at].target() {
                blocks.entry(to as usize).or_default();
            }
            if (ops[at].target().is_some() || ops[at].is_end()) && at + 1 < range.end {
                blocks.entry(at + 1).or_default();
            }
        }
        let starts: Vec<usize> = blocks.keys().copied().collect();
        for (number, start) in starts.iter().enumerate() {
            let end = starts.get(number + 1).copied().unwrap_or(range.end);
            if let Some(block) = blocks.get_mut(start) {
                block.end = end;
            }
            let last = &ops[end - 1];
            let next = (!last.is_end() && end < range.end).then_some(end);
            for to in last.target().map(|to| to as usize).into_iter().chain(next) {
                if let Some(to) = blocks.get_mut(&to) {
                    to.from.push(*start);
                }
            }
        }
        Walk { ops, start: range.start, blocks }
    }

    /// The counted loops.
    fn find_counted(&mut self) {
        let heads: Vec<usize> = self.blocks.keys().copied().collect();
        for head in heads {
            let from = &self.blocks[&head].from;
            let mut back = from.iter().copied().filter(|from| *from >= head);
            let (Some(latch), None) = (back.next(), back.next()) else { continue };
            let Some(counted) = self.counted(head, latch) else { continue };
            if let Some(block) = self.blocks.get_mut(&head) {
                block.counted = Some(counted);
            }
        }
    }

    fn counted(&self, head: usize, latch: usize) -> Option<Counted> {
        let at = self.blocks.get(&latch)?.end - 1;
        let Op::Br { test: Test { cond: Cond::Ne, a, b: Src::Imm(limit), .. }, to } = self.ops[at]
        else {
            return None;
        };
        // The blocks that reach the latch without the head.
        let mut blocks = vec![head];
        let mut left = vec![latch];
        while let Some(start) = left.pop() {
            if blocks.len() > LOOP_MAX {
                return None;
            }
            if !blocks.contains(&start) {
                blocks.push(start);
                left.extend(&self.blocks.get(&start)?.from);
            }
        }
        let mut entries = self.blocks[&head].from.iter().filter(|from| blocks.contains(from));
        if to as usize != head || entries.any(|from| *from != latch) || blocks.contains(&self.start)
        {
            return None;
        }
        let ops = || blocks.iter().flat_map(|start| *start..self.blocks[start].end);
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
        let mut steps = BTreeMap::new();
        for (reg, (def, _)) in (0u8..).zip(defs).filter(|(_, (_, count))| *count == 1) {
            let again = inner.iter().any(|(to, from)| (*to..=*from).contains(&def));
            if let Op::Alu { op: AluOp::Add, src: Src::Imm(by), .. } = self.ops[def]
                && !again
                && by != 0
            {
                steps.insert(reg, i64::from(by));
            }
        }
        let limit = Limit { reg: a, value: limit.into() };
        Some(Counted { limit, steps, blocks })
    }

    /// All states, until a fixed point.
    fn grow(&mut self) -> Option<()> {
        let mut left = std::collections::BTreeSet::from([self.start]);
        self.blocks.get_mut(&self.start)?.state = Some(State::new());
        let mut budget = ROUNDS_MAX * (self.blocks.values().map(|b| b.end).max()? - self.start);
        while let Some(start) = left.pop_first() {
            let block = self.blocks.get(&start)?;
            budget = budget.checked_sub(block.end - start)?;
            for (to, state) in self.ways(start, block.state.clone()?)? {
                let is_back = to <= start;
                let block = self.blocks.get_mut(&to)?;
                let Some(state) = arriving(block, start, state) else { continue };
                let Some(before) = &block.state else {
                    block.state = Some(state.joined(&state));
                    left.insert(to);
                    continue;
                };
                let mut joined = before.joined(&state);
                if joined != *before {
                    block.visits += u32::from(is_back);
                    if block.visits > EXACT {
                        joined.widened(before);
                    }
                    block.state = Some(joined);
                    left.insert(to);
                }
            }
        }
        Some(())
    }

    /// Recomputes each state from those of its predecessors.
    fn shrink(&mut self) -> Option<()> {
        let starts: Vec<usize> = self.blocks.keys().copied().collect();
        let mut states = BTreeMap::from([(self.start, State::new())]);
        for start in starts {
            let Some(state) = self.blocks.get(&start)?.state.clone() else { continue };
            for (to, state) in self.ways(start, state)? {
                let Some(state) = arriving(self.blocks.get_mut(&to)?, start, state) else {
                    continue;
                };
                let state = states.get(&to).map_or(state.joined(&state), |s| s.joined(&state));
                states.insert(to, state);
            }
        }
        for (start, block) in &mut self.blocks {
            block.state = states.remove(start);
        }
        Some(())
    }

    /// `Some` if each state includes those of all predecessors.
    fn holds(&mut self) -> Option<()> {
        let starts: Vec<usize> = self.blocks.keys().copied().collect();
        for start in starts {
            let Some(state) = self.blocks.get(&start)?.state.clone() else { continue };
            for (to, state) in self.ways(start, state)? {
                let block = self.blocks.get_mut(&to)?;
                if let Some(state) = arriving(block, start, state) {
                    let allowed = block.state.as_ref()?;
                    (allowed.joined(&state) == *allowed).then_some(())?;
                }
            }
        }
        Some(())
    }

    fn found(&self) -> Option<BTreeMap<usize, Reach>> {
        let mut found = BTreeMap::new();
        for (start, block) in &self.blocks {
            let Some(mut state) = block.state.clone() else { continue };
            for at in *start..block.end {
                let op = &self.ops[at];
                if let Some((addr, bytes)) = op.addr().zip(bytes(op)) {
                    let place = state.place(addr)?;
                    if place.kind == Kind::Frame {
                        found.insert(at, place.lo..place.hi.checked_add(bytes)?);
                    }
                }
                state.step(op)?;
            }
        }
        Some(found)
    }

    /// The successors, each with the state on that edge.
    fn ways(&self, start: usize, mut state: State) -> Option<Vec<(usize, State)>> {
        let end = self.blocks.get(&start)?.end;
        for op in &self.ops[start..end] {
            state.step(op)?;
        }
        let last = &self.ops[end - 1];
        let mut ways = Vec::new();
        match *last {
            Op::Br { test, to } => {
                let opposite = Test { cond: test.cond.negated(), ..test };
                for (test, to) in [(test, to as usize), (opposite, end)] {
                    let mut state = state.clone();
                    if meets(&mut state, test) {
                        ways.push((to, state));
                    }
                }
            }
            Op::Jmp { to } => ways.push((to as usize, state)),
            _ if last.is_end() => {}
            _ => ways.push((end, state)),
        }
        Some(ways)
    }
}

/// At the head of a counted loop, the counter is within its bounds.
fn arriving(block: &mut Block, from: usize, mut state: State) -> Option<State> {
    let Some(counted) = &block.counted else { return Some(state) };
    if !counted.blocks.contains(&from) {
        block.entry = Some(block.entry.as_ref().map_or(state.joined(&state), |e| e.joined(&state)));
        return Some(state);
    }
    let Some(entry) = &block.entry else { return Some(state) };
    for (reg, by) in &counted.steps {
        let reg = Reg(*reg);
        let (first, limit) = (entry.of(reg), state.at_limit(reg, counted.limit));
        let one = first.lo == first.hi && first.kind == Kind::Number;
        let Some(limit) = limit.filter(|_| one) else { continue };
        if first.lo < 0 || limit < 0 {
            continue;
        }
        let (steps, rest) = ((limit - first.lo) / by, (limit - first.lo) % by);
        if rest == 0 && steps > 0 {
            let last = limit - by;
            if !state.confine(reg, Bounds { lo: first.lo.min(last), hi: first.lo.max(last) }) {
                return None;
            }
        }
    }
    Some(state)
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
        reaches(ops, 0..ops.len()).map(|found| found[&at].clone())
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
        assert_eq!(reaches(&[kept, call, Op::Exit], 0..3), Some(BTreeMap::new()));
        assert_eq!(reaches(&[fp, call, Op::Exit], 0..3), None);
        let addr = Addr::new(Reg::R1, 0, Space::Shared);
        let src = Src::Reg(Reg::R2);
        let store = Op::Store { size: Size::B8, big: false, addr, src };
        assert_eq!(reaches(&[fp, store, Op::Exit], 0..3), None);
        let half = Op::Mov { width: Width::W32, dst: Reg::R3, src };
        assert_eq!(reaches(&[fp, half, Op::Exit], 0..3), None);
    }
}

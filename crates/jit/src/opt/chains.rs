//! Reassociation by latency: in `x += y; z += x`, where `y` is the sum of the previous iteration,
//! `z += x; z += y` waits for `y` only once. For all associative and commutative operations.
//!
//! # Invariants
//! 1. Within a block. Ops between the two move up by one, in order; none of them is a call or an
//!    atomic.
//! 2. No op is added, and no additional register is written.

use crate::asm::Width;
use crate::flow::Flow;
use crate::op::{Addr, AluOp, Op, Reg, RegSet, Src};
use crate::ops::{Effect, Ops};

/// Latencies of operations that take longer than one cycle.
const LOAD: u32 = 4;
const MUL: u32 = 3;
const DIV: u32 = 12;

/// `of op with`, in one register.
#[derive(Clone, Copy)]
struct Pair {
    op: AluOp,
    width: Width,
    dst: Reg,
    parts: [Src; 2],
}

/// The op that computed a register, if the register has not been read since and the operands are
/// unchanged.
#[derive(Clone, Copy)]
struct Link {
    at: usize,
    pair: Pair,
    /// When its operands were available.
    ready: [u32; 2],
    /// The register and its operands.
    regs: RegSet,
}

/// Two ops, where the second one combines the result of the first with one more operand.
#[derive(Clone, Copy)]
struct Chain {
    link: Link,
    pair: Pair,
    other: Src,
}

/// The state while processing a block.
struct Chains<'a> {
    flow: &'a Flow,
    /// By register: when its value is available.
    ready: [u32; Reg::COUNT],
    links: [Option<Link>; Reg::COUNT],
    /// Registers that may have a link.
    linked: RegSet,
}

/// Whether something changed.
pub(super) fn run(ops: &mut Ops, flow: &Flow) -> bool {
    let mut changed = false;
    let mut start = 0;
    let mut made = Made::default();
    for end in 1..=ops.len() {
        let last = ops.effect(end - 1);
        if let Some(pair) = pair(&ops[end - 1]) {
            made.note(&pair);
        }
        if end == ops.len() || flow.is_target[end] || last.ends || last.jumps {
            if made.is_read {
                changed |= block(ops, start..end, flow);
            }
            (start, made) = (end, Made::default());
        }
    }
    changed
}

/// The registers that a block's pairs have written.
#[derive(Default)]
struct Made {
    /// By operation and width.
    regs: [RegSet; 16],
    /// Whether one of them is an operand of such a pair: otherwise there is no chain.
    is_read: bool,
}

impl Made {
    fn note(&mut self, pair: &Pair) {
        let regs = &mut self.regs[2 * (pair.op as usize) + usize::from(pair.width == Width::W64)];
        self.is_read |= pair.parts.iter().any(|part| part.uses().meets(*regs));
        *regs = regs.with(pair.dst);
    }
}

fn block(ops: &mut Ops, range: std::ops::Range<usize>, flow: &Flow) -> bool {
    let mut changed = false;
    let ready = if flow.loop_depth[range.start] > 0 {
        carried(&ops[range.clone()], &ops.effects()[range.clone()])
    } else {
        [0; 16]
    };
    let mut chains = Chains { flow, ready, links: [None; Reg::COUNT], linked: RegSet::NONE };
    for at in range {
        changed |= chains.reorder(ops, at);
        chains.step(at, &ops[at], ops.effect(at));
    }
    changed
}

/// When the loop-carried registers are available, if all others are available at 0.
fn carried(ops: &[Op], effects: &[Effect]) -> [u32; Reg::COUNT] {
    let (mut ready, mut read, mut written) = ([0; Reg::COUNT], RegSet::NONE, RegSet::NONE);
    for (op, effect) in ops.iter().zip(effects) {
        read = read.or(effect.uses.minus(written));
        written = written.or(effect.defs);
        let done = done(op, *effect, &ready);
        effect.defs.iter().for_each(|reg| ready[usize::from(reg.0)] = done);
    }
    for reg in (0..Reg::COUNT as u8).map(Reg) {
        if !read.has(reg) || !written.has(reg) {
            ready[usize::from(reg.0)] = 0;
        }
    }
    ready
}

/// When the result of an op is available.
fn done(op: &Op, effect: Effect, ready: &[u32; Reg::COUNT]) -> u32 {
    let since = effect.uses.iter().map(|reg| ready[usize::from(reg.0)]).max().unwrap_or(0);
    since
        + match op {
            Op::Load { .. } => LOAD,
            Op::Alu { op: AluOp::Mul, .. } => MUL,
            Op::Alu { src: Src::Mem(_), .. } => LOAD + 1,
            Op::Div { .. } => DIV,
            Op::Mov { src: Src::Reg(_), width: Width::W64, .. } => 0,
            _ => 1,
        }
}

fn pair(op: &Op) -> Option<Pair> {
    let (op, width, dst, parts) = match *op {
        Op::Alu { op, width, dst, src } if !matches!(op, AluOp::Sub | AluOp::Mul) => {
            (op, width, dst, [Src::Reg(dst), src])
        }
        Op::Lea { width, dst, addr: Addr { base, index: Some((index, 0)), disp: 0, .. } } => {
            (AluOp::Add, width, dst, [Src::Reg(base), Src::Reg(index)])
        }
        Op::Lea { width, dst, addr: Addr { base, index: None, disp, .. } } => {
            (AluOp::Add, width, dst, [Src::Reg(base), Src::Imm(disp)])
        }
        _ => return None,
    };
    let plain = |src: &Src| !matches!(src, Src::Mem(_) | Src::Reg(Reg::FP));
    parts.iter().all(plain).then_some(Pair { op, width, dst, parts })
}

impl Pair {
    fn alu(&self, dst: Reg, src: Src) -> Op {
        Op::Alu { op: self.op, width: self.width, dst, src }
    }

    /// `dst = a op b`, where one of them may be in `dst`.
    fn joined(&self, dst: Reg, a: Src, b: Src) -> Option<Op> {
        let addr = match (a, b) {
            _ if a == Src::Reg(dst) => return Some(self.alu(dst, b)),
            _ if b == Src::Reg(dst) => return Some(self.alu(dst, a)),
            (Src::Reg(a), Src::Reg(b)) => Addr::sum(a, Some((b, 0)), 0),
            (Src::Reg(reg), Src::Imm(imm)) | (Src::Imm(imm), Src::Reg(reg)) => {
                Addr::sum(reg, None, imm)
            }
            _ => return None,
        };
        (self.op == AluOp::Add).then_some(Op::Lea { width: self.width, dst, addr })
    }
}

impl Chains<'_> {
    fn ready(&self, src: Src) -> u32 {
        src.uses().iter().map(|reg| self.ready[usize::from(reg.0)]).max().unwrap_or(0)
    }

    /// Combines the operands of the op at `at` and of the op that computed one of them, in another
    /// order.
    fn reorder(&mut self, ops: &mut Ops, at: usize) -> bool {
        let Some(pair) = pair(&ops[at]) else { return false };
        let [a, b] = pair.parts;
        [(a, b), (b, a)].into_iter().any(|(made, other)| {
            let Src::Reg(made) = made else { return false };
            let Some(link) = self.links[usize::from(made.0)] else { return false };
            let same = (link.pair.op, link.pair.width) == (pair.op, pair.width);
            let gone = made == pair.dst || self.flow.is_dead_after(at, made);
            same && gone
                && other != Src::Reg(made)
                && self.reordered(ops, at, Chain { link, pair, other }).is_some()
        })
    }

    fn reordered(&mut self, ops: &mut Ops, at: usize, chain: Chain) -> Option<()> {
        let Chain { link, pair, other } = chain;
        let late = usize::from(link.ready[1] > link.ready[0]);
        let (early_at, late_at) = (link.ready[1 - late], link.ready[late]);
        let (early, late) = (link.pair.parts[1 - late], link.pair.parts[late]);
        let other_at = self.ready(other);
        let before = (late_at + 1).max(other_at) + 1;
        let after = ((early_at.max(other_at)) + 1).max(late_at) + 1;
        if after >= before {
            return None;
        }
        let dead = |src: Src| match src {
            Src::Reg(reg) => Some(reg).filter(|reg| self.flow.is_dead_after(at, *reg)),
            _ => None,
        };
        let dst = pair.dst;
        let [first, second] = match late == Src::Reg(dst) {
            false => [pair.joined(dst, early, other)?, pair.alu(dst, late)],
            true => {
                let room = dead(other).or(dead(early)).filter(|reg| *reg != dst)?;
                [pair.joined(room, early, other)?, pair.alu(dst, Src::Reg(room))]
            }
        };
        // The operand that was overwritten is available again.
        if let Some(kept) = link.pair.parts.iter().position(|src| *src == Src::Reg(link.pair.dst)) {
            self.ready[usize::from(link.pair.dst.0)] = link.ready[kept];
        }
        self.links[usize::from(link.pair.dst.0)] = None;
        ops.copy_within(link.at + 1..at, link.at);
        for moved in self.links.iter_mut().flatten().filter(|moved| moved.at > link.at) {
            moved.at -= 1;
        }
        ops.set(at - 1, first);
        ops.set(at, second);
        self.step(at - 1, &first, ops.effect(at - 1));
        Some(())
    }

    /// Records the effect of an op.
    fn step(&mut self, at: usize, op: &Op, effect: Effect) {
        let made = pair(op);
        let done = done(op, effect, &self.ready);
        let ready = made.map(|pair| pair.parts.map(|part| self.ready(part)));
        let Effect { uses, defs, .. } = effect;
        let all = op.is_call() || matches!(op, Op::Atomic { .. } | Op::TailCall { .. });
        for reg in self.linked.iter() {
            let link = &mut self.links[usize::from(reg.0)];
            let is_lost = |link: &Link| all || uses.has(reg) || link.regs.meets(defs);
            if link.as_ref().is_none_or(is_lost) {
                *link = None;
                self.linked = self.linked.minus(RegSet::of(&[reg]));
            }
        }
        for reg in defs.iter() {
            self.ready[usize::from(reg.0)] = done;
        }
        if let (Some(pair), Some(ready)) = (made, ready) {
            let regs = pair.parts.iter().fold(defs, |set, part| set.or(part.uses()));
            self.links[usize::from(pair.dst.0)] = Some(Link { at, pair, ready, regs });
            self.linked = self.linked.with(pair.dst);
        }
    }
}

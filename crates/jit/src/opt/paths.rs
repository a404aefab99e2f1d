//! The basic blocks of a function: successors, loops, and estimated execution frequencies.
//!
//! This does not affect behaviour: wrong estimates only cost speed.

use crate::op::{Cond, Op, Src};
use std::ops::Range;

/// Maximum number of ops of a function.
const OPS_MAX: usize = 4096;
/// Assumed trip count of a loop, and probability that a jump that could leave it does not.
const ROUNDS: f32 = 16.0;
const STAYS: f32 = 15.0 / 16.0;
/// Probability that two values are equal.
const EQUAL: f32 = 0.375;

/// A basic block.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) ops: Range<usize>,
    /// Successors with their probabilities: first the fall-through, then the jump target.
    pub(crate) next: [Option<(usize, f32)>; 2],
    /// Executions per execution of the function.
    pub(crate) runs: f32,
    /// Enclosing loops: where they are in [`Paths::inside`].
    loops: Range<u32>,
}

/// A loop.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    pub(crate) head: usize,
    /// In order.
    pub(crate) blocks: Vec<usize>,
}

/// A function.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    pub(crate) blocks: Vec<Block>,
    pub(crate) rounds: Vec<Round>,
    /// Loops by block, the innermost first.
    inside: Vec<usize>,
}

impl Paths {
    /// `whole`: ranges of ops, in order, that must stay contiguous, such as unrolled loops. `None`
    /// for a function without loops, or one that is too long.
    pub(crate) fn new(ops: &[Op], func: Range<usize>, whole: &[Range<usize>]) -> Option<Paths> {
        let is_back = |at: usize| ops[at].target().is_some_and(|to| to as usize <= at);
        if func.len() > OPS_MAX || !func.clone().any(is_back) {
            return None;
        }
        let mut paths = Paths { blocks: blocks(ops, func, whole), ..Paths::default() };
        let (order, back) = paths.walk();
        if back.is_empty() {
            return None;
        }
        paths.find_rounds(&back);
        paths.guess(ops);
        paths.run(&order);
        Some(paths)
    }

    /// The innermost loop around an op.
    pub(crate) fn innermost(&self, at: usize) -> Option<&Round> {
        let block = self.blocks.partition_point(|block| block.ops.end <= at);
        let number = *self.loops(self.blocks.get(block)?).first()?;
        let round = &self.rounds[number];
        let alone = |block: &usize| self.loops(&self.blocks[*block]).first() == Some(&number);
        round.blocks.iter().all(alone).then_some(round)
    }

    /// The loops around a block, the innermost first.
    pub(crate) fn loops(&self, block: &Block) -> &[usize] {
        &self.inside[block.loops.start as usize..block.loops.end as usize]
    }

    fn nexts(&self, block: usize) -> impl Iterator<Item = usize> + use<> {
        self.blocks[block].next.into_iter().flatten().map(|(next, _)| next)
    }

    /// Blocks in an order in which each follows its predecessors, and the back-edges in it.
    fn walk(&self) -> (Vec<usize>, Vec<(usize, usize)>) {
        let (mut open, mut done) = (vec![false; self.blocks.len()], vec![false; self.blocks.len()]);
        let (mut order, mut back) = (Vec::new(), Vec::new());
        let mut path = vec![(0, self.blocks[0].next.into_iter().flatten())];
        open[0] = true;
        while let Some((block, nexts)) = path.last_mut() {
            let block = *block;
            match nexts.next() {
                Some((next, _)) if open[next] => back.push((block, next)),
                Some((next, _)) if !done[next] => {
                    open[next] = true;
                    path.push((next, self.blocks[next].next.into_iter().flatten()));
                }
                Some(_) => {}
                None => {
                    (open[block], done[block]) = (false, true);
                    order.push(block);
                    path.pop();
                }
            }
        }
        order.reverse();
        (order, back)
    }

    /// For each target of a back-edge, the blocks that reach those jumps without it.
    fn find_rounds(&mut self, back: &[(usize, usize)]) {
        let mut edges: Vec<(usize, usize)> = Vec::with_capacity(2 * self.blocks.len());
        for block in 0..self.blocks.len() {
            edges.extend(self.nexts(block).map(|next| (next, block)));
        }
        edges.sort_unstable();
        let mut heads: Vec<usize> = back.iter().map(|(_, head)| *head).collect();
        heads.sort_unstable();
        heads.dedup();
        for head in heads {
            let mut inside = vec![false; self.blocks.len()];
            inside[head] = true;
            let ends = back.iter().filter(|(_, to)| *to == head).map(|(end, _)| *end);
            let mut left: Vec<usize> = ends.collect();
            while let Some(block) = left.pop() {
                if !std::mem::replace(&mut inside[block], true) {
                    let first = edges.partition_point(|(to, _)| *to < block);
                    let into = edges[first..].iter().take_while(|(to, _)| *to == block);
                    left.extend(into.map(|(_, from)| *from));
                }
            }
            let blocks: Vec<usize> = (0..inside.len()).filter(|block| inside[*block]).collect();
            self.rounds.push(Round { head, blocks });
        }
        self.rounds.sort_by_key(|round| round.blocks.len());
        let blocks = || self.rounds.iter().flat_map(|round| &round.blocks);
        blocks().for_each(|block| self.blocks[*block].loops.end += 1);
        let mut start = 0;
        for block in &mut self.blocks {
            let count = block.loops.end;
            block.loops = start..start;
            start += count;
        }
        self.inside.resize(start as usize, 0);
        for (number, round) in self.rounds.iter().enumerate() {
            for block in &round.blocks {
                let loops = &mut self.blocks[*block].loops;
                self.inside[loops.end as usize] = number;
                loops.end += 1;
            }
        }
    }

    /// The probability of each edge.
    fn guess(&mut self, ops: &[Op]) {
        for number in 0..self.blocks.len() {
            let block = &self.blocks[number];
            let [Some((behind, _)), Some((there, _))] = block.next else { continue };
            let stays = |to: usize| {
                let first = self.loops(block).first();
                first.is_some_and(|round| self.loops(&self.blocks[to]).contains(round))
            };
            let jumps = match (stays(behind), stays(there)) {
                (true, false) => 1.0 - STAYS,
                (false, true) => STAYS,
                _ => match ops[block.ops.end - 1] {
                    Op::Br { test, .. } => likely(test.cond, test.b),
                    _ => 0.5,
                },
            };
            self.blocks[number].next = [Some((behind, 1.0 - jumps)), Some((there, jumps))];
        }
    }

    /// The frequency of each block.
    fn run(&mut self, order: &[usize]) {
        let mut heads = vec![false; self.blocks.len()];
        self.rounds.iter().for_each(|round| heads[round.head] = true);
        let mut places = vec![usize::MAX; self.blocks.len()];
        order.iter().enumerate().for_each(|(at, block)| places[*block] = at);
        self.blocks[0].runs = 1.0;
        for block in order {
            if heads[*block] {
                self.blocks[*block].runs *= ROUNDS;
            }
            let runs = self.blocks[*block].runs;
            for (next, likely) in self.blocks[*block].next.into_iter().flatten() {
                if places[next] > places[*block] {
                    self.blocks[next].runs += runs * likely;
                }
            }
        }
    }
}

/// The probability that a jump is taken that leaves no loop.
fn likely(cond: Cond, with: Src) -> f32 {
    match (cond, with) {
        (Cond::Eq | Cond::NotSet, _) => EQUAL,
        (Cond::Ne | Cond::Set, _) => 1.0 - EQUAL,
        (Cond::SLt, Src::Imm(0)) => EQUAL,
        (Cond::SGe, Src::Imm(0)) => 1.0 - EQUAL,
        _ => 0.5,
    }
}

fn blocks(ops: &[Op], func: Range<usize>, whole: &[Range<usize>]) -> Vec<Block> {
    let mut starts = vec![false; func.len() + 1];
    starts[0] = true;
    for at in func.clone() {
        if let Some(to) = ops[at].target() {
            starts[to as usize - func.start] = true;
        }
        if ops[at].target().is_some() || ops[at].is_end() {
            starts[at + 1 - func.start] = true;
        }
    }
    for part in whole.iter().filter(|part| func.contains(&part.start)) {
        starts[part.start + 1 - func.start..part.end - func.start].fill(false);
    }
    starts[func.len()] = false;
    let starts: Vec<usize> = func.clone().filter(|at| starts[at - func.start]).collect();
    let ends = starts.iter().skip(1).copied().chain([func.end]);
    let number = |at: usize| starts.binary_search(&at).ok();
    let block = |(start, end): (usize, usize)| {
        let last = &ops[end - 1];
        let behind = (!last.is_end() && end < func.end).then(|| number(end)).flatten();
        let there =
            last.target().and_then(|to| number(to as usize)).filter(|to| Some(*to) != behind);
        let one = |to: Option<usize>| to.map(|to| (to, 1.0));
        Block { ops: start..end, next: [one(behind), one(there)], runs: 0.0, loops: 0..0 }
    };
    starts.iter().copied().zip(ends).map(block).collect()
}

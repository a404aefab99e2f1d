//! Block placement: the likely successor of a block is placed after it, so that fewer jumps are
//! taken. Compilers for BPF do not optimise the order for any processor.
//!
//! The ops are not moved; the emitter emits blocks in another order, inverts conditions, and adds
//! jumps where a block is no longer followed by its successor. Not with fuel, which is counted at
//! each backward jump.
//!
//! # Invariants
//! 1. A function still starts with its first block, and all of its code is contiguous.

use super::paths::{Block, Paths};
use super::unroll::Loop;
use crate::flow::Func;
use crate::op::Op;
use std::ops::Range;

/// Maximum relative frequency of a rare block, which is moved out of line.
const RARE: f32 = 1.0 / 3.0;

/// The order in which the ranges of a function's ops are emitted; `None` if it is unchanged.
pub(crate) fn plan(ops: &[Op], func: &Func, loops: &[Loop]) -> Option<Layout> {
    let range = func.start as usize..func.end as usize;
    // An unrolled loop has several exits, but must stay contiguous.
    let first = loops.partition_point(|looped| looped.rounds.head < range.start);
    let last = loops.partition_point(|looped| looped.rounds.head < range.end);
    let whole: Vec<Range<usize>> = loops[first..last]
        .iter()
        .map(|looped| looped.rounds.head..looped.rounds.latch + 1)
        .collect();
    let paths = Paths::new(ops, range, &whole)?;
    if paths.blocks.len() < 3 {
        return None;
    }
    let order = order(&paths);
    let heads = heads(&paths);
    Some(Layout {
        order: order.iter().map(|block| paths.blocks[*block].ops.clone()).collect(),
        heads,
    })
}

/// Placement of ops.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    /// All ops of the function.
    pub(crate) order: Vec<Range<usize>>,
    /// Ops that are aligned, sorted.
    pub(crate) heads: Vec<usize>,
}

/// Blocks joined to chains by their most likely successors.
struct Chains {
    /// By block: the next one of its chain.
    next: Vec<Option<usize>>,
    /// By first block of a chain: its last, and the other way round.
    last: Vec<usize>,
    first: Vec<usize>,
    /// Blocks that are not the first of a chain.
    joined: Vec<bool>,
}

impl Chains {
    fn new(count: usize) -> Chains {
        let each: Vec<usize> = (0..count).collect();
        let (next, joined) = (vec![None; count], vec![false; count]);
        Chains { next, last: each.clone(), first: each, joined }
    }

    fn join(&mut self, from: usize, to: usize) {
        let is_last = self.next[from].is_none();
        let is_first = !self.joined[to];
        if is_last && is_first && to != 0 && self.first[from] != to {
            let (first, last) = (self.first[from], self.last[to]);
            self.next[from] = Some(to);
            self.joined[to] = true;
            (self.last[first], self.first[last]) = (last, first);
        }
    }

    /// The blocks of a chain.
    fn of(&self, first: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(first), |block| self.next[*block])
    }
}

fn order(paths: &Paths) -> Vec<usize> {
    let count = paths.blocks.len();
    let mut chains = Chains::new(count);
    let mut edges: Vec<(f32, usize, usize)> = Vec::with_capacity(2 * count);
    for (from, block) in paths.blocks.iter().enumerate() {
        let over = skipped(paths, block);
        let nexts = block.next.into_iter().flatten().filter(|(to, _)| over != Some(*to));
        edges.extend(nexts.map(|(to, likely)| (block.runs * likely, from, to)));
    }
    // On a tie, the one that already follows, then the first.
    edges.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.2 != a.1 + 1).cmp(&(b.2 != b.1 + 1))));
    for (_, from, to) in edges {
        chains.join(from, to);
    }
    let mut firsts: Vec<usize> = (0..count).filter(|block| !chains.joined[*block]).collect();
    // Chains of a loop are adjacent, followed by its exits.
    firsts.sort_by_cached_key(|first| (*first != 0, place(paths, chains.of(*first))));
    firsts.into_iter().flat_map(|first| chains.of(first)).collect()
}

/// The target of a block's jump over another block that also goes there and is not rare: placed
/// elsewhere, that block would cost two jumps, there and back; left in place it costs none.
fn skipped(paths: &Paths, block: &Block) -> Option<usize> {
    let [Some((behind, likely)), Some((there, _))] = block.next else { return None };
    let nexts = paths.blocks[behind].next;
    let joins = nexts.into_iter().flatten().all(|(to, _)| to == there) && nexts != [None, None];
    (joins && likely > RARE).then_some(there)
}

/// The starts of the outermost loops around a chain, and its own.
fn place(paths: &Paths, chain: impl Iterator<Item = usize>) -> [usize; 4] {
    let depth = |block: usize| paths.loops(&paths.blocks[block]).len();
    let deepest = chain.max_by_key(|block| (depth(*block), std::cmp::Reverse(*block)));
    let block = deepest.unwrap_or_default();
    let mut place = [block; 4];
    let loops = paths.loops(&paths.blocks[block]).iter().rev().take(3);
    for (start, round) in place.iter_mut().zip(loops) {
        *start = paths.rounds[*round].blocks[0];
    }
    place
}

/// The first ops of single-block loops, where alignment is worth its bytes: others are entered in
/// the middle.
fn heads(paths: &Paths) -> Vec<usize> {
    let single = paths.rounds.iter().filter(|round| round.blocks.len() == 1);
    let mut heads: Vec<usize> = single.map(|round| paths.blocks[round.head].ops.start).collect();
    heads.sort_unstable();
    heads
}

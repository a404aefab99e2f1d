//! `Plan`: the control-flow edges to count, from which all other counts follow.
//!
//! Flow is conserved at each vertex, so the counts of the edges of a spanning tree follow from
//! those of the others. A block is two vertices with an edge between them, which represents its
//! insns; the host is another vertex, from which functions are entered and to which they return.
//! The tree first takes edges that cannot be counted (returns), then jumps, whose counter would
//! need another jump, then edges of the innermost loops.
//!
//! Source: D. E. Knuth, F. R. Stevenson, "Optimal measurement points for program frequency
//! counts", BIT 13 (1973).
//!
//! # Invariants
//! 1. The edges without a counter are a forest.
//! 2. A block ends wherever a run may leave it, so either all or none of its insns have been
//!    executed.
//! 3. A forward jump has no counter: when its edge is looked at, nothing else leads to or from the
//!    end of its block.

use rustc_hash::FxHashMap;
use skep_insn::Insn;
use skep_insn::code::*;
use skep_uapi::helper::HelperId;
use skep_verifier::{OwnHelper, Xlated};
use std::cmp::Reverse;

/// The kind of an edge, and its insn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Place {
    /// A run leaves its function after the insn, or the insn's callee does not return.
    Leave(u32),
    /// The insn jumps.
    Taken(u32),
    /// What follows the insn comes next.
    Fall(u32),
    /// The block that begins with the insn.
    Block(u32),
    /// The function that begins with the insn.
    Entry(u32),
}

/// From one vertex to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) place: Place,
    pub(super) counter: Option<u32>,
}

/// The counters of a program.
#[derive(Debug)]
pub struct Plan {
    pub(super) edges: Vec<Edge>,
    pub(super) vertices: u32,
    /// First insns of the blocks, and the end of the last.
    pub(super) blocks: Vec<u32>,
    /// By insn: whether it is the second slot of a 64-bit immediate.
    pub(super) is_second: Vec<bool>,
    /// By insn: whether it is a conditional jump.
    pub(super) is_branch: Vec<bool>,
    counters: FxHashMap<Place, u32>,
    /// By counter: the number of loops that the edge is in.
    depths: Vec<i32>,
}

/// Where a program may leave other than at its `exit`s.
#[derive(Clone, Copy)]
struct Exits {
    /// At backward jumps and calls, without fuel.
    fuel: bool,
    /// Out of calls, by an exception.
    throws: bool,
}

/// Possible successors of an insn.
#[derive(Clone, Copy, Default)]
struct Next {
    falls: bool,
    jumps_to: Option<u32>,
    leaves: bool,
}

impl Plan {
    /// The plan for a program that is compiled with fuel, or without.
    pub fn new(xlated: &Xlated, fuel: bool) -> Plan {
        let insns = xlated.insns();
        let throws = insns.iter().any(|insn| calls(insn, OwnHelper::Throw as i32));
        let is_second = second_slots(insns);
        let is_real = |at: usize| !is_second[at];
        let exits = Exits { fuel, throws };
        let next = |at: usize| match is_real(at) {
            true => next(at, &insns[at], insns.len(), exits),
            false => Next { falls: true, ..Next::default() },
        };
        let next: Vec<Next> = (0..insns.len()).map(next).collect();
        let starts: Vec<u32> = xlated.subprogs().iter().map(|subprog| subprog.start).collect();
        let blocks = blocks(&next, &starts);
        let is_branch = next.iter().map(|next| next.falls && next.jumps_to.is_some()).collect();
        let mut edges = edges(&next, &starts, &blocks);
        let vertices = 2 * blocks.len() as u32 - 1;
        let by_insn = depths(&next);
        let counters = choose(&mut edges, vertices, &by_insn);
        // The host is at no insn.
        let depth = |vertex: u32| match blocks[vertex as usize / 2..] {
            [first, end, ..] => {
                by_insn[if vertex.is_multiple_of(2) { first } else { end - 1 } as usize]
            }
            _ => 0,
        };
        // In the order of their counters.
        let counted = edges.iter().filter(|edge| edge.counter.is_some());
        let depths = counted.map(|edge| depth(edge.from).min(depth(edge.to))).collect();
        Plan { edges, vertices, blocks, is_second, is_branch, counters, depths }
    }

    /// The counters of edges in loops, those in the most loops first, with their insns.
    pub(crate) fn in_loops(&self) -> Vec<(usize, u32)> {
        let depth = |counter: u32| self.depths[counter as usize];
        let counter = |(place, counter): (&Place, &u32)| match place {
            Place::Block(at) | Place::Fall(at) | Place::Taken(at) => Some((*at as usize, *counter)),
            Place::Leave(_) | Place::Entry(_) => None,
        };
        let mut found: Vec<_> = self.counters.iter().filter_map(counter).collect();
        found.retain(|(_, counter)| depth(*counter) > 0);
        found.sort_by_key(|(_, counter)| (Reverse(depth(*counter)), *counter));
        found
    }

    /// Number of counters.
    pub fn counters(&self) -> usize {
        self.counters.len()
    }

    /// Whether no edge after an insn is counted.
    pub(crate) fn is_free_behind(&self, at: usize) -> bool {
        let places = [Place::Fall(at as u32), Place::Taken(at as u32)];
        places.iter().all(|place| !self.counters.contains_key(place))
    }

    /// Whether neither the edge from one insn to another, nor what follows it, is counted.
    pub(crate) fn is_free(&self, from: usize, to: usize) -> bool {
        let is_counted = |at: usize| self.counters.contains_key(&Place::Block(at as u32));
        (from..=to).all(|at| !is_counted(at) && self.is_free_behind(at))
    }

    /// The counter of an edge, if it has one.
    pub(crate) fn counter(&self, place: Place) -> Option<u32> {
        self.counters.get(&place).copied()
    }
}

fn calls(insn: &Insn, helper: i32) -> bool {
    (insn.code, insn.src, insn.imm) == (BPF_JMP | BPF_CALL, 0, helper)
}

fn second_slots(insns: &[Insn]) -> Vec<bool> {
    let mut is_second = vec![false; insns.len()];
    for at in 1..insns.len() {
        is_second[at] = !is_second[at - 1] && insns[at - 1].is_ld_imm64();
    }
    is_second
}

/// `len`: number of insns of the program.
fn next(at: usize, insn: &Insn, len: usize, exits: Exits) -> Next {
    let Exits { fuel, throws } = exits;
    let falls = Next { falls: true, ..Next::default() };
    if !matches!(insn.class(), BPF_JMP | BPF_JMP32) {
        return falls;
    }
    let jumps_to = insn.jump_target(at).filter(|to| *to < len);
    // A run with fuel may stop at a backward jump.
    let leaves = fuel && jumps_to.is_some_and(|to| to <= at);
    let jumps_to = jumps_to.map(|to| to as u32);
    match insn.op() {
        BPF_EXIT => Next { leaves: true, ..Next::default() },
        BPF_CALL if calls(insn, OwnHelper::Throw as i32) => {
            Next { leaves: true, ..Next::default() }
        }
        BPF_CALL => {
            Next { leaves: fuel || throws || calls(insn, HelperId::TailCall as i32), ..falls }
        }
        BPF_JA => Next { falls: false, jumps_to, leaves },
        // Both outcomes have the same target, so they need not be distinguished.
        _ if insn.off == 0 => falls,
        _ => Next { falls: true, jumps_to, leaves },
    }
}

/// Where blocks begin, and the end of the last.
fn blocks(next: &[Next], starts: &[u32]) -> Vec<u32> {
    let mut begins = vec![false; next.len() + 1];
    starts.iter().for_each(|start| begins[*start as usize] = true);
    for (at, Next { falls, jumps_to, leaves }) in next.iter().enumerate() {
        jumps_to.iter().for_each(|to| begins[*to as usize] = true);
        begins[at + 1] |= !falls || *leaves || jumps_to.is_some();
    }
    begins[next.len()] = true;
    (0..=next.len() as u32).filter(|at| begins[*at as usize]).collect()
}

/// All edges: block `n` is entered at vertex `2 * n` and left at the one after that; the host is
/// the last.
fn edges(next: &[Next], starts: &[u32], blocks: &[u32]) -> Vec<Edge> {
    let host = 2 * (blocks.len() as u32 - 1);
    let entered = |insn: u32| blocks.binary_search(&insn).ok().map(|block| 2 * block as u32);
    let mut edges = Vec::new();
    let mut add = |from: u32, to: u32, place| edges.push(Edge { from, to, place, counter: None });
    for &start in starts {
        entered(start).into_iter().for_each(|to| add(host, to, Place::Entry(start)));
    }
    for (block, bounds) in (0u32..).zip(blocks.windows(2)) {
        let (first, last) = (bounds[0], bounds[1] - 1);
        let (within, behind) = (2 * block, 2 * block + 1);
        add(within, behind, Place::Block(first));
        let Next { falls, jumps_to, leaves } = next[last as usize];
        if leaves {
            add(behind, host, Place::Leave(last));
        }
        if let Some(to) = jumps_to.and_then(entered) {
            add(behind, to, Place::Taken(last));
        }
        if let Some(to) = entered(last + 1).filter(|_| falls) {
            add(behind, to, Place::Fall(last));
        }
    }
    edges
}

/// By insn: the number of backward jumps across it.
fn depths(next: &[Next]) -> Vec<i32> {
    let mut steps = vec![0; next.len() + 1];
    for (at, next) in next.iter().enumerate() {
        if let Some(to) = next.jumps_to.filter(|to| *to as usize <= at) {
            steps[to as usize] += 1;
            steps[at + 1] -= 1;
        }
    }
    let mut depth = 0;
    let sum = |step: &i32| {
        depth += step;
        depth
    };
    steps.iter().map(sum).collect()
}

/// Assigns counters to the edges outside the tree.
fn choose(edges: &mut [Edge], vertices: u32, depths: &[i32]) -> FxHashMap<Place, u32> {
    let depth = |at: u32| depths[at as usize];
    edges.sort_by_key(|edge| match edge.place {
        Place::Leave(at) => (0, Reverse(0), Place::Leave(at)),
        Place::Taken(at) => (1, Reverse(0), Place::Taken(at)),
        Place::Fall(at) => (2, Reverse(depth(at).min(depth(at + 1))), edge.place),
        // Loop heads come last, so that they are counted: passes modify the ends of loops.
        Place::Block(at) => (2, Reverse(depth(at)), Place::Block(u32::MAX - at)),
        Place::Entry(_) => (2, Reverse(0), edge.place),
    });
    let mut trees = Trees((0..vertices).collect());
    let mut counters = FxHashMap::default();
    for edge in edges {
        if !trees.join(edge.from, edge.to) && !matches!(edge.place, Place::Leave(_)) {
            let counter = counters.len() as u32;
            edge.counter = Some(counter);
            counters.insert(edge.place, counter);
        }
    }
    counters
}

/// Union-find: by vertex, another one of its tree that is nearer to the root.
struct Trees(Vec<u32>);

impl Trees {
    fn root(&mut self, of: u32) -> u32 {
        let mut at = of;
        while self.0[at as usize] != at {
            let above = self.0[at as usize];
            self.0[at as usize] = self.0[above as usize];
            at = above;
        }
        at
    }

    /// Returns whether they were in different trees.
    fn join(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a as usize] = b;
        a != b
    }
}

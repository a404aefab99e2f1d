//! The worklist of a pass over the insns of one function, ordered like the pass.

use super::postorder::successors;
use skep_insn::Insn;
use std::collections::BinaryHeap;

/// The insns of a function that are still to be visited, in the order of the pass.
pub(crate) struct Worklist<'a> {
    /// The function's insns in postorder.
    order: &'a [u32],
    start: u32,
    /// By slot from the function's first: the priority, highest first; 0 for second halves.
    rank: Vec<u32>,
    heap: BinaryHeap<u32>,
    is_queued: Vec<bool>,
    way: Way,
}

/// Direction of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Forwards,
    Backwards,
}

impl<'a> Worklist<'a> {
    /// An empty worklist for the function that begins at `start` and has `len` slots.
    pub(crate) fn new(order: &'a [u32], start: u32, len: usize, way: Way) -> Worklist<'a> {
        let mut rank = vec![0; len];
        for (position, &idx) in order.iter().enumerate() {
            let first = if way == Way::Forwards { position } else { order.len() - 1 - position };
            rank[(idx - start) as usize] = first as u32 + 1;
        }
        let is_queued = vec![false; len];
        Worklist { order, start, rank, heap: BinaryHeap::new(), is_queued, way }
    }

    pub(crate) fn push(&mut self, idx: u32) {
        let local = (idx - self.start) as usize;
        if !std::mem::replace(&mut self.is_queued[local], true) {
            self.heap.push(self.rank[local]);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<u32> {
        let first = self.heap.pop()? as usize - 1;
        let position = if self.way == Way::Forwards { first } else { self.order.len() - 1 - first };
        let idx = self.order[position];
        self.is_queued[(idx - self.start) as usize] = false;
        Some(idx)
    }
}

/// The predecessors of each insn of a function.
pub(crate) struct Predecessors {
    /// Pairs of target and insn, sorted.
    edges: Vec<(u32, u32)>,
}

impl Predecessors {
    pub(crate) fn new(insns: &[Insn], order: &[u32]) -> Predecessors {
        let mut edges = Vec::with_capacity(order.len());
        for &idx in order {
            let next = successors(insns, idx as usize);
            edges.extend(next.as_slice().iter().map(|&next| (next, idx)));
        }
        edges.sort_unstable();
        Predecessors { edges }
    }

    pub(crate) fn of(&self, idx: u32) -> impl Iterator<Item = u32> + '_ {
        let from = self.edges.partition_point(|edge| edge.0 < idx);
        self.edges[from..].iter().take_while(move |edge| edge.0 == idx).map(|edge| edge.1)
    }
}

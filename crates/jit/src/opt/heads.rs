//! Loop heads: targets of back-edges in the depth-first order, wherever the end of the loop is in
//! the program. The emitter aligns them, and targets of backward jumps.

use crate::flow::Flow;
use crate::op::Op;

/// By op: whether it is the target of a back-edge.
pub(crate) fn heads(ops: &[Op], flow: &Flow) -> Vec<bool> {
    let mut heads = vec![false; ops.len()];
    if !flow.is_jumped_back_to.contains(&true) {
        return heads;
    }
    let mut walk = Walk { ops, flow, state: vec![State::New; ops.len()], heads: &mut heads };
    for func in &flow.funcs {
        walk.from(func.start as usize);
    }
    heads
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    /// On the current path.
    Open,
    Done,
}

/// Depth first, by stretches of ops that only their first is jumped to: its state is theirs. A jump
/// to an op on the path is a back-edge.
struct Walk<'a> {
    ops: &'a [Op],
    flow: &'a Flow,
    /// By first op of a stretch.
    state: Vec<State>,
    heads: &'a mut [bool],
}

impl Walk<'_> {
    fn from(&mut self, start: usize) {
        // Stretches on the path: the first op, and the end of those whose jumps are to be followed.
        let mut path = Vec::with_capacity(16);
        self.enter(start, &mut path);
        while let Some((first, end)) = path.last_mut() {
            let jump = (*first..*end).rev().find_map(|at| Some((at, self.ops[at].target()?)));
            match jump {
                Some((at, to)) => {
                    *end = at;
                    self.enter(to as usize, &mut path);
                }
                None => {
                    self.state[*first] = State::Done;
                    path.pop();
                }
            }
        }
    }

    /// Follows a way to a stretch, and then those through which control falls.
    fn enter(&mut self, mut first: usize, path: &mut Vec<(usize, usize)>) {
        while first < self.ops.len() {
            match self.state[first] {
                State::New => self.state[first] = State::Open,
                State::Open => {
                    self.heads[first] = true;
                    return;
                }
                State::Done => return,
            }
            let is_last = |at: usize| self.ops[at].is_end() || self.flow.is_target[at + 1];
            let end = (first..self.ops.len()).find(|at| is_last(*at));
            let end = end.map_or(self.ops.len(), |last| last + 1);
            path.push((first, end));
            if self.ops[end - 1].is_end() {
                return;
            }
            first = end;
        }
    }
}

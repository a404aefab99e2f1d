//! Loop heads: targets of back-edges in the depth-first order, wherever the end of the loop is in
//! the program. The emitter aligns them, and targets of backward jumps.

use crate::flow::Flow;
use crate::op::Op;

/// By op: whether it is the target of a back-edge.
pub(crate) fn heads(ops: &[Op], flow: &Flow) -> Vec<bool> {
    let mut walk = Walk { ops, state: vec![State::New; ops.len()], heads: vec![false; ops.len()] };
    if !flow.is_jumped_back_to.contains(&true) {
        return walk.heads;
    }
    for func in &flow.funcs {
        walk.from(func.start as usize);
    }
    walk.heads
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    /// On the current path.
    Open,
    Done,
}

struct Walk<'a> {
    ops: &'a [Op],
    state: Vec<State>,
    heads: Vec<bool>,
}

impl Walk<'_> {
    /// Depth first: a jump to an op on the path is a back-edge.
    fn from(&mut self, start: usize) {
        let mut path = vec![(start, 0)];
        self.state[start] = State::Open;
        while let Some((at, edge)) = path.last_mut() {
            let op = &self.ops[*at];
            let next = match *edge {
                0 => (!op.is_end()).then_some(*at + 1),
                1 => op.target().map(|to| to as usize),
                _ => {
                    self.state[*at] = State::Done;
                    path.pop();
                    continue;
                }
            };
            *edge += 1;
            let Some(next) = next.filter(|next| *next < self.ops.len()) else { continue };
            match self.state[next] {
                State::New => {
                    self.state[next] = State::Open;
                    path.push((next, 0));
                }
                State::Open => self.heads[next] = true,
                State::Done => {}
            }
        }
    }
}

//! Which ops start a round of a loop: where control flow comes back to, wherever the end of the
//! loop stands in the program. The emitter aligns them, and what is jumped back to besides.

use crate::flow::Flow;
use crate::op::Op;

/// By op: whether a jump from inside a loop leads back here.
pub(crate) fn heads(ops: &[Op], flow: &Flow) -> Vec<bool> {
    let mut walk = Walk { ops, state: vec![State::New; ops.len()], heads: vec![false; ops.len()] };
    for func in &flow.funcs {
        walk.from(func.start as usize);
    }
    walk.heads
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    /// On the path that is being walked.
    Open,
    Done,
}

struct Walk<'a> {
    ops: &'a [Op],
    state: Vec<State>,
    heads: Vec<bool>,
}

impl Walk<'_> {
    /// Depth first: a jump to what is open goes back.
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

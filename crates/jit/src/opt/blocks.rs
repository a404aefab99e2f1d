//! One pass over each basic block, in which value-based passes rewrite op by op.

use super::values::{Definition, Values};
use super::{address, bytes, constants, copies, rotate};
use crate::Linkage;
use crate::flow::Flow;
use crate::op::{Op, Reg};
use crate::ops::Ops;
use crate::tuning::Passes;
use std::ops::Range;

/// The pass, which need not visit blocks again in which it found nothing to do.
pub(super) struct Blocks<'a> {
    linkage: &'a Linkage,
    passes: Passes,
    values: Values,
    /// By first op: the end of a block that did not change when it was visited, otherwise 0.
    ends: Vec<usize>,
    /// The ops of those blocks.
    unchanged: Vec<Op>,
}

impl Blocks<'_> {
    pub(super) fn new<'a>(ops: &[Op], linkage: &'a Linkage, passes: Passes) -> Blocks<'a> {
        let unchanged = ops.to_vec();
        Blocks { linkage, passes, values: Values::new(), ends: vec![0; ops.len()], unchanged }
    }

    /// Whether something changed.
    pub(super) fn run(&mut self, ops: &mut Ops, flow: &Flow) -> bool {
        let (mut changed, mut start) = (false, 0);
        while start < ops.len() {
            let known = self.ends[start];
            start = match known > 0 && self.is_same(ops, flow, start..known) {
                true => known,
                false => {
                    let (end, outcome) = self.block(ops, flow, start);
                    changed |= outcome == Outcome::Changed;
                    self.ends[start] = 0;
                    if outcome == Outcome::Unchanged {
                        self.ends[start] = end;
                        self.unchanged[start..end].copy_from_slice(&ops[start..end]);
                    }
                    end
                }
            };
        }
        changed
    }

    /// Whether these ops are still a block, and what they were when it was visited.
    fn is_same(&self, ops: &[Op], flow: &Flow, block: Range<usize>) -> bool {
        let ends = flow.is_target[block.end] || ops[block.end - 1].is_end();
        let entered = flow.is_target[block.start + 1..block.end].contains(&true);
        ends && !entered && ops[block.clone()] == self.unchanged[block]
    }

    /// Visits the block that starts at an op; returns its end.
    fn block(&mut self, ops: &mut Ops, flow: &Flow, start: usize) -> (usize, Outcome) {
        let mut outcome = Outcome::Unchanged;
        self.values.start_block();
        for at in start..ops.len() {
            if !ops[at].is_nop() {
                outcome = outcome.max(self.op(ops, flow, at));
            }
            // A jump may end a block whose next op is not a jump target: on fall-through, known
            // values are kept.
            if flow.is_target[at + 1] || ops.effect(at).ends {
                return (at + 1, outcome);
            }
        }
        (ops.len(), outcome)
    }

    fn op(&mut self, ops: &mut Ops, flow: &Flow, at: usize) -> Outcome {
        let (values, passes) = (&mut self.values, self.passes);
        let mut op = ops[at];
        let mut def = values.define(&op);
        let mut outcome = Outcome::Unchanged;
        let is_dead = |reg: Reg| {
            outcome = Outcome::Depends;
            flow.dies_in_block(ops, at, reg)
        };
        let rotated = if passes.rotate { rotate::rewrite(values, &op, is_dead) } else { None };
        if let Some((rotation, shift)) = rotated {
            if let Some(shift) = shift {
                ops.set(shift as usize, Op::Nop);
                // The register of that shift still has its old value.
                if let Op::Shift { src, .. } = rotation {
                    values.forget(src);
                    def = values.define(&op);
                }
            }
            op = rotation;
            outcome = Outcome::Changed;
        } else if let Some((extended, shift)) =
            copies::up_and_down(values, &op).filter(|_| passes.zext)
        {
            op = extended;
            ops.set(shift as usize, Op::Nop);
            outcome = Outcome::Changed;
        } else if improve(values, &mut op, def, passes)
            | (passes.constants
                && changes(&mut op, |op| constants::rewrite(values, op, self.linkage)))
        {
            outcome = Outcome::Changed;
        }
        if outcome == Outcome::Changed {
            ops.set(at, op);
            // Otherwise, the op before it was rewritten says more about its result.
            if matches!(op, Op::Mov { .. }) {
                def = values.define(&op);
            }
        }
        values.step(at as u32, &op, ops.effect(at), def);
        outcome
    }
}

/// The outcome of a visit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// The next visit would find nothing either.
    Unchanged,
    /// Nothing changed, but that depends on which registers are live.
    Depends,
    Changed,
}

/// Replaces an op by a better one, if there is one.
fn changes(op: &mut Op, better: impl FnOnce(&Op) -> Option<Op>) -> bool {
    let better = better(op);
    better.is_some_and(|better| {
        *op = better;
        true
    })
}

fn improve(values: &Values, op: &mut Op, def: Option<Definition>, passes: Passes) -> bool {
    let (bytes, sum) = match &def {
        Some(Definition::New(def)) => (values.bytes_of(def).filter(|_| passes.bytes), def.sum),
        _ => (None, None),
    };
    let mut changed = bytes.is_some_and(|of| changes(op, |op| bytes::rewrite(values, op, of)));
    if passes.zext {
        changed |= changes(op, |op| copies::narrow(values, op));
    }
    if passes.copies {
        changed |= changes(op, |op| copies::rewrite(values, op));
    }
    if passes.address {
        changed |= changes(op, |op| address::rewrite(values, op));
    }
    if let Some(sum) = sum.filter(|_| passes.lea) {
        changed |= changes(op, |op| address::lea(values, op, sum));
    }
    changed
}

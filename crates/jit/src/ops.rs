//! `Ops`: the ops of a program, with what passes often ask about each.
//!
//! # Invariants
//! 1. The effect at an index is that of the op there.

use crate::op::{AluOp, Op, RegSet, Src};
use std::ops::{Deref, Range};

/// The ops; they are read as a slice and written by [`Ops::set`].
#[derive(Debug, Default)]
pub(crate) struct Ops {
    ops: Vec<Op>,
    effects: Vec<Effect>,
    kinds: Kinds,
}

/// The kinds of ops that a program has or had.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kinds {
    /// [`Op::Swap`].
    pub(crate) swaps: bool,
    /// [`Op::Alu`] that multiplies by a constant.
    pub(crate) multiplies: bool,
    /// [`Op::Store`] of 0.
    pub(crate) clears: bool,
}

impl Kinds {
    fn note(&mut self, op: &Op) {
        match op {
            Op::Swap { .. } => self.swaps = true,
            Op::Alu { op: AluOp::Mul, src: Src::Imm(_), .. } => self.multiplies = true,
            Op::Store { src: Src::Imm(0), .. } => self.clears = true,
            _ => {}
        }
    }
}

/// What an op does to registers and control.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Effect {
    /// [`Op::uses`] and [`Op::defs`].
    pub(crate) uses: RegSet,
    pub(crate) defs: RegSet,
    /// [`Op::is_end`].
    pub(crate) ends: bool,
    /// Whether it has a target.
    pub(crate) jumps: bool,
}

impl Effect {
    pub(crate) fn of(op: &Op) -> Effect {
        let jumps = op.target().is_some();
        Effect { uses: op.uses(), defs: op.defs(), ends: op.is_end(), jumps }
    }

    /// Registers that it reads or writes.
    pub(crate) fn touched(self) -> RegSet {
        self.uses.or(self.defs)
    }

    /// The registers that are live before it, given those after it.
    pub(crate) fn before(self, live: RegSet) -> RegSet {
        live.minus(self.defs).or(self.uses)
    }
}

impl Ops {
    pub(crate) fn new(ops: Vec<Op>) -> Ops {
        let mut kinds = Kinds::default();
        ops.iter().for_each(|op| kinds.note(op));
        let effects = ops.iter().map(Effect::of).collect();
        Ops { ops, effects, kinds }
    }

    pub(crate) fn set(&mut self, at: usize, op: Op) {
        self.effects[at] = Effect::of(&op);
        self.kinds.note(&op);
        self.ops[at] = op;
    }

    pub(crate) fn kinds(&self) -> Kinds {
        self.kinds
    }

    /// The effects, by op.
    pub(crate) fn effects(&self) -> &[Effect] {
        &self.effects
    }

    pub(crate) fn effect(&self, at: usize) -> Effect {
        self.effects[at]
    }

    pub(crate) fn uses(&self, at: usize) -> RegSet {
        self.effects[at].uses
    }

    /// Copies a range of ops to another place.
    pub(crate) fn copy_within(&mut self, range: Range<usize>, to: usize) {
        self.ops.copy_within(range.clone(), to);
        self.effects.copy_within(range, to);
    }
}

impl Deref for Ops {
    type Target = [Op];

    fn deref(&self) -> &[Op] {
        &self.ops
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Reg;

    #[test]
    fn effects_are_those_of_the_ops() {
        let load = |reg| Op::LdImm { dst: Reg(reg), value: 1 };
        let mut ops = Ops::new(vec![load(1), load(2), Op::Jmp { to: 0 }]);
        ops.set(0, Op::Exit);
        ops.copy_within(1..3, 0);
        for (op, effect) in ops.iter().zip(ops.effects()) {
            assert_eq!((effect.uses, effect.defs), (op.uses(), op.defs()));
            assert_eq!((effect.ends, effect.jumps), (op.is_end(), op.target().is_some()));
        }
        assert_eq!(ops[..], [load(2), Op::Jmp { to: 0 }, Op::Jmp { to: 0 }]);
    }
}

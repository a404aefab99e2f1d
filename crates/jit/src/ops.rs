//! `Ops`: the ops of a program, with what passes often ask about each.
//!
//! # Invariants
//! 1. The effect at an index is that of the op there.

use crate::op::{Op, RegSet};
use std::ops::{Deref, Range};

/// The ops; they are read as a slice and written by [`Ops::set`].
#[derive(Debug, Default)]
pub(crate) struct Ops {
    ops: Vec<Op>,
    effects: Vec<Effect>,
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
        let effects = ops.iter().map(Effect::of).collect();
        Ops { ops, effects }
    }

    pub(crate) fn set(&mut self, at: usize, op: Op) {
        self.effects[at] = Effect::of(&op);
        self.ops[at] = op;
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

//! A sum accumulated in an unrolled loop alternates between two registers; otherwise each addition
//! would wait for the previous one. The second starts at 0 where the loop is entered and is added
//! to the first where it is left.

use super::counters::Counter;
use super::trips::Rounds;
use crate::asm::Width;
use crate::flow::Flow;
use crate::op::{AluOp, Op, Reg, Src};
use crate::regs::SPARE_R9;

/// A register to which one op of each iteration adds, and which the loop does not use otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) reg: Reg,
    /// The op that adds.
    pub(crate) at: usize,
    op: AluOp,
    width: Width,
}

/// The register of the second part.
const OTHER: Reg = SPARE_R9;

/// The sum of a loop, if there is one and a register is free.
pub(super) fn find(ops: &[Op], flow: &Flow, looped: &Rounds, counters: &[Counter]) -> Option<Sum> {
    let body = || (looped.head..).zip(looped.body(ops));
    let free = body().all(|(at, op)| {
        let taken = op.uses().or(op.defs()).or(flow.live_out[at]).has(OTHER);
        !taken && !matches!(op, Op::Div { .. })
    });
    let counts = |reg: Reg| counters.iter().any(|counter| counter.reg == reg);
    let sum = |(at, op): (usize, &Op)| {
        let Op::Alu { op: op @ (AluOp::Add | AluOp::Xor | AluOp::Or), width, dst, src } = *op
        else {
            return None;
        };
        let alone = body().all(|(other, op)| other == at || !op.uses().or(op.defs()).has(dst));
        let grows = !matches!(src, Src::Imm(_)) && !src.uses().has(dst);
        // A 32-bit addition clears the upper half, so this is only possible if the loop would have,
        // too.
        let clears =
            width == Width::W64 || ops[looped.head..at].iter().all(|op| op.target().is_none());
        (alone && grows && clears && !counts(dst)).then_some(Sum { reg: dst, at, op, width })
    };
    body().find_map(sum).filter(|_| free)
}

impl Sum {
    /// Its op on the second part.
    pub(super) fn in_other(&self, op: Op) -> Op {
        match op {
            Op::Alu { op, width, src, .. } => Op::Alu { op, width, dst: OTHER, src },
            op => op,
        }
    }

    /// Adds both parts.
    pub(super) fn joined(&self) -> Op {
        Op::Alu { op: self.op, width: self.width, dst: self.reg, src: Src::Reg(OTHER) }
    }

    /// Initialises the second part.
    pub(crate) fn started(&self) -> Op {
        Op::LdImm { dst: OTHER, value: 0 }
    }
}

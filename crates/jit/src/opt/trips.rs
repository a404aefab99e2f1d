//! Loops whose number of rounds is known: unrolled so that it comes out even, they are left at the
//! end of the last round written only, and the others need no test.

use super::constants::holds;
use crate::asm::Width;
use crate::flow::Flow;
use crate::op::{AluOp, Op, Reg, Src};

/// Rounds that are counted, and ops in front of a loop in which its start is looked for.
const ROUNDS_MAX: u32 = 1024;
const WINDOW: usize = 32;

/// A loop that runs a known number of rounds if nothing else leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trips {
    pub(crate) rounds: u32,
    /// A copy of the counter that only the test reads: made in the last round alone.
    pub(crate) copy: Option<usize>,
}

/// What the test of a loop reads: the register that is counted, the op that steps it, and the one
/// that copies it for the test.
struct Tested {
    counter: Reg,
    step: (usize, Width, i32),
    copy: Option<usize>,
}

/// The rounds of the loop of one block from `head` to `latch`, to which only its end jumps back.
pub(super) fn find(ops: &[Op], flow: &Flow, (head, latch): (usize, usize)) -> Option<Trips> {
    let Op::Br { test, .. } = ops[latch] else { return None };
    let Src::Imm(limit) = test.b else { return None };
    let body = &ops[head..latch];
    let tested = tested(body, test.a)?;
    let mut value = start(ops, flow, (head, tested.counter))?;
    let limit = if test.width == Width::W32 { limit as u32 as u64 } else { limit as i64 as u64 };
    let (at, width, by) = tested.step;
    let mut rounds = 0;
    loop {
        let before = value;
        value = value.wrapping_add_signed(i64::from(by));
        if width == Width::W32 {
            value &= u64::from(u32::MAX);
        }
        rounds += 1;
        // A copy that is made before the step has the value before it.
        let is_before = tested.copy.is_some_and(|copy| copy < at);
        if !holds(test, if is_before { before } else { value }, limit) {
            break;
        }
        if rounds == ROUNDS_MAX {
            return None;
        }
    }
    let alone = |copy: &usize| {
        let others = body.iter().enumerate().filter(|(other, _)| other != copy);
        others.into_iter().all(|(_, op)| op.target().is_none() && !op.uses().has(test.a))
    };
    let copy = tested.copy.filter(alone).map(|copy| head + copy);
    Some(Trips { rounds, copy })
}

/// How the register that is tested counts.
fn tested(body: &[Op], reg: Reg) -> Option<Tested> {
    let (at, op) = only_def(body, reg)?;
    match *op {
        Op::Alu { op: AluOp::Add, width, src: Src::Imm(by), .. } => {
            Some(Tested { counter: reg, step: (at, width, by), copy: None })
        }
        Op::Mov { width: Width::W64, src: Src::Reg(counter), .. } => {
            let (step, op) = only_def(body, counter)?;
            let Op::Alu { op: AluOp::Add, width, src: Src::Imm(by), .. } = *op else {
                return None;
            };
            Some(Tested { counter, step: (step, width, by), copy: Some(at) })
        }
        _ => None,
    }
}

fn only_def(body: &[Op], reg: Reg) -> Option<(usize, &Op)> {
    let mut defs = body.iter().enumerate().filter(|(_, op)| op.defs().has(reg));
    let first = defs.next()?;
    defs.next().is_none().then_some(first)
}

/// What a register holds where a loop is entered from above.
fn start(ops: &[Op], flow: &Flow, (head, reg): (usize, Reg)) -> Option<u64> {
    for at in (head.saturating_sub(WINDOW)..head).rev() {
        let op = &ops[at];
        if op.is_end() {
            return None;
        }
        if op.defs().has(reg) {
            return match *op {
                Op::LdImm { value, .. } => Some(value),
                Op::Mov { width: Width::W64, src: Src::Imm(imm), .. } => Some(imm as i64 as u64),
                Op::Mov { width: Width::W32, src: Src::Imm(imm), .. } => Some(imm as u32 as u64),
                _ => None,
            };
        }
        if flow.is_target[at] {
            return None;
        }
    }
    None
}

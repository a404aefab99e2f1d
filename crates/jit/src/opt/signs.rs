//! The sign of a byte or a half word is a bit that is tested where it is: `r2 = (s8)r1`, compared
//! with 0 or -1 and not read again, is a test of bit 7 of `r1`.

use crate::asm::Width;
use crate::flow::Flow;
use crate::op::{Cond, Op, Reg, Size, Src, Test};

/// Whether something changed.
pub(super) fn run(ops: &mut [Op], flow: &Flow) -> bool {
    let mut changed = false;
    for at in 0..ops.len() {
        let Op::Br { test, to } = ops[at] else { continue };
        let Some(negative) = asks_for_sign(&test) else { continue };
        let Some(extension) = flow.before(ops, at) else { continue };
        let Some((src, bit)) = extended(&ops[extension], test) else { continue };
        // Both ways, nobody reads the extended value.
        if !flow.is_dead_after(at, test.a) {
            continue;
        }
        let cond = if negative { Cond::Set } else { Cond::NotSet };
        let test = Test { cond, width: Width::W32, a: src, b: Src::Imm(bit) };
        ops[at] = Op::Br { test, to };
        ops[extension] = Op::Nop;
        changed = true;
    }
    changed
}

/// Whether the test is true of negative numbers, or of all others.
fn asks_for_sign(test: &Test) -> Option<bool> {
    match (test.cond, test.b) {
        (Cond::SLt, Src::Imm(0)) | (Cond::SLe, Src::Imm(-1)) => Some(true),
        (Cond::SGe, Src::Imm(0)) | (Cond::SGt, Src::Imm(-1)) => Some(false),
        _ => None,
    }
}

/// What the tested register is the extension of, and which bit is the sign.
fn extended(op: &Op, test: Test) -> Option<(Reg, i32)> {
    let Op::MovSx { size, width, dst, src } = *op else { return None };
    let bit = match size {
        Size::B1 => 0x80,
        Size::B2 => 0x8000,
        _ => return None,
    };
    let wide = width == Width::W64 || test.width == Width::W32;
    (dst == test.a && wide && src != Reg::FP).then_some((src, bit))
}

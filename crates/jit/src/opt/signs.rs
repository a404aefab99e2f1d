//! A sign test of a byte or half word becomes a bit test: `r2 = (s8)r1`, compared with 0 or -1 and
//! then dead, is a test of bit 7 of `r1`.

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
        // The extended value is dead on both edges.
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

/// Whether the test is true for negative values, or for all others.
fn asks_for_sign(test: &Test) -> Option<bool> {
    match (test.cond, test.b) {
        (Cond::SLt, Src::Imm(0)) | (Cond::SLe, Src::Imm(-1)) => Some(true),
        (Cond::SGe, Src::Imm(0)) | (Cond::SGt, Src::Imm(-1)) => Some(false),
        _ => None,
    }
}

/// The register whose extension is tested, and the number of its sign bit.
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

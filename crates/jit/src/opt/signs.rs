//! Bit tests. The sign of a byte or half word: `r2 = (s8)r1`, compared with 0 or -1 and then dead,
//! is a test of bit 7 of `r1`. A mask: `r2 = r1; r2 &= r3`, compared with 0 and then dead, is a
//! test of `r1`; BPF has a jump for bits that are set, none for bits that are not.

use crate::asm::Width;
use crate::flow::Flow;
use crate::op::{AluOp, Cond, Op, Reg, Size, Src, Test};
use crate::ops::Ops;

/// Whether something changed.
pub(super) fn run(ops: &mut Ops, flow: &Flow) -> bool {
    let mut changed = false;
    for at in 0..ops.len() {
        let Op::Br { test, to } = ops[at] else { continue };
        // The value that is tested is dead on both edges.
        if !flow.is_dead_after(at, test.a) {
            continue;
        }
        let Some(extension) = flow.before(ops, at) else { continue };
        if let Some((test, copy)) = masked(ops, flow, extension, test) {
            ops.set(at, Op::Br { test, to });
            [Some(extension), copy].into_iter().flatten().for_each(|at| ops.set(at, Op::Nop));
            changed = true;
            continue;
        }
        let Some(negative) = asks_for_sign(&test) else { continue };
        let Some((src, bit)) = extended(&ops[extension], test) else { continue };
        let cond = if negative { Cond::Set } else { Cond::NotSet };
        let test = Test { cond, width: Width::W32, a: src, b: Src::Imm(bit) };
        ops.set(at, Op::Br { test, to });
        ops.set(extension, Op::Nop);
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

/// A test of the bits that the op at `mask` leaves, and the copy that is no longer needed.
fn masked(ops: &[Op], flow: &Flow, mask: usize, test: Test) -> Option<(Test, Option<usize>)> {
    let cond = match (test.cond, test.b) {
        (Cond::Eq, Src::Imm(0)) => Cond::NotSet,
        (Cond::Ne, Src::Imm(0)) => Cond::Set,
        _ => return None,
    };
    let (width, a, b) = match ops[mask] {
        Op::Alu { op: AluOp::And, width, dst, src: src @ (Src::Reg(_) | Src::Imm(_)) }
            if dst == test.a && src != Src::Reg(dst) =>
        {
            (width, dst, src)
        }
        Op::Zext { size: Size::B1, dst, src } if dst == test.a => {
            return Some((Test { cond, width: Width::W32, a: src, b: Src::Imm(0xff) }, None));
        }
        _ => return None,
    };
    let width = if test.width == Width::W32 { Width::W32 } else { width };
    let copied = flow.before(ops, mask).and_then(|copy| match ops[copy] {
        Op::Mov { width: of, dst, src: Src::Reg(src) }
            if dst == a && src != Reg::FP && is_wide(of, width) =>
        {
            Some((src, copy))
        }
        _ => None,
    });
    let (a, copy) = copied.map_or((a, None), |(src, copy)| (src, Some(copy)));
    (b != Src::Reg(Reg::FP)).then_some((Test { cond, width, a, b }, copy))
}

/// Whether a copy of that width has all bits of the other.
fn is_wide(of: Width, width: Width) -> bool {
    of == Width::W64 || width == Width::W32
}

//! Ops with another register in place of one of theirs.

use crate::op::{Addr, Op, Reg, Src};

/// `op` with `to` for `from`; `None` for ops whose registers are not all free.
pub(super) fn renamed(op: Op, from: Reg, to: Reg) -> Option<Op> {
    if !op.uses().or(op.defs()).has(from) {
        return Some(op);
    }
    let of = |reg: &mut Reg| {
        if *reg == from {
            *reg = to;
        }
    };
    let mut better = op;
    match &mut better {
        Op::Alu { dst, src, .. } | Op::Mov { dst, src, .. } => {
            of(dst);
            of_src(src, of);
        }
        Op::Shift { dst, src, by, .. } => {
            of(dst);
            of(src);
            of_src(by, of);
        }
        Op::Zext { dst, src, .. } | Op::MovSx { dst, src, .. } => {
            of(dst);
            of(src);
        }
        Op::Neg { dst, .. } | Op::Swap { dst, .. } | Op::LdImm { dst, .. } => of(dst),
        Op::Lea { dst, addr, .. } | Op::Load { dst, addr, .. } => {
            of(dst);
            of_addr(addr, of);
        }
        Op::Store { addr, src, .. } | Op::AluStore { addr, src, .. } => {
            of_addr(addr, of);
            of_src(src, of);
        }
        _ => return None,
    }
    Some(better)
}

/// `op`, which makes `from` out of other values, with its result in `to`; `None` if it is not such
/// an op.
pub(super) fn redirected(op: Op, from: Reg, to: Reg) -> Option<Op> {
    let mut better = op;
    match &mut better {
        Op::Mov { dst, .. }
        | Op::LdImm { dst, .. }
        | Op::Lea { dst, .. }
        | Op::Zext { dst, .. }
        | Op::MovSx { dst, .. }
        | Op::Load { dst, .. }
            if *dst == from =>
        {
            *dst = to;
        }
        Op::Shift { dst, src, .. } if *dst == from && *src != from => *dst = to,
        _ => return None,
    }
    Some(better)
}

fn of_src(src: &mut Src, of: impl Fn(&mut Reg)) {
    match src {
        Src::Reg(reg) => of(reg),
        Src::Mem(addr) => of_addr(addr, of),
        Src::Imm(_) => {}
    }
}

fn of_addr(addr: &mut Addr, of: impl Fn(&mut Reg)) {
    of(&mut addr.base);
    if let Some((index, _)) = &mut addr.index {
        of(index);
    }
}

//! Bytes that are loaded one by one and combined become one load; in descending order, one with a
//! byte swap (`movbe`).
//!
//! All bytes were loaded before, so the wide load accesses nothing new. It is nevertheless a second
//! load of them, so this is only done for private memory.

use super::address;
use super::values::Values;
use crate::op::{Addr, AluOp, Op, ShiftOp, Size, Space, Src};

/// The load that gives the result of `op`.
pub(super) fn rewrite(values: &Values, op: &Op, meant: &super::values::Bytes) -> Option<Op> {
    let dst = match *op {
        Op::Alu { op: AluOp::Or | AluOp::Xor | AluOp::Add, dst, src: Src::Reg(_), .. } => dst,
        Op::Shift { op: ShiftOp::Shl | ShiftOp::Shr, dst, by: Src::Imm(_), .. } => dst,
        _ => return None,
    };
    if meant.epoch != values.epoch {
        return None;
    }
    let count = meant.offs.iter().take_while(|off| off.is_some()).count();
    if meant.offs[count..].iter().any(Option::is_some) {
        return None;
    }
    let size = match count {
        2 => Size::B2,
        4 => Size::B4,
        8 => Size::B8,
        _ => return None,
    };
    let offs: Vec<i32> = meant.offs.iter().flatten().copied().collect();
    let steps = |by: i32| offs.windows(2).all(|pair| pair[0].checked_add(by) == Some(pair[1]));
    let (big, disp) = match (steps(1), steps(-1)) {
        (true, _) => (false, offs[0]),
        (_, true) => (true, offs[count - 1]),
        _ => return None,
    };
    let addr = match values.near(meant.base, disp) {
        Some((base, disp)) => Addr::sum(base, None, disp),
        // The register of the address may be gone, and what it was made of still there.
        None => address::moved(values, values.def(meant.base).sum?, disp)?,
    };
    let addr = Addr { space: Space::Own, ..addr };
    Some(Op::Load { size, sign: false, big, dst, addr })
}

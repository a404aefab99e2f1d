//! Removes masks and extensions whose cleared bits are dead: a shift uses five or six bits of its
//! count; a byte store uses eight bits of its register.
//!
//! Within a block: at its end, all bits are considered live.

use crate::asm::Width;
use crate::flow::Flow;
use crate::op::{AluOp, Op, Reg, RegSet, Shift, ShiftOp, Src};
use crate::ops::{Effect, Ops};

/// By register: the live bits.
struct Needs([u64; Reg::COUNT]);

/// Returns whether something changed; liveness did not, since a removed op reads what it writes.
pub(super) fn run(ops: &mut Ops, flow: &Flow) -> bool {
    let mut changed = false;
    let mut needs = Needs([u64::MAX; Reg::COUNT]);
    for at in (0..ops.len()).rev() {
        let effect = ops.effect(at);
        if effect.jumps || effect.ends || flow.is_target[at + 1] {
            needs.start(flow.live_out[at]);
        }
        if let Some(better) = lighter(&ops[at], &needs) {
            ops.set(at, better);
            changed = true;
        }
        needs.step(&ops[at], ops.effect(at));
    }
    changed
}

fn ones(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

fn width_bits(width: Width) -> u32 {
    if width == Width::W64 { 64 } else { 32 }
}

/// All bits up to the highest of `need`: carries only propagate upwards.
fn below(need: u64) -> u64 {
    ones(64 - need.leading_zeros())
}

/// A move, or nothing, for an op that only clears dead bits.
fn lighter(op: &Op, needs: &Needs) -> Option<Op> {
    let (dst, src, kept) = match *op {
        Op::Alu { op: AluOp::And, width, dst, src: Src::Imm(imm) } => {
            let mask = i64::from(imm) as u64;
            (dst, dst, mask & ones(width_bits(width)))
        }
        Op::Zext { size, dst, src } => (dst, src, ones(8 * size.bytes())),
        Op::Mov { width: Width::W32, dst, src: Src::Reg(src) } => (dst, src, ones(32)),
        _ => return None,
    };
    if needs.of(dst) & !kept != 0 {
        return None;
    }
    Some(match src == dst {
        true => Op::Nop,
        false => Op::Mov { width: Width::W64, dst, src: Src::Reg(src) },
    })
}

impl Needs {
    fn of(&self, reg: Reg) -> u64 {
        self.0[usize::from(reg.0)]
    }

    fn read(&mut self, reg: Reg, bits: u64) {
        self.0[usize::from(reg.0)] |= bits;
    }

    fn read_src(&mut self, src: Src, bits: u64) {
        match src {
            Src::Reg(reg) => self.read(reg, bits),
            src => self.read_all(src.uses()),
        }
    }

    fn read_all(&mut self, regs: RegSet) {
        regs.iter().for_each(|reg| self.read(reg, u64::MAX));
    }

    /// The bits that are live after a block.
    fn start(&mut self, live: RegSet) {
        for (reg, need) in (0..).map(Reg).zip(&mut self.0) {
            *need = if live.has(reg) { u64::MAX } else { 0 };
        }
    }

    /// The bits that are live before the op, given those that are live after it.
    fn step(&mut self, op: &Op, effect: Effect) {
        let mut need = 0;
        for reg in effect.defs.iter() {
            need = std::mem::take(&mut self.0[usize::from(reg.0)]);
        }
        match *op {
            Op::Mov { width, src, .. } => self.read_src(src, need & ones(width_bits(width))),
            Op::Zext { size, src, .. } => self.read(src, need & ones(8 * size.bytes())),
            Op::Alu { op, width, dst, src } => {
                let need = need & ones(width_bits(width));
                let (of_dst, of_src) = match (op, src) {
                    (AluOp::And, Src::Imm(imm)) => (need & i64::from(imm) as u64, 0),
                    (AluOp::And | AluOp::Or | AluOp::Xor, _) => (need, need),
                    _ => (below(need), below(need)),
                };
                self.read(dst, of_dst);
                self.read_src(src, of_src);
            }
            Op::Shift { op, width, src, by, .. } => self.shift(Shift { op, width }, src, by, need),
            Op::Store { size, big: false, addr, src } => {
                self.read_all(addr.uses());
                self.read_src(src, ones(8 * size.bytes()));
            }
            Op::Br { test, .. } if test.width == Width::W32 => {
                self.read(test.a, ones(32));
                self.read_src(test.b, ones(32));
            }
            _ => self.read_all(effect.uses),
        }
    }

    fn shift(&mut self, shift: Shift, src: Reg, by: Src, need: u64) {
        let Shift { op, width } = shift;
        let all = ones(width_bits(width));
        let need = need & all;
        match (op, by) {
            (ShiftOp::Shl, Src::Imm(by)) => self.read(src, need >> by),
            (ShiftOp::Shr, Src::Imm(by)) => self.read(src, need << by & all),
            _ => self.read(src, all),
        }
        // The processor counts modulo the width, as BPF does.
        self.read_src(by, u64::from(width_bits(width)) - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Size;

    #[test]
    fn what_carries_needs_all_below() {
        assert_eq!(below(0), 0);
        assert_eq!(below(0x10), 0x1f);
        assert_eq!(below(1 << 63), u64::MAX);
        assert_eq!(ones(8 * Size::B4.bytes()), u64::from(u32::MAX));
    }
}

//! Numbers: links between copies, 32-bit bounds, spills of all widths.

use super::{JUMPS, Maker, SIZES};
use crate::random::generate::insn;
use skep::insn::Insn;
use skep::insn::code::*;

impl Maker<'_> {
    /// A comparison of one or two registers, 64 or 32 bits wide.
    pub(super) fn condition(&mut self, dst: u8) -> Insn {
        let class = self.rng.pick(&[BPF_JMP, BPF_JMP, BPF_JMP32]);
        let op = self.rng.pick(&JUMPS);
        if self.rng.chance(25) {
            let src = self.number();
            return insn(class | op | BPF_X, dst, src, 0, 0);
        }
        insn(class | op, dst, 0, 0, self.imm())
    }

    /// Copies plus constants, refined together by a branch.
    pub(super) fn linked(&mut self) {
        let from = self.number();
        for _ in 0..1 + self.rng.below(3) {
            let to = self.number();
            let class = self.rng.pick(&[BPF_ALU64, BPF_ALU64, BPF_ALU64, BPF_ALU]);
            self.emit(class | BPF_MOV | BPF_X, (to, from), (0, 0));
            if self.rng.chance(60) {
                let class = self.rng.pick(&[BPF_ALU64, BPF_ALU64, BPF_ALU]);
                let imm = self.imm();
                self.emit(class | BPF_ADD, (to, 0), (0, imm));
            }
            if self.rng.chance(20) {
                let off = self.slot();
                self.emit(BPF_STX | BPF_MEM | BPF_DW, (10, to), (off, 0));
            }
        }
        self.branch();
    }

    /// A branch that exits, or skips a small change.
    pub(super) fn branch(&mut self) {
        let reg = self.number();
        let condition = self.condition(reg);
        match self.rng.below(3) {
            0 => self.unless(condition, |it| it.exit(0)),
            1 => self.unless(condition, |it| {
                let (reg, imm) = (it.number(), it.imm());
                it.set(reg, imm);
            }),
            _ => self.unless(condition, Self::arithmetic),
        }
    }

    pub(super) fn arithmetic(&mut self) {
        let ops = [
            BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR, BPF_AND, BPF_LSH, BPF_RSH, BPF_NEG,
            BPF_MOD, BPF_XOR, BPF_ARSH, BPF_AND, BPF_ADD,
        ];
        let (class, op) = (self.rng.pick(&[BPF_ALU64, BPF_ALU]), self.rng.pick(&ops));
        let (dst, src) = (self.number(), self.number());
        let width = if class == BPF_ALU { 32 } else { 64 };
        let signed = i16::from(matches!(op, BPF_DIV | BPF_MOD) && self.rng.chance(40));
        if op == BPF_NEG {
            self.emit(class | op, (dst, 0), (0, 0));
        } else if self.rng.chance(30) {
            self.emit(class | op | BPF_X, (dst, src), (signed, 0));
        } else {
            let imm = match op {
                BPF_LSH | BPF_RSH | BPF_ARSH => self.rng.below(width) as i32,
                BPF_DIV | BPF_MOD => self.imm().max(1),
                _ => self.imm(),
            };
            self.emit(class | op, (dst, 0), (signed, imm));
        }
    }

    /// Changes of width, and their effects on bounds.
    pub(super) fn narrow(&mut self) {
        for _ in 0..1 + self.rng.below(4) {
            let (dst, src) = (self.number(), self.number());
            match self.rng.below(6) {
                0 => self.emit(BPF_ALU | BPF_MOV | BPF_X, (dst, src), (0, 0)),
                1 => {
                    let bits = self.rng.pick(&[8, 16, 32]);
                    self.emit(BPF_ALU64 | BPF_MOV | BPF_X, (dst, src), (bits, 0));
                }
                2 => {
                    let bits = self.rng.pick(&[8, 16]);
                    self.emit(BPF_ALU | BPF_MOV | BPF_X, (dst, src), (bits, 0));
                }
                3 => {
                    let shift = self.rng.pick(&[32, 32, 1, 56, 48]);
                    let back = self.rng.pick(&[BPF_RSH, BPF_ARSH]);
                    self.emit(BPF_ALU64 | BPF_LSH, (dst, 0), (0, shift));
                    self.emit(BPF_ALU64 | back, (dst, 0), (0, shift));
                }
                4 => {
                    let (code, bits) = self.rng.pick(&[
                        (BPF_ALU | BPF_END | BPF_TO_BE, 16),
                        (BPF_ALU | BPF_END | BPF_TO_BE, 32),
                        (BPF_ALU | BPF_END, 16),
                        (BPF_ALU64 | BPF_END, 64),
                    ]);
                    self.emit(code, (dst, 0), (0, bits));
                }
                _ => self.arithmetic(),
            }
        }
        self.branch();
    }

    /// Stack stores and loads with different sizes and offsets.
    pub(super) fn spill(&mut self) {
        let slot = self.slot();
        for _ in 0..1 + self.rng.below(3) {
            let (code, size) = self.rng.pick(&SIZES);
            let off = slot + self.part(size);
            let src = self.number();
            match self.rng.below(6) {
                0 => {
                    let imm = self.imm();
                    self.emit(BPF_ST | BPF_MEM | code, (10, 0), (off, imm));
                }
                1 if size >= 4 => {
                    let ops = [
                        i32::from(BPF_ADD) | BPF_FETCH,
                        BPF_XCHG,
                        BPF_CMPXCHG,
                        BPF_STORE_REL,
                        i32::from(BPF_OR),
                    ];
                    let op = self.rng.pick(&ops);
                    self.emit(BPF_STX | BPF_ATOMIC | code, (10, src), (off, op));
                }
                2 => self.emit(BPF_STX | BPF_MEM | BPF_DW, (10, src), (slot, 0)),
                _ => self.emit(BPF_STX | BPF_MEM | code, (10, src), (off, 0)),
            }
        }
        if self.rng.chance(40) {
            self.branch();
        }
        for _ in 0..1 + self.rng.below(2) {
            let (code, size) = self.rng.pick(&SIZES);
            let off = slot + self.part(size);
            let dst = self.number();
            let mode = if code != BPF_DW && self.rng.chance(30) { BPF_MEMSX } else { BPF_MEM };
            self.emit(BPF_LDX | mode | code, (dst, 10), (off, 0));
        }
        if self.rng.chance(50) {
            self.branch();
        }
    }

    /// An offset in a slot, mostly aligned.
    fn part(&mut self, size: i16) -> i16 {
        let part = self.rng.below(8) as i16;
        if self.rng.chance(95) { part / size * size } else { part }
    }
}

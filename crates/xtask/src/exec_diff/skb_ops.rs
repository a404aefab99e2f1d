//! Operations of programs with a socket buffer: fields of the context, legacy packet loads, helpers
//! that read and write the packet.

use super::builder::{CTX, FP, Gen, WORDS};
use super::calls::CTX_SLOT;
use skep::insn::code::*;
use skep::uapi::helper::HelperId;

/// Offsets of fields that can be stored.
const STORED: [i16; 8] = [8, 12, 32, 44, 48, 56, 64, 72];
/// Offsets of fields that have the same value here and in the kernel.
const LOADED: [i16; 10] = [0, 8, 12, 16, 20, 32, 44, 52, 60, 72];

const SKB_STORE_BYTES: i32 = HelperId::SkbStoreBytes as i32;
const SKB_LOAD_BYTES: i32 = HelperId::SkbLoadBytes as i32;
const CSUM_DIFF: i32 = HelperId::CsumDiff as i32;
const L3_CSUM_REPLACE: i32 = HelperId::L3CsumReplace as i32;

/// Stack slot for the data of helpers: that of map values.
const BYTES: i16 = -48;

impl Gen {
    /// One operation. Afterwards all registers hold numbers, and r6 the packet.
    pub(super) fn skb_op(&mut self) {
        match self.rng.below(8) {
            0 | 1 => self.field(),
            2 | 3 => self.legacy_load(),
            4 => self.bytes_helper(SKB_LOAD_BYTES),
            5 => self.bytes_helper(SKB_STORE_BYTES),
            6 => self.csum_diff(),
            _ => self.csum_replace(),
        }
    }

    fn ctx_in(&mut self, reg: u8) {
        self.push(BPF_LDX | BPF_MEM | BPF_DW, (reg, FP), (CTX_SLOT, 0));
    }

    fn field(&mut self) {
        let reg = self.rng.pick(&[0, 2, 3, 4, 5, 7, 8]);
        self.ctx_in(1);
        if self.rng.chance(50) {
            let off = self.rng.pick(&STORED);
            if self.rng.chance(30) {
                let imm = self.imm();
                self.push(BPF_ST | BPF_MEM | BPF_W, (1, 0), (off, imm));
            } else {
                self.push(BPF_STX | BPF_MEM | BPF_W, (1, reg), (off, 0));
            }
        } else {
            let off = self.rng.pick(&LOADED);
            let (size, bytes) = self.rng.pick(&[(BPF_W, 4), (BPF_H, 2), (BPF_B, 1)]);
            let inside = self.rng.below(4 / bytes) as i16 * bytes as i16;
            let mode = if size != BPF_W && self.rng.chance(30) { BPF_MEMSX } else { BPF_MEM };
            self.push(BPF_LDX | mode | size, (reg, 1), (off + inside, 0));
        }
        self.push(BPF_ALU64 | BPF_MOV | BPF_X, (1, reg), (0, 0));
    }

    /// `r0 = *(u32 *)skb[...]`; if the packet is too short, the function returns 0.
    fn legacy_load(&mut self) {
        let size = self.rng.pick(&[BPF_B, BPF_H, BPF_W]);
        let off = match self.rng.below(10) {
            0 => self.imm(),
            1 => -0x10_0000 + self.rng.below(64) as i32,
            2 => -0x20_0000 + self.rng.below(64) as i32,
            _ => self.rng.below(8 * WORDS as u64 - 3) as i32,
        };
        self.ctx_in(CTX);
        if self.rng.chance(50) {
            let reg = self.reg();
            self.push(BPF_ALU64 | BPF_AND, (reg, 0), (0, 7));
            self.push(BPF_LD | BPF_IND | size, (0, reg), (0, off));
        } else {
            self.push(BPF_LD | BPF_ABS | size, (0, 0), (0, off));
        }
        self.after();
    }

    /// Reloads the packet, which a helper may have changed.
    pub(super) fn after(&mut self) {
        self.push(BPF_ALU64 | BPF_MOV | BPF_X, (7, 0), (0, 0));
        self.ctx_in(1);
        self.packet();
        self.push(BPF_ALU64 | BPF_MOV | BPF_X, (0, 7), (0, 0));
        self.numbers_again();
    }

    fn bytes_helper(&mut self, helper: i32) {
        let reg = self.reg();
        self.push(BPF_STX | BPF_MEM | BPF_DW, (FP, reg), (BYTES, 0));
        let (off, len) = (self.rng.below(70) as i32, 1 + self.rng.below(8) as i32);
        self.ctx_in(1);
        self.push(BPF_ALU64 | BPF_MOV, (2, 0), (0, off));
        self.push(BPF_ALU64 | BPF_MOV | BPF_X, (3, FP), (0, 0));
        self.push(BPF_ALU64 | BPF_ADD, (3, 0), (0, i32::from(BYTES)));
        self.push(BPF_ALU64 | BPF_MOV, (4, 0), (0, len));
        self.push(BPF_ALU64 | BPF_MOV, (5, 0), (0, 0));
        self.push(BPF_JMP | BPF_CALL, (0, 0), (0, helper));
        self.push(BPF_LDX | BPF_MEM | BPF_DW, (8, FP), (BYTES, 0));
        self.after();
    }

    fn csum_diff(&mut self) {
        let (reg, seed) = (self.reg(), self.rng.pick(&[7, 8]));
        self.push(BPF_STX | BPF_MEM | BPF_DW, (FP, reg), (BYTES, 0));
        let sizes = (4 * self.rng.below(3) as i32, 4 * self.rng.below(3) as i32);
        for (pointer, size, bytes) in [(1, 2, sizes.0), (3, 4, sizes.1)] {
            self.push(BPF_ALU64 | BPF_MOV | BPF_X, (pointer, FP), (0, 0));
            self.push(BPF_ALU64 | BPF_ADD, (pointer, 0), (0, i32::from(BYTES)));
            self.push(BPF_ALU64 | BPF_MOV, (size, 0), (0, bytes));
        }
        self.push(BPF_ALU64 | BPF_MOV | BPF_X, (5, seed), (0, 0));
        self.push(BPF_JMP | BPF_CALL, (0, 0), (0, CSUM_DIFF));
        self.numbers_again();
    }

    fn csum_replace(&mut self) {
        self.ctx_in(1);
        let off = self.rng.below(66) as i32;
        let (from, to) = (self.imm(), self.imm());
        let flags = self.rng.pick(&[2, 2, 4, 4, 0, 3]);
        for (reg, value) in [(2, off), (3, from), (4, to), (5, flags)] {
            let class = if reg == 2 { BPF_ALU64 } else { BPF_ALU };
            self.push(class | BPF_MOV, (reg, 0), (0, value));
        }
        self.push(BPF_JMP | BPF_CALL, (0, 0), (0, L3_CSUM_REPLACE));
        self.after();
    }
}

//! Helpers of XDP in a random program: the packet is resized, moved, read and written.

use super::builder::{FP, Gen};
use super::calls::CTX_SLOT;
use skep::insn::code::*;

const ADJUST_HEAD: i32 = 44;
const ADJUST_META: i32 = 54;
const ADJUST_TAIL: i32 = 65;
const GET_BUFF_LEN: i32 = 188;
const LOAD_BYTES: i32 = 189;
const STORE_BYTES: i32 = 190;

/// Stack slot for the data of helpers: that of map values.
const BYTES: i16 = -48;

impl Gen {
    /// One call. Afterwards all registers hold numbers, and r6 the packet.
    pub(super) fn xdp_op(&mut self) {
        let helper = self.rng.pick(&[
            ADJUST_HEAD,
            ADJUST_META,
            ADJUST_TAIL,
            GET_BUFF_LEN,
            LOAD_BYTES,
            STORE_BYTES,
        ]);
        let by = self.rng.below(24) as i32;
        let by = match helper {
            // Mostly grow the packet: programs return if it is too short.
            ADJUST_HEAD if self.rng.chance(90) => -by,
            ADJUST_META => -4 * (by - 2),
            ADJUST_TAIL if self.rng.chance(10) => -by,
            LOAD_BYTES | STORE_BYTES => self.rng.below(80) as i32,
            _ => by,
        };
        let reg = self.reg();
        self.push(BPF_STX | BPF_MEM | BPF_DW, (FP, reg), (BYTES, 0));
        self.push(BPF_LDX | BPF_MEM | BPF_DW, (1, FP), (CTX_SLOT, 0));
        self.push(BPF_ALU64 | BPF_MOV, (2, 0), (0, by));
        if matches!(helper, LOAD_BYTES | STORE_BYTES) {
            self.push(BPF_ALU64 | BPF_MOV | BPF_X, (3, FP), (0, 0));
            self.push(BPF_ALU64 | BPF_ADD, (3, 0), (0, i32::from(BYTES)));
            let len = 1 + self.rng.below(8) as i32;
            self.push(BPF_ALU64 | BPF_MOV, (4, 0), (0, len));
        }
        self.push(BPF_JMP | BPF_CALL, (0, 0), (0, helper));
        self.push(BPF_LDX | BPF_MEM | BPF_DW, (8, FP), (BYTES, 0));
        self.after();
    }
}

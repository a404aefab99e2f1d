//! Random single insns, for insertion.

use crate::random::generate::insn as make;
use skep::insn::Insn;
use skep::insn::code::*;
use skep_testkit::rng::Rng;

const SIZES: [u8; 4] = [BPF_B, BPF_H, BPF_W, BPF_DW];
const ALU_OPS: [u8; 13] = [
    BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR, BPF_AND, BPF_LSH, BPF_RSH, BPF_NEG, BPF_MOD,
    BPF_XOR, BPF_MOV, BPF_ARSH,
];
const JUMPS: [u8; 11] = [
    BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET, BPF_JNE, BPF_JSGT, BPF_JSGE, BPF_JLT, BPF_JLE, BPF_JSLT,
    BPF_JSLE,
];
const SMALL: [i32; 16] = [0, 1, -1, 2, 4, 7, 8, -8, 15, 16, 31, 32, 63, 64, 255, -512];

/// A plausible insn.
fn of_form(rng: &mut Rng, form: u64) -> Insn {
    let (dst, src) = (rng.below(10) as u8, rng.below(11) as u8);
    let slot = -8 * (1 + rng.below(8) as i16);
    let imm = rng.pick(&SMALL);
    let near = 1 + rng.below(6) as i16;
    match form {
        0 => make(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0),
        1 => make(BPF_ALU | BPF_MOV | BPF_X, dst, src, 0, 0),
        2 => make(BPF_ALU64 | BPF_MOV, dst, 0, 0, imm),
        3 => make(BPF_STX | BPF_MEM | BPF_DW, 10, src.min(9), slot, 0),
        4 => make(BPF_LDX | BPF_MEM | BPF_DW, dst, 10, slot, 0),
        5 => {
            let size = rng.pick(&SIZES);
            make(BPF_STX | BPF_MEM | size, 10, src.min(9), slot + rng.below(8) as i16, 0)
        }
        6 => {
            let size = rng.pick(&SIZES);
            make(BPF_LDX | BPF_MEM | size, dst, 10, slot + rng.below(8) as i16, 0)
        }
        7 => {
            let class = rng.pick(&[BPF_ALU, BPF_ALU64]);
            make(class | rng.pick(&ALU_OPS), dst, 0, 0, imm)
        }
        8 => {
            let class = rng.pick(&[BPF_ALU, BPF_ALU64]);
            make(class | rng.pick(&ALU_OPS) | BPF_X, dst, src, 0, 0)
        }
        9 => {
            let class = rng.pick(&[BPF_JMP, BPF_JMP32]);
            make(class | rng.pick(&JUMPS), dst, 0, near, imm)
        }
        10 => {
            let class = rng.pick(&[BPF_JMP, BPF_JMP32]);
            make(class | rng.pick(&JUMPS) | BPF_X, dst, src, near, 0)
        }
        11 => make(BPF_JMP | BPF_JCOND, 0, 0, near - 4, 0),
        12 => make(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
        13 => make(BPF_JMP | BPF_CALL, 0, 0, 0, rng.pick(&[5, 7, 8, 14, 1, 2, 3])),
        14 => {
            let bits = rng.pick(&[8, 16, 32]);
            make(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, bits, 0)
        }
        15 => make(BPF_ST | BPF_MEM | rng.pick(&SIZES), 10, 0, slot, imm),
        16 => make(BPF_LDX | BPF_MEM | rng.pick(&SIZES), dst, src, near * 4 - 4, 0),
        _ => make(BPF_STX | BPF_MEM | rng.pick(&SIZES), dst, src.min(9), near * 4 - 4, 0),
    }
}

/// Number of forms.
const FORMS: u64 = 18;

pub(super) fn insn(rng: &mut Rng) -> Insn {
    let form = rng.below(FORMS);
    of_form(rng, form)
}

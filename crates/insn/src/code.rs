//! Constants of the encoding, with the names of RFC 9669 and `linux/bpf.h`.
//!
//! Source: RFC 9669 sections 3 to 5; `include/uapi/linux/bpf.h` (names and values are the ABI).

#![allow(missing_docs)]

/// Mask of the class bits of an opcode.
pub const CLASS_MASK: u8 = 0x07;
pub const BPF_LD: u8 = 0x00;
pub const BPF_LDX: u8 = 0x01;
pub const BPF_ST: u8 = 0x02;
pub const BPF_STX: u8 = 0x03;
pub const BPF_ALU: u8 = 0x04;
pub const BPF_JMP: u8 = 0x05;
pub const BPF_JMP32: u8 = 0x06;
pub const BPF_ALU64: u8 = 0x07;

/// Mask of the size bits of a load or store.
pub const SIZE_MASK: u8 = 0x18;
pub const BPF_W: u8 = 0x00;
pub const BPF_H: u8 = 0x08;
pub const BPF_B: u8 = 0x10;
pub const BPF_DW: u8 = 0x18;

/// Mask of the mode bits of a load or store.
pub const MODE_MASK: u8 = 0xe0;
pub const BPF_IMM: u8 = 0x00;
pub const BPF_ABS: u8 = 0x20;
pub const BPF_IND: u8 = 0x40;
pub const BPF_MEM: u8 = 0x60;
pub const BPF_MEMSX: u8 = 0x80;
pub const BPF_ATOMIC: u8 = 0xc0;

/// Mask of the operation bits of an ALU or jump insn.
pub const OP_MASK: u8 = 0xf0;
pub const BPF_ADD: u8 = 0x00;
pub const BPF_SUB: u8 = 0x10;
pub const BPF_MUL: u8 = 0x20;
pub const BPF_DIV: u8 = 0x30;
pub const BPF_OR: u8 = 0x40;
pub const BPF_AND: u8 = 0x50;
pub const BPF_LSH: u8 = 0x60;
pub const BPF_RSH: u8 = 0x70;
pub const BPF_NEG: u8 = 0x80;
pub const BPF_MOD: u8 = 0x90;
pub const BPF_XOR: u8 = 0xa0;
pub const BPF_MOV: u8 = 0xb0;
pub const BPF_ARSH: u8 = 0xc0;
pub const BPF_END: u8 = 0xd0;

pub const BPF_JA: u8 = 0x00;
pub const BPF_JEQ: u8 = 0x10;
pub const BPF_JGT: u8 = 0x20;
pub const BPF_JGE: u8 = 0x30;
pub const BPF_JSET: u8 = 0x40;
pub const BPF_JNE: u8 = 0x50;
pub const BPF_JSGT: u8 = 0x60;
pub const BPF_JSGE: u8 = 0x70;
pub const BPF_CALL: u8 = 0x80;
pub const BPF_EXIT: u8 = 0x90;
pub const BPF_JLT: u8 = 0xa0;
pub const BPF_JLE: u8 = 0xb0;
pub const BPF_JSLT: u8 = 0xc0;
pub const BPF_JSLE: u8 = 0xd0;
/// Conditional pseudo jump; `src_reg` 0 is `may_goto`.
pub const BPF_JCOND: u8 = 0xe0;
pub const BPF_MAY_GOTO: u8 = 0;

/// The source operand is the immediate.
pub const BPF_K: u8 = 0x00;
/// The source operand is the source register.
pub const BPF_X: u8 = 0x08;

/// `BPF_END` to little endian (or the unconditional `bswap` in class ALU64).
pub const BPF_TO_LE: u8 = 0x00;
pub const BPF_TO_BE: u8 = 0x08;

/// In the immediate of an atomic: return the old value.
pub const BPF_FETCH: i32 = 0x01;
pub const BPF_XCHG: i32 = 0xe0 | BPF_FETCH;
pub const BPF_CMPXCHG: i32 = 0xf0 | BPF_FETCH;
pub const BPF_LOAD_ACQ: i32 = 0x100;
pub const BPF_STORE_REL: i32 = 0x110;

/// `src_reg` of `ld_imm64`: the immediate is a map (file descriptor for the kernel, index here).
pub const BPF_PSEUDO_MAP_FD: u8 = 1;
pub const BPF_PSEUDO_MAP_VALUE: u8 = 2;
pub const BPF_PSEUDO_BTF_ID: u8 = 3;
pub const BPF_PSEUDO_FUNC: u8 = 4;
pub const BPF_PSEUDO_MAP_IDX: u8 = 5;
pub const BPF_PSEUDO_MAP_IDX_VALUE: u8 = 6;
/// `src_reg` of `call`: to a subprog of the same program, `imm` insns away.
pub const BPF_PSEUDO_CALL: u8 = 1;
pub const BPF_PSEUDO_KFUNC_CALL: u8 = 2;

/// `off` of `r = r` in ALU64 with `imm` 1: cast to or from an arena's address space.
pub const BPF_ADDR_SPACE_CAST: i16 = 1;

//! One insn as encoded, and the types of its fields.

use crate::code::*;
use std::fmt;

/// Index of an insn in its program, in units of 8-byte slots (`ld_imm64` takes two).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InsnIdx(pub u32);

impl InsnIdx {
    /// The index as a slice index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
    /// The insn `slots` further on; may be negative. Wraps: whoever follows jumps must check the
    /// range.
    pub fn offset(self, slots: i64) -> InsnIdx {
        InsnIdx((i64::from(self.0) + slots) as u32)
    }
}

impl fmt::Display for InsnIdx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A register number: 0 to 10 in a valid insn, up to 15 in a file.
pub type Reg = u8;

/// One 8-byte slot, decoded to host byte order. Second halves of `ld_imm64` have `code` 0.
///
/// Fields have the kernel's names and ranges (`struct bpf_insn`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Insn {
    /// Opcode: class in the low three bits.
    pub code: u8,
    /// Destination register, 0 to 15.
    pub dst: Reg,
    /// Source register or pseudo kind, 0 to 15.
    pub src: Reg,
    /// Signed offset: bytes for memory, insns for jumps.
    pub off: i16,
    /// Signed immediate.
    pub imm: i32,
}

impl Insn {
    /// Class bits: `BPF_LD` to `BPF_ALU64`.
    #[inline]
    pub fn class(self) -> u8 {
        self.code & CLASS_MASK
    }
    /// Operation bits of an ALU or jump insn.
    #[inline]
    pub fn op(self) -> u8 {
        self.code & OP_MASK
    }
    /// Whether the source operand is a register (`BPF_X`).
    #[inline]
    pub fn is_src_reg(self) -> bool {
        self.code & BPF_X != 0
    }
    /// Mode bits of a load or store.
    #[inline]
    pub fn mode(self) -> u8 {
        self.code & MODE_MASK
    }
    /// Size bits of a load or store.
    pub fn size(self) -> u8 {
        self.code & SIZE_MASK
    }
    /// Bytes that a load or store touches: 1, 2, 4 or 8.
    #[inline]
    pub fn size_bytes(self) -> u32 {
        match self.size() {
            BPF_B => 1,
            BPF_H => 2,
            BPF_W => 4,
            _ => 8,
        }
    }
    /// Whether this is a conditional jump.
    pub fn is_conditional_jump(self) -> bool {
        let is_jump = matches!(self.class(), BPF_JMP | BPF_JMP32);
        is_jump && !matches!(self.op(), BPF_JA | BPF_CALL | BPF_EXIT)
    }
    /// The target of this jump, conditional or not, at index `at`; none for calls. `None` also if
    /// the target is not a valid index.
    pub fn jump_target(self, at: usize) -> Option<usize> {
        let is_jump = matches!(self.class(), BPF_JMP | BPF_JMP32);
        if !is_jump || matches!(self.op(), BPF_CALL | BPF_EXIT) {
            return None;
        }
        let is_long = self.code == BPF_JMP32 | BPF_JA;
        let off = if is_long { self.imm as isize } else { isize::from(self.off) };
        at.checked_add(1)?.checked_add_signed(off)
    }
    /// Whether this calls a function of the program.
    pub fn is_pseudo_call(self) -> bool {
        self.code == BPF_JMP | BPF_CALL && self.src == BPF_PSEUDO_CALL
    }
    /// Whether this calls a helper.
    pub fn is_helper_call(self) -> bool {
        self.code == BPF_JMP | BPF_CALL && self.src == 0
    }
    /// Whether this is the first slot of `ld_imm64`.
    pub fn is_ld_imm64(self) -> bool {
        self.code == BPF_LD | BPF_IMM | BPF_DW
    }
}

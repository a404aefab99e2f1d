//! The jump history: how the path went since the last checkpoint, for precision backtracking.
//!
//! Kernel: `struct bpf_jmp_history_entry` (6.18).

use super::stack::BPF_REG_SIZE;

/// What is special about the insn besides having been walked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Access {
    #[default]
    None,
    /// It reads or writes the stack slot `spi` of frame `frameno`.
    Stack { frameno: u8, spi: u8 },
    /// A conditional jump that compares a stack pointer, which has no precision.
    StackPtr { dst: bool, src: bool },
}

impl Access {
    /// The access at `off` (negative) of frame `frameno`.
    pub(crate) fn stack(frameno: u32, off: i32) -> Access {
        Access::Stack { frameno: frameno as u8, spi: ((-off - 1) / BPF_REG_SIZE) as u8 }
    }
}

/// A register or spilled register that shares its id with others at a conditional jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkedReg {
    pub(crate) frameno: u8,
    pub(crate) is_reg: bool,
    /// Register number or spi.
    pub(crate) at: u8,
}

/// At most this many linked registers are remembered for one jump.
pub(crate) const LINKED_REGS_MAX: usize = 6;

/// A few linked registers, packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinkedRegs {
    len: u8,
    /// `frameno << 1 | is_reg`, `at`.
    entries: [(u8, u8); LINKED_REGS_MAX],
}

impl LinkedRegs {
    /// Adds one; false (and nothing added) if full.
    pub(crate) fn push(&mut self, linked: LinkedReg) -> bool {
        let Some(entry) = self.entries.get_mut(self.len as usize) else { return false };
        *entry = (linked.frameno << 1 | linked.is_reg as u8, linked.at);
        self.len += 1;
        true
    }
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }
    pub(crate) fn iter(&self) -> impl Iterator<Item = LinkedReg> + '_ {
        self.entries[..self.len as usize].iter().map(|&(tag, at)| LinkedReg {
            frameno: tag >> 1,
            is_reg: tag & 1 == 1,
            at,
        })
    }
}

/// One remembered step: `insn_idx` was reached from `prev_idx`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JmpEntry {
    pub(crate) insn_idx: u32,
    pub(crate) prev_idx: u32,
    pub(crate) access: Access,
    pub(crate) linked: LinkedRegs,
}

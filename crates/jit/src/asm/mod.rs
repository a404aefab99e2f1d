//! The assembler: a table of forms, one encoder, labels.

mod buffer;
mod encode;
pub(crate) mod forms;
#[cfg(test)]
mod forms_tests;

pub(crate) use buffer::{AbsCall, Asm, Hints, Label};
pub(crate) use encode::{Form, Mem, Operands, Rm, Width};

/// A register of the processor, by its number in encodings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct X86(pub(crate) u8);

#[allow(missing_docs)]
impl X86 {
    pub(crate) const RAX: X86 = X86(0);
    pub(crate) const RCX: X86 = X86(1);
    pub(crate) const RDX: X86 = X86(2);
    pub(crate) const RBX: X86 = X86(3);
    pub(crate) const RSP: X86 = X86(4);
    pub(crate) const RBP: X86 = X86(5);
    pub(crate) const RSI: X86 = X86(6);
    pub(crate) const RDI: X86 = X86(7);
    pub(crate) const R8: X86 = X86(8);
    pub(crate) const R9: X86 = X86(9);
    pub(crate) const R10: X86 = X86(10);
    pub(crate) const R11: X86 = X86(11);
    pub(crate) const R12: X86 = X86(12);
    pub(crate) const R13: X86 = X86(13);
    pub(crate) const R14: X86 = X86(14);
    pub(crate) const R15: X86 = X86(15);
}

/// A condition, by its number in `jcc`; the lowest bit negates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cc(pub(crate) u8);

impl Cc {
    /// The condition that holds where this one does not.
    pub(crate) fn negated(self) -> Cc {
        Cc(self.0 ^ 1)
    }

    pub(crate) const B: Cc = Cc(2);
    pub(crate) const AE: Cc = Cc(3);
    pub(crate) const E: Cc = Cc(4);
    pub(crate) const NE: Cc = Cc(5);
    pub(crate) const BE: Cc = Cc(6);
    pub(crate) const A: Cc = Cc(7);
    pub(crate) const S: Cc = Cc(8);
    pub(crate) const NS: Cc = Cc(9);
    pub(crate) const L: Cc = Cc(12);
    pub(crate) const GE: Cc = Cc(13);
    pub(crate) const LE: Cc = Cc(14);
    pub(crate) const G: Cc = Cc(15);
}

//! What insns operate on: registers, memory, conditions, widths.

/// Width of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Width {
    /// 32 bits; writing a register clears its upper half.
    W32,
    /// 64 bits.
    W64,
}

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

/// An address: `[base + index * 2^scale + disp]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mem {
    pub(crate) base: X86,
    /// Never `rsp`.
    pub(crate) index: Option<(X86, u8)>,
    pub(crate) disp: i32,
}

impl Mem {
    pub(crate) const fn base(base: X86, disp: i32) -> Mem {
        Mem { base, index: None, disp }
    }
}

/// The operand that may be memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rm {
    Reg(X86),
    Mem(Mem),
}

impl Rm {
    /// The bits that extend `index` (X) and `base` or register (B).
    pub(super) fn extensions(self) -> (u8, u8) {
        match self {
            Rm::Reg(reg) => (0, reg.0 >> 3),
            Rm::Mem(mem) => (mem.index.map_or(0, |(index, _)| index.0 >> 3), mem.base.0 >> 3),
        }
    }

    pub(super) fn needs_byte_rex(self) -> bool {
        matches!(self, Rm::Reg(X86(4..=7)))
    }
}

/// The operands of an insn, as required by its form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operands {
    pub(crate) width: Width,
    /// The register in `reg`.
    pub(crate) reg: X86,
    /// The register in `vvvv` of VEX forms.
    pub(crate) vvvv: X86,
    pub(crate) rm: Rm,
    pub(crate) imm: i64,
}

//! `Form`: a row of the table of forms.

/// The opcode map of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Map {
    /// One byte.
    One,
    /// After `0F`.
    Of,
    /// After `0F 38`.
    Of38,
    /// VEX, map `0F 38`, with the third operand in `vvvv`.
    Vex38,
    /// VEX, map `0F 3A`.
    Vex3a,
}

/// The contents of the `reg` field, and where the register is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A register in `reg`, a register or memory in `rm`.
    Reg,
    /// A digit in `reg`, a register or memory in `rm`.
    Digit(u8),
    /// The register is in the opcode.
    Plus,
    /// No operand except the immediate.
    Bare,
}

/// What follows the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Imm {
    None,
    I8,
    I16,
    I32,
    I64,
}

/// Size of the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    /// According to the width, by REX.W.
    Width,
    /// According to the width, but `rm` is a byte.
    RmByte,
    /// Bytes.
    Byte,
    /// 16 bits, by the prefix `66`.
    Word,
    /// 64 bits without REX.W, or none.
    Implied,
}

/// One row of the table of forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) mnemonic: &'static str,
    /// `F0`, `66`, `F2`, `F3` or 0.
    pub(crate) prefix: u8,
    pub(crate) map: Map,
    pub(crate) opcode: u8,
    pub(crate) shape: Shape,
    pub(crate) imm: Imm,
    pub(crate) operand: Operand,
}

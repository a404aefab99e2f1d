//! `Draft`: an insn as read, before the name in it is resolved.
//!
//! Opcodes come from the table: a statement says which form it wants and which bits of the opcode,
//! and takes the first row that has them.

use super::token::{Cursor, Token};
use crate::Insn;
use crate::table::{Form, OPCODES, Select};

/// An insn as read, with the name in it that is still to be resolved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draft<'a> {
    pub(super) insn: Insn,
    /// Second slot of an `ld_imm64`.
    pub(super) second: Option<Insn>,
    pub(super) symbol: Option<Symbol<'a>>,
}

/// A name that stands for a number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Symbol<'a> {
    /// Label, distance in `off`.
    Jump(&'a str),
    /// Label, distance in `imm`.
    LongJump(&'a str),
    /// Label of a subprog, or else a helper.
    Call(&'a str),
    /// Label of a subprog, distance in `imm` of an `ld_imm64`.
    Func(&'a str),
    /// Map of an `ld_imm64`.
    Map(&'a str),
    /// Variable of the kernel in an `ld_imm64`.
    Ksym(&'a str),
    /// Function of the kernel in a `call`.
    Kfunc(&'a str),
}

/// Resolves the name of a helper.
pub(super) type HelperId<'h> = &'h dyn Fn(&str) -> Option<u32>;

impl From<Insn> for Draft<'_> {
    fn from(insn: Insn) -> Self {
        Draft { insn, second: None, symbol: None }
    }
}

/// The insn of the first row with such a form and, under `mask`, such bits of the opcode; the field
/// that selects the form is set.
pub(super) fn pick(form: impl Fn(Form) -> bool, mask: u8, bits: u8) -> Option<Insn> {
    let row = OPCODES.iter().find(|row| row.code & mask == bits && form(row.form))?;
    let insn = Insn { code: row.code, ..Insn::default() };
    Some(match row.select {
        Select::Any => insn,
        Select::Src(src) => Insn { src, ..insn },
        Select::Off(off) => Insn { off, ..insn },
        Select::Imm(imm) => Insn { imm, ..insn },
    })
}

/// The operator at the cursor, if it is one.
pub(super) fn op_at(cursor: &Cursor<'_>) -> Option<&'static str> {
    match cursor.token() {
        Token::Op(op) => Some(op),
        _ => None,
    }
}

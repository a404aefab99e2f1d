//! A row of the tables of insns added to context accesses.

/// Not known, or refused.
pub(super) const X: u8 = u8::MAX;

/// A field; see the tables for the columns.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) load: u8,
    pub(super) bytes: u8,
    pub(super) same: u8,
    pub(super) sign: u8,
    pub(super) store_reg: u8,
    pub(super) store_imm: u8,
}

#[allow(clippy::too_many_arguments, reason = "one row of a table a call")]
pub(super) const fn row(
    name: &'static str,
    load: u8,
    bytes: u8,
    same: u8,
    sign: u8,
    store_reg: u8,
    store_imm: u8,
) -> Row {
    Row { name, load, bytes, same, sign, store_reg, store_imm }
}

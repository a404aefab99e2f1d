//! `LayoutRow`: the context of one kind of program, as a table has it.

use super::field::CtxField;
use crate::ProgType;
use crate::helper::AttachSet;

/// How the context of a kind of program is described.
#[derive(Clone, Copy, Debug)]
pub enum CtxLayout {
    /// By the rows of a table.
    Fields(&'static [CtxField]),
    /// As the arguments of a function in the kernel's BTF, 8 bytes each (tracing, LSM,
    /// struct_ops), or as the context of the program that is replaced (ext).
    Btf,
}

#[derive(Debug)]
pub(super) struct LayoutRow {
    pub(super) prog_type: ProgType,
    pub(super) attach: AttachSet,
    pub(super) layout: CtxLayout,
}

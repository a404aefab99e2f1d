//! The assembler: a table of forms, one encoder, labels.

mod buffer;
mod encode;
mod form;
pub(crate) mod forms;
#[cfg(test)]
mod forms_tests;
mod operands;

pub(crate) use buffer::{AbsCall, Asm, Label, Moved};
pub(crate) use form::Form;
pub(crate) use operands::{Cc, Mem, Operands, Rm, Width, X86};

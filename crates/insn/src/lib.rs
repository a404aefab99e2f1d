//! The BPF instruction set: one opcode table; decodes, encodes, prints and parses the kernel's
//! notation.

#![forbid(unsafe_code)]

pub mod asm;
pub mod code;
mod decode;
mod error;
mod insn;
mod ld_imm64;
mod print;
pub mod table;

pub use decode::{Endian, INSN_BYTES, decode_all, encode_all};
pub use error::Error;
pub use insn::{Insn, InsnIdx, Reg};
pub use print::{InsnNames, NoNames, write_insn};
pub use table::Opcode;

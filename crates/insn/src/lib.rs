//! The BPF instruction set: one opcode table; decode, encode, print and read the kernel's notation.

#![forbid(unsafe_code)]

pub mod code;
mod insn;

pub use insn::{Insn, InsnIdx, Reg};

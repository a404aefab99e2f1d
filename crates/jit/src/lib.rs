//! `VerifiedProgram` to `MachineCode` for x86-64. Emits, never judges.
//!
//! In reading order: [`lower`](self) makes one `Op` of each insn, the passes in `opt` rewrite ops in
//! place, `emit` writes each op with the forms of `asm`, `image` keeps the bytes where they can be
//! executed and not written.

#![deny(unsafe_code)]

mod error;
mod linkage;
mod tuning;

pub use error::Error;
pub use linkage::{ArrayLink, Linkage, MAX_TAIL_CALL_CNT, MapLink, ProgArrayLink, RunEnv};
pub use tuning::{CpuFeatures, Passes, Prologue, Tuning};

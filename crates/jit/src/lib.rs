//! `VerifiedProgram` to `MachineCode` for x86-64. Emits, never judges.
//!
//! In reading order: `lower` makes one op of each insn, the passes in `opt` rewrite ops in place,
//! `emit` writes each op with the forms of `asm`, `image` keeps the bytes where they can be
//! executed and not written.

#![deny(unsafe_code)]

mod asm;
mod compile;
mod emit;
mod error;
mod flow;
mod frame;
mod image;
mod linkage;
mod lower;
mod machine_code;
mod op;
mod opt;
mod pc_map;
pub mod perf;
mod regs;
mod sites;
mod tuning;

pub use compile::compile;
pub use error::Error;
pub use image::JitdumpMarker;
pub use linkage::{ArrayLink, Linkage, MAX_TAIL_CALL_CNT, MapLink, ProgArrayLink, RunEnv};
pub use machine_code::{EntryFn, MachineCode};
pub use pc_map::PcMap;
pub use sites::{RetargetSite, SwitchSite};
pub use tuning::{CpuFeatures, Passes, Prologue, Tuning};

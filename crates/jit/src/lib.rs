//! Compiles a verified program's rewritten insns (`Xlated`) to `MachineCode` for x86-64. Makes no
//! safety decisions.
//!
//! In reading order: `lower` turns each insn into one op, the passes in `opt` rewrite ops in place,
//! `emit` encodes each op with the forms of `asm`. The result is bytes and relocations; the crate
//! `skep-text` places them in executable, non-writable memory.

#![forbid(unsafe_code)]

mod asm;
mod compile;
mod compiled;
pub mod coverage;
mod emit;
mod error;
mod flow;
mod frame;
mod linkage;
mod lower;
mod op;
mod ops;
mod opt;
mod pc_map;
mod regs;
mod sites;
pub mod stats;
mod tuning;

pub use compile::compile;
pub use compiled::{CodeInfo, Compiled, Relocations, Symbol};
pub use error::Error;
pub use linkage::{
    ArrayLink, Linkage, MAX_TAIL_CALL_CNT, MapLink, PercpuLink, ProgArrayLink, RunEnv,
};
pub use pc_map::PcMap;
pub use sites::{PatchKind, PatchSite, RetargetSite, SwitchSite, TailCallSite};
pub use tuning::{CpuFeatures, Passes, PokeMode, Prologue, Tuning};

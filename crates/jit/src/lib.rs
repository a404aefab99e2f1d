//! Compiles a verified program's rewritten insns (`Xlated`) to machine code for x86-64: bytes, and
//! the relocations that say what depends on their place ([`Compiled`]). A pure function: it neither
//! looks at the host nor has memory that could be executed, which is `skep-text`'s. Emits, never
//! judges.
//!
//! In reading order: `lower` turns each insn into one op, the passes in `opt` rewrite ops in place,
//! and `emit` encodes each op with the forms of `asm`.

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

//! Compiles a verified program's rewritten insns (`Xlated`) to [`MachineCode`] for x86-64. Makes no
//! safety decisions.
//!
//! In reading order: `lower` turns each insn into one op, the passes in `opt` rewrite ops in place,
//! `emit` encodes each op with the forms of `asm`, and `image` places the bytes in executable,
//! non-writable memory.

#![deny(unsafe_code)]

mod answer;
mod asm;
mod bare;
mod compile;
pub mod coverage;
mod edit;
#[cfg(test)]
mod edit_tests;
pub mod elf_symbols;
mod emit;
mod error;
mod flow;
pub mod fork;
mod frame;
mod image;
mod linkage;
mod lower;
mod machine_code;
mod op;
mod opt;
mod pc_map;
pub mod perf;
mod pool;
mod regs;
mod sites;
pub mod stats;
mod text;
pub mod thread_word;
mod tuning;

/// The atomics used by `edit`.
use std::sync::atomic;

pub use bare::BareCode;
pub use compile::compile;
pub use edit::{EDITS_MAX, EditError, Edits};
pub use error::Error;
pub use image::{JitdumpMarker, generation, patching_is_refused, reuse_when};
pub use image::{synchronise, synchronising_is_refused};
pub use linkage::{
    ArrayLink, Linkage, MAX_TAIL_CALL_CNT, MapLink, PercpuLink, ProgArrayLink, RunEnv,
};
pub use machine_code::{EntryFn, MachineCode};
pub use pc_map::PcMap;
pub use sites::{PatchKind, PatchSite, RetargetSite, SwitchSite, TailCallSite};
pub use text::{Jump, Switch, Target, TextLock};
pub use tuning::{CpuFeatures, Passes, PokeMode, Prologue, Tuning};

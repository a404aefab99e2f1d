//! Memory for machine code: never writable and executable at once, copied for children of `fork`,
//! and the only place where running code is changed.
//!
//! Reading order: [`MachineCode`] (a program of `skep-jit` in memory), `pool`, `memory` and `image`
//! (memory for code), `text` and `edit` (sites that may be changed while threads run them),
//! [`poke`] (batches of changes). `docs/live-patching.md` explains why that is safe.

#![deny(unsafe_code)]

mod atomic;
mod bare;
mod edit;
#[cfg(test)]
mod edit_tests;
pub mod elf_symbols;
mod error;
mod image;
mod jitdump_marker;
mod machine_code;
mod memory;
pub mod perf;
pub mod poke;
mod pool;
mod text;

pub use bare::BareCode;
pub use edit::{EDITS_MAX, EditError, Edits};
pub use error::Error;
pub use jitdump_marker::JitdumpMarker;
pub use machine_code::{EntryFn, MachineCode, compile};
pub use memory::patching_is_refused;
pub use text::{Jump, Switch, TailCall, Target, TextLock};

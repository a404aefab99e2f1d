//! Runs verified programs in this process: maps, helpers, contexts, instances.
//!
//! Reading order: [`Runtime`] (maps and programs live here), [`ObjectMaps`], [`Instance`] (runs),
//! [`Ctx`] (the argument of a run), `engine` (passes a run to machine code or to the interpreter),
//! `helper` (functions that programs call), [`map`] (memory that programs share); `memory`, `epoch`
//! and `spin` are below all of these.
//!
//! Programs use real addresses on both engines. The interpreter checks each access against the
//! memory that the run may use; machine code relies on the verifier's proof.

#![deny(unsafe_code)]

mod atomics;
mod callback;
mod code_view;
mod coverage;
mod ctx;
mod current;
mod engine;
mod engine_choice;
mod errno;
mod error;
mod helper;
mod image;
mod instance;
pub mod map;
mod object_maps;
mod objects;
mod observer;
mod processor;
mod prog_info;
mod recorded;
mod run;
mod runtime;
mod shared;
mod stats;
mod timer;
mod trace;
mod tree;

pub use code_view::CodeView;
pub use coverage::{Coverage, FunctionRuns, InsnRuns};
pub use ctx::{Ctx, Lent, takes_packet};
pub use engine_choice::Engine;
pub use errno::Errno;
pub use error::{Error, ErrorKind};
pub use helper::supported as supported_helpers;
pub use helper::supported_kfuncs;
pub use instance::{Instance, RunResult, TestRun, placed_code};
pub use object_maps::ObjectMaps;
pub use observer::Observer;
pub use prog_info::ProgInfo;
pub use run::{Interrupter, Redirect, Tunnel};
pub use runtime::{LoadOptions, Options, Runtime};
pub use skep_jit::{CpuFeatures, Passes, PatchKind, PatchSite, PokeMode, Prologue, Symbol, Tuning};
pub use skep_mem::epoch::THREADS_MAX;
pub use skep_text::poke;
pub use stats::{ClockError, ClockSource, HostClock, ProgStats, StatsGuard, StatsOptions};
pub use zerocopy;

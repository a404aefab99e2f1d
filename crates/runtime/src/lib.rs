//! Runs verified programs in this process: maps, helpers, contexts, instances.
//!
//! Reading order: [`Runtime`] (maps and programs live here), [`ObjectMaps`], [`Instance`] (runs),
//! [`Ctx`] (the argument of a run), `engine` (hands a run to machine code or to the
//! interpreter), `helper` (what programs call), [`map`] (what programs share). Below all of these
//! are `skep-mem` (memory, epochs) and `skep-text` (machine code in its place).
//!
//! Programs get real addresses on either engine. The interpreter checks each of its accesses
//! against the memory that the run may use; for machine code the verifier has proved them.

#![deny(unsafe_code)]

mod atomics;
mod callback;
mod coverage;
mod ctx;
mod current;
mod engine;
mod engine_choice;
mod enter;
mod errno;
mod error;
mod helper;
mod image;
mod instance;
pub mod map;
mod object_maps;
mod objects;
mod observer;
mod prog_info;
mod recorded;
mod run;
mod runtime;
mod shared;
mod stats;
mod timer;
mod trace;

pub use coverage::{Coverage, FunctionRuns, InsnRuns};
pub use ctx::{Ctx, Lent, takes_packet};
pub use engine_choice::Engine;
pub use errno::Errno;
pub use error::{Error, ErrorKind};
pub use helper::supported as supported_helpers;
pub use helper::supported_kfuncs;
pub use instance::{Instance, RunResult};
pub use object_maps::ObjectMaps;
pub use observer::Observer;
pub use prog_info::ProgInfo;
pub use run::{Interrupter, Redirect, Tunnel};
pub use runtime::{LoadOptions, Options, Runtime};
pub use skep_jit::{CpuFeatures, Passes, PokeMode, Prologue, Tuning};
pub use skep_mem::epoch::THREADS_MAX;
pub use skep_text::poke;
pub use stats::{ClockError, ClockSource, HostClock, ProgStats, StatsGuard, StatsOptions};
pub use zerocopy;

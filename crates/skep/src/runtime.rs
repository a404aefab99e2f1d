//! Runs verified programs in this process: maps, helpers, contexts, instances. Everything here is
//! safe to call in any order, from any thread.

pub use skep_runtime::map;
pub use skep_runtime::{
    ClockError, ClockSource, CodeView, Coverage, CpuFeatures, Ctx, Engine, Errno, Error, ErrorKind,
    FunctionRuns, HostClock, InsnRuns, Instance, Interrupter, Lent, LoadOptions, ObjectMaps,
    Observer, Options, Passes, PatchKind, PatchSite, PokeMode, ProgInfo, ProgStats, Prologue,
    Redirect, RunResult, Runtime, StatsGuard, StatsOptions, Symbol, THREADS_MAX, TestRun, Tuning,
    Tunnel, supported_helpers, supported_kfuncs, takes_packet,
};

/// How running code is modified on this host.
pub mod poke {
    pub use skep_runtime::poke::{mode, take_notice};
}

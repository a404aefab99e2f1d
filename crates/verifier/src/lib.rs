//! Program to `VerifiedProgram` or `Rejection`: a pure function with the kernel's verdict, counts
//! and log.
//!
//! [`verify`] shows the structure: passes over the whole program, the walk over all paths, checks
//! after the walk. It sees no file, clock or address: the same program and configuration always
//! give the same log.
//!
//! Kernel: `bpf_check` (6.18).

#![forbid(unsafe_code)]

mod callees;
mod check;
mod config;
mod env;
mod explore;
mod fixup;
mod held_bytes;
mod insn_aux;
mod judge;
mod kernel_hole;
mod log;
mod memory;
mod passes;
mod precision;
mod rejection;
mod second_walk;
mod setup;
mod stack_touch;
mod state;
mod stats;
pub mod trace;
mod tuning;
mod verified_program;
mod walk_end;
#[doc(hidden)]
pub mod watch;
mod xlated;

pub use config::{
    Config, ErrorInjection, KernelSymbols, Privileges, RefusedCalls, RefusesCall, TakesErrors,
};
pub use fixup::INLINED_HELPERS;
pub use judge::{Outcome, Verdict, VerdictOf};
pub use kernel_hole::{HoleKind, KernelHole};
pub use rejection::{
    Acquired, AttachFault, Because, CallChain, CallFault, ChainFrame, FlowFault, FuncFault,
    InsnFault, KfuncFault, KindRow, KnownRange, MemFault, Name, Operand, OperandValue, OtherRule,
    PrototypeFault, Regno, RejectKind, Rejection, Unreleased, Word,
};
pub use state::reg_type::{Base, RegType};
pub use stats::{FastPaths, MemBytes, VerifierStats};
pub use tuning::{
    BacktrackSkip, IdmapReset, StateAlloc, TUNING_KEYS, Tuning, TuningKey, UnknownTuning,
};
pub use verified_program::VerifiedProgram;
pub use xlated::{AX, InsnFacts, MAY_GOTO_MAX, NotSupported, OwnHelper, SubprogFacts, Xlated};

use env::{Setup, Trace};
use skep_program::Program;

/// Verifies `program`.
pub fn verify(program: &Program, config: &Config) -> Outcome {
    let program = check::replaced::as_replaced(program);
    judge::judge(Setup::new(&program, config, false, Trace::new(config))).0
}

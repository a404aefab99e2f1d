//! The reference interpreter: executes one insn after another, with every memory access checked by
//! the [`Host`]. It is the oracle for the JIT, and runs programs where there is no JIT.
//!
//! Deliberately absent: performance optimisations, and any knowledge of memory, maps and helpers,
//! which the [`Host`] provides.

#![forbid(unsafe_code)]

mod alu;
mod fault;
mod flat_memory;
mod hits;
mod host;
mod machine;
mod memory;
mod watch;

pub use fault::{Fault, FaultKind};
pub use flat_memory::FlatMemory;
pub use hits::Hits;
pub use host::{AtomicAccess, AtomicOp, Host, Linked, MapLink, Stack, Vm};
pub use machine::{CALLBACK_DEPTH_MAX, Exit, Limits, call, run};
#[doc(hidden)]
pub use watch::{At, Watch, watched};

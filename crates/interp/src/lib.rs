//! The obvious interpreter: one insn after the other, every access to memory checked by the host.
//! It is the oracle that the JIT is compared with, and what runs where there is no JIT.
//!
//! Deliberately absent: speed, and any opinion of its own on memory, maps and helpers; those are
//! the [`Host`]'s.

#![forbid(unsafe_code)]

mod alu;
mod fault;
mod flat_memory;
mod host;
mod machine;
mod memory;

pub use fault::{Fault, FaultKind};
pub use flat_memory::FlatMemory;
pub use host::{AtomicAccess, AtomicOp, Host, Linked, MapLink, Stack};
pub use machine::{Exit, Limits, Vm, call, run};

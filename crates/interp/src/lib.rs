//! The obvious interpreter: one insn after the other, every access to memory checked by the host.
//! It is the oracle that the JIT is compared with, and what runs where there is no JIT.
//!
//! Deliberately absent: speed, and any opinion of its own on memory, maps and helpers; those are
//! the [`Host`]'s.

#![forbid(unsafe_code)]

mod fault;
mod host;
mod machine;

pub use fault::{Fault, FaultKind};
pub use host::{AtomicAccess, AtomicOp, Host, Linked, MapLink, Stack};
pub use machine::{Exit, Limits, Vm, call, run};

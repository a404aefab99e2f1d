//! The host kernel as a judge, through bpf(2): loads a program from its definition, reads the
//! result, and closes everything again. Nothing is attached or pinned, no setting is changed.
//!
//! Reading order: [`bpf`] (the system call; the one file with `unsafe`), [`judge`] (judges a
//! `Program`), [`held`] (the same for many programs that share maps and BTF), [`kernel_log`]
//! (parses the log), [`wire`] (programs for a kernel in a virtual machine).
//!
//! If bpf(2) is not available, [`bpf::available`] says so, and the caller skips. Callers that
//! compare with expected values must also check [`mod@reference`]: those are specific to a version.

#![deny(unsafe_code)]

pub mod bpf;
pub mod held;
pub mod judge;
pub mod kernel_log;
mod maps;
mod modules;
mod not_judged;
pub mod reference;
pub mod run;
pub mod wire;
mod wire_bytes;

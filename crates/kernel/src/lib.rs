//! The host kernel as a judge, through bpf(2): loads a program as its definition says, reads the
//! answer, and closes everything again. Nothing is attached or pinned, no setting is changed.
//!
//! Reading order: [`bpf`] (the system call; the one file with `unsafe`), [`judge`] (a `Program` in,
//! the kernel's answer out), [`held`] (the same for many
//! programs that share maps and BTF), [`kernel_log`] (what the answer's log says), [`wire`]
//! (programs for a kernel in another machine).
//!
//! Where bpf(2) is refused, [`bpf::available`] says so, and the caller skips. Who holds the answers
//! against expected values asks [`mod@reference`] too: those are of one version.

#![deny(unsafe_code)]

pub mod bpf;
pub mod held;
pub mod judge;
pub mod kernel_log;
mod maps;
mod modules;
pub mod reference;
pub mod run;
pub mod wire;
mod wire_bytes;

//! The library that embedders depend on: load, verify and inspect BPF objects.
//!
//! [`Session`] opens files against a [`Host`] and verifies their programs; the crates of the
//! pipeline are re-exported under their own names.

#![forbid(unsafe_code)]

mod error;
mod host;
mod session;
mod verification;

pub use error::Error;
pub use host::{Host, KernelBtf};
pub use session::{Session, contain_panic, panic_text};
pub use skep_btf as btf;
pub use skep_domain as domain;
pub use skep_insn as insn;
pub use skep_object as object;
pub use skep_program as program;
pub use skep_uapi as uapi;
pub use skep_verifier as verifier;
pub use verification::{Counts, Refusal, Verdict, Verification, VerifyOptions};

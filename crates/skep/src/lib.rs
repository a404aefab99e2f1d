//! The library that embedders depend on: load, verify and inspect BPF objects.

#![forbid(unsafe_code)]

pub use skep_btf as btf;
pub use skep_domain as domain;
pub use skep_insn as insn;
pub use skep_object as object;
pub use skep_program as program;
pub use skep_uapi as uapi;
pub use skep_verifier as verifier;

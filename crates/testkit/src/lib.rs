//! Reads the Markdown suites and runs each case on every engine that can judge it, including the
//! host kernel.
//!
//! Reading order: `skep_kernel` (the kernel's result), [`engine`] (our result), [`judge`] (whether
//! the kernel is available), [`suite`] (the Markdown suites), [`exec`] (cases that run).

#![deny(unsafe_code)]

pub mod engine;
pub mod exec;
pub mod forked;
pub mod host;
pub mod judge;
pub mod objects;
pub mod rng;
pub mod suite;

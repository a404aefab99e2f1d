//! The judge: reads the Markdown suites, runs each case on every engine that can judge it, the host
//! kernel among them.
//!
//! Reading order: `skep_kernel` (the kernel's answer), [`engine`] (our answer), [`judge`] (whether
//! the kernel can be asked), [`suite`] (the
//! Markdown suites), [`exec`] (cases that run).

#![deny(unsafe_code)]

pub mod engine;
pub mod exec;
pub mod forked;
pub mod judge;
pub mod rng;
pub mod suite;

//! The judge: reads the Markdown suites, runs each case on every engine that can judge it, and asks
//! the host kernel.
//!
//! Reading order: [`kernel`] (bpf(2)), [`judge`] (a `Program` in, the kernel's answer out),
//! [`kernel_log`] (what the answer's log says), [`engine`] (our answer), [`suite`] (the Markdown
//! suites).

#![deny(unsafe_code)]

pub mod engine;
pub mod judge;
pub mod kernel;
pub mod kernel_log;
pub mod suite;

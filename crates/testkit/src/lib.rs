//! The judge: reads the Markdown suites, runs each case on every engine that can judge it, and asks
//! the host kernel.
//!
//! Reading order: [`kernel`] (bpf(2)).

#![deny(unsafe_code)]

pub mod kernel;

//! The tests of this crate that share a process: one binary, so that they run side by side.

mod against_kernel;
mod as_loaded;
mod fuzz_corpus;
mod golden;
mod hostile;
mod lenient;
mod many;
mod refused;

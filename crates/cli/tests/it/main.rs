//! The tests of this crate that share a process: one binary, so that they run side by side.

mod action;
mod bad_files;
mod baseline;
#[cfg(feature = "run")]
mod captures;
mod fuzz_corpus;
mod helps;
mod html;
#[cfg(feature = "run")]
mod jited;
#[cfg(feature = "run")]
mod json;
mod kernel_probe;
mod kernel_table;
mod process;
mod programs;
mod refusals;
#[cfg(feature = "run")]
mod run;
#[cfg(feature = "run")]
mod suite;
#[cfg(feature = "run")]
mod tour;

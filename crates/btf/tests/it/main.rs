//! The tests of this crate that share a process: one binary, so that they run side by side.

mod access;
mod fields;
mod fuzz_corpus;
mod parse;
mod vmlinux;

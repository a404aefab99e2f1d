//! The tests of this crate that share a process: one binary, so that they run side by side.

mod fuzz_corpus;
mod kernel_notation;
mod notation;
mod notation_round_trip;

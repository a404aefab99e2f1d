//! The tests of this crate that share a process: one binary, so that they run side by side.

mod borrowed;
mod ctx_growth;
mod examples;
mod exec_coverage;
mod fuzz_corpus;
mod jump_reach;
mod kernel_holes;
mod objects;
mod refusals;
mod refused;
mod stopped;
mod tail_calls;
mod traced;
mod user_ringbuf;

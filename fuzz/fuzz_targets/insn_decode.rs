//! `cargo fuzz run insn_decode`: see the body.

#![no_main]

#[path = "../bodies/insn_decode.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));

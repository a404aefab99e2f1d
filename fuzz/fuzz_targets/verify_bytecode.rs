//! `cargo fuzz run verify_bytecode`: see the body.

#![no_main]

#[path = "../bodies/verify_bytecode.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));

//! `cargo fuzz run btf_parse`: see the body.

#![no_main]

#[path = "../bodies/btf_parse.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));

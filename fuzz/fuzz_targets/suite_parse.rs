//! `cargo fuzz run suite_parse`: see the body.

#![no_main]

#[path = "../bodies/suite_parse.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));

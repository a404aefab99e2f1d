//! `cargo fuzz run object_open`: see the body.

#![no_main]

#[path = "../bodies/object_open.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));

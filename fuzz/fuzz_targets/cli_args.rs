//! `cargo fuzz run cli_args`: see the body.

#![no_main]

#[path = "../bodies/cli_args.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));

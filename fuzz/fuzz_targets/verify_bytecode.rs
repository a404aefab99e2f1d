//! `cargo fuzz run verify_bytecode`: see the body, and how inputs are changed.

#![no_main]

#[path = "../bodies/verify_bytecode.rs"]
mod body;
#[path = "../mutators/insns.rs"]
mod insns;

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    insns::mutate(data, size, max_size, seed, libfuzzer_sys::fuzzer_mutate)
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));

//! The `skep` binary.

#![forbid(unsafe_code)]

fn main() {}

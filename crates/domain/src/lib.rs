//! What is known of a 64-bit value: tnum, signed and unsigned bounds, transfer functions, branch refinement.

#![forbid(unsafe_code)]

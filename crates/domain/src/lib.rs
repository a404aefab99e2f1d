//! What is known of a 64-bit value: tnum, signed and unsigned bounds, transfer functions, branch refinement.

#![forbid(unsafe_code)]

mod scalar;
mod tnum;

pub use scalar::Scalar;
pub use tnum::Tnum;

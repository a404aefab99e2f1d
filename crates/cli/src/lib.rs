//! The binary skep.

#![forbid(unsafe_code)]

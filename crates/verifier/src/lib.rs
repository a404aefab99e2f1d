//! Program to VerifiedProgram or Rejection: a pure function with the kernel's verdict, counts and log.

#![forbid(unsafe_code)]

pub(crate) mod passes;

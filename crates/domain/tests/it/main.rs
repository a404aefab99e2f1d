//! The tests of this crate that share a process: one binary, so that they run side by side.

mod concrete;
mod enumerate;
mod kernel;
mod notation;
mod random;
mod tnum;
mod wrapped_kernel;

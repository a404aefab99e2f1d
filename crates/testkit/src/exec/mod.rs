//! Cases that run: a program, its inputs, and a `run` block with the results.
//!
//! ````markdown
//! ```toml
//! words = [["7", "0"], ["-1", "2"]]     # two runs; the context of each is two words
//! ```
//!
//! ```run
//! 0x7 0x0 -> r0 = 0x0; 0x0 0x0
//! 0xffffffffffffffff 0x2 -> r0 = 0x0; 0x7fffffffffffffff 0x2
//! ```
//! ````
//!
//! Programs of type `syscall` have the words as their context and write results back to it, so that
//! 64-bit results are visible although a test run returns 32 bits. Programs that take packets are
//! run on each of `packets`. Maps with `dump` follow at the end. All engines produce the same text,
//! so that they are compared line by line; `cargo bless` writes the kernel's.
//!
//! For a program type that the kernel does not support in test runs, `unjudged = "reason"` is set:
//! the `run` block is then written by hand, and the reason says where it comes from.
//!
//! Tests: `tests/exec/*.md`, on every engine.

mod bare;
mod input;
mod native;
mod on_kernel;
mod on_runtime;
mod text;

pub use bare::{on_interp, on_jit};
pub use input::{Input, inputs};
pub use native::Native;
pub use on_kernel::{SKB_BYTES, on_kernel, unjudged_by_kernel};
pub use on_runtime::{Way, on_runtime};
pub use text::hex;

//! Cases that run: a program, what it is run on, and a `run` block with what came out.
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
//! Programs of type `syscall` have the words as their context, and write results back into it:
//! so 64-bit results are seen, though a test run returns 32 bits. Programs that take packets are
//! run on each of `packets`. Maps with `dump` follow at the end. All engines write the same text,
//! so that comparing them is comparing lines; `cargo bless` takes the kernel's.
//!
//! A type of program that the kernel does not run for a test has `unjudged = "reason"`: the `run`
//! block is then a person's, and the reason says what it follows from.
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
pub use on_kernel::{on_kernel, unjudged_by_kernel};
pub use on_runtime::{Way, on_runtime};

//! Memory shared by threads: its addresses, how it is accessed, and when it may be reused.
//!
//! Reading order: [`Region`] (memory with a fixed address) and [`Mem`] (such memory as passed to a
//! helper), [`epoch`] (which runs are in progress, and what they may still use), [`spin`] (locks
//! held for a few nanoseconds), [`cpu`] (the CPU number of a run), [`thread_word`] (data that
//! machine code finds by its thread pointer), [`barrier`] and [`fork`].
//!
//! Nothing here knows what a program, a map or machine code is.

#![deny(unsafe_code)]

mod answer;
pub mod barrier;
pub mod cpu;
pub mod epoch;
pub mod fork;
mod mem;
mod region;
mod registered;
pub mod spin;
pub mod thread_word;

pub use answer::Answer;
pub use mem::{Bytes, Mem};
#[doc(hidden)]
pub use region::guard_regions;
pub use region::{ALIGN, AtomicWords, Budget, NoMemory, PAGE_BYTES, Pair, Region, Share};

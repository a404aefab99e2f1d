//! Runs verified programs in this process: maps, helpers, contexts, instances.
//!
//! Reading order: [`map`] (what programs share), `memory` and `epoch` below it.

#![deny(unsafe_code)]

mod epoch;
mod errno;
mod error;
pub mod map;
mod memory;
mod runtime;
mod spin;

pub use epoch::THREADS_MAX;
pub use errno::Errno;
pub use error::{Error, ErrorKind};
pub use runtime::{Options, Runtime};

//! The speed of programs, compared with native code, other engines and the host kernel.
//!
//! Reading order: [`engines`] (runs engines in turn, and times them), the engines ([`machine`]:
//! code called as a function; [`in_runtime`]: through the library, and the kernel; [`peer`]: other
//! engines, a process each), then the tables: [`compute`], [`passes`], [`tails`], [`maps`],
//! [`whole_object`].

pub mod compute;
pub mod coverage;
mod data;
pub mod engines;
pub mod families;
pub mod in_runtime;
mod kinds;
pub mod machine;
pub mod maps;
pub mod native;
pub mod objects;
pub mod passes;
pub mod peer;
pub mod tails;
pub mod whole_object;

pub use data::{data_of, udp_packet};
pub use kinds::{KINDS, Kind};

/// Map operations, 1,000 per run.
const MAPS: &[u8] = kinds::file!(include_bytes, "maps", ".bpf.o");
/// Tail calls.
pub(crate) const TAIL_CALLS: &[u8] = kinds::file!(include_bytes, "tail_calls", ".bpf.o");
/// A flow dissector of six programs.
const FLOW: &[u8] = kinds::file!(include_bytes, "flow", ".bpf.o");

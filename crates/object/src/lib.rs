//! ELF object files to [`Object`]: programs, maps, BTF, relocations, as libbpf reads them.
//!
//! Never asks about the host: kernel BTF, configuration, symbol addresses and version come in
//! [`OpenOptions`].

#![forbid(unsafe_code)]

mod error;
mod object;

pub use error::Error;
pub use object::{Object, ObjectProgram, OpenOptions};

//! ELF object files to [`Object`]: programs, maps, BTF, relocations, as libbpf reads them.
//!
//! Never inspects the host: kernel BTF, configuration, symbol addresses and version are passed in
//! through [`OpenOptions`].

#![forbid(unsafe_code)]

mod attach;
mod bad_relocations;
mod btf_fixup;
mod btf_maps;
mod data_maps;
mod elf;
mod error;
mod ext_info;
mod externs;
mod functions;
mod globals;
mod guess;
mod image;
mod kconfig;
mod kernel_types;
mod legacy_maps;
mod link_subprogs;
mod loader;
mod map_btf;
mod map_creation;
mod map_slots;
mod maps;
mod object;
mod options;
mod refusal;
mod relocate;
mod scan;
mod sec_def;
mod sections;
mod struct_ops;
mod variables;

pub use error::Error;
pub use globals::{Value, Variable};
pub use loader::{LoadClass, Loader};
pub use object::{Object, ObjectProgram};
pub use options::{OpenOptions, SymbolLookup};
pub use scan::scan;
pub use sec_def::section_names;
pub use skep_program::SourcePlace;
pub use variables::{GlobalValue, GlobalVariable};

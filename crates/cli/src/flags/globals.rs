//! Flags of `skep globals`.

use super::loader::LoaderFlag;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// Flags of `skep globals`.
#[derive(Debug, Clone, Default, Args)]
pub struct GlobalsFlags {
    /// BPF object file
    pub file: PathBuf,
    /// Output format
    #[arg(short, long, value_name = "FMT", value_enum, default_value_t)]
    pub output_format: GlobalsFormat,
    /// Set a global variable before listing: "name = value", or @FILE with one a line
    #[arg(short = 'G', long, value_name = "GLOBAL")]
    pub set_global_vars: Vec<String>,
    /// Kernel BTF: a file, or `none`; the running kernel's by default
    #[arg(long, value_name = "FILE|none")]
    pub btf: Option<OsString>,
    /// Whose rules decide what can be loaded: libbpf's, or those of loaders completing objects
    #[arg(long, value_name = "WHOSE", default_value = "libbpf")]
    pub loader: LoaderFlag,
}

/// Formats of `skep globals`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum GlobalsFormat {
    /// Aligned columns.
    #[default]
    Table,
    /// An object.
    Json,
}

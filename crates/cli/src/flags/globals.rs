//! Flags of `skep globals`.

use super::against::AgainstFlags;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Flags of `skep globals`.
#[derive(Debug, Clone, Default, Args)]
pub struct GlobalsFlags {
    /// BPF object file
    pub file: PathBuf,
    /// Output format
    #[arg(short, long, value_name = "FMT", value_enum, default_value_t)]
    pub output_format: GlobalsFormat,
    /// Set a global variable before listing: "name = value", or @FILE with one per line
    #[arg(short = 'G', long, value_name = "GLOBAL")]
    pub set_global_vars: Vec<String>,
    /// The kernel and loader.
    #[command(flatten)]
    pub against: AgainstFlags,
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

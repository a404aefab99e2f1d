//! Flags of `skep prog`.

use super::Poke;
use clap::{Args, Subcommand};
use std::num::NonZeroU32;
use std::path::PathBuf;

/// What to do with programs.
#[derive(Debug, Subcommand)]
pub enum ProgCommand {
    /// Print programs as they are loaded
    Show(ProgFlags),
    /// Run each program with statistics on, then print it
    Stat(ProgFlags),
}

/// Flags of `skep prog show` and `skep prog stat`.
#[derive(Debug, Clone, Args)]
pub struct ProgFlags {
    /// BPF object files
    #[arg(value_name = "OBJ", required = true)]
    pub files: Vec<PathBuf>,
    /// JSON in one line
    #[arg(short, long)]
    pub json: bool,
    /// JSON, indented
    #[arg(short, long)]
    pub pretty: bool,
    /// Runs of each program, on zeros; 1000 of `stat`, none of `show`
    #[arg(long, value_name = "N")]
    pub repeat: Option<NonZeroU32>,
    /// Time one run in N only; all are counted
    #[arg(long, value_name = "N", default_value = "1")]
    pub stats_sample: NonZeroU32,
    /// Interpret
    #[arg(long)]
    pub interp: bool,
    /// How machine code is switched while it runs
    #[arg(long, value_name = "MODE", default_value = "patch")]
    pub poke: Poke,
    /// Kernel BTF: a file, or `none`; the running kernel's by default
    #[arg(long, value_name = "FILE|none")]
    pub btf: Option<String>,
}

//! Flags of `skep profile`.

use super::against::AgainstFlags;
use super::output::HtmlFlag;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

pub(super) const PROFILE_NOTES: &str = "\
Every insn that the verifier processes is counted once, at its line and call path; so is every state \
that it saves. \"Covered\" counts paths pruned because a saved state covers them, \"Apart\" comparisons \
with a saved state that did not cover the path. Where states differ in a precise scalar, the line that \
made it precise is given.

Exit status: 0 if every program has a verdict (rejection included), 1 if a program cannot be loaded, \
2 on bad input or if something is not supported yet, 101 after an internal error.";

/// Flags of `skep profile`.
#[derive(Debug, Clone, Default, Args)]
pub struct ProfileFlags {
    /// BPF object file
    pub file: PathBuf,
    /// Program name; default: all, the most expensive first
    pub prog: Option<String>,
    /// Output format
    #[arg(short, long, value_name = "FMT", value_enum, default_value_t)]
    pub output_format: ProfileFormat,
    /// HTML output.
    #[command(flatten)]
    pub html: HtmlFlag,
    /// Rows of each table
    #[arg(short = 'n', long, value_name = "N", default_value = "10")]
    pub top_n: usize,
    /// Weight of folded stacks and flame graphs
    #[arg(long, value_enum, default_value_t)]
    pub weight: WeightFlag,
    /// Set a global variable before loading: "name = value", or @FILE with one per line
    #[arg(short = 'G', long, value_name = "GLOBAL")]
    pub set_global_vars: Vec<String>,
    /// The kernel and loader.
    #[command(flatten)]
    pub against: AgainstFlags,
}

/// Formats of `skep profile`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ProfileFormat {
    /// By function and by line, and why states were not pruned.
    #[default]
    Table,
    /// One line per call path and source line, for flame graph tools.
    Folded,
    /// A flame graph.
    Svg,
    /// One JSON object with all data.
    Json,
}

/// The unit of stacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum WeightFlag {
    /// Insns processed.
    #[default]
    Insns,
    /// States saved.
    States,
}

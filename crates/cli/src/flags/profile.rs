//! Flags of `skep profile`.

use super::against::AgainstFlags;
use super::output::HtmlFlag;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

pub(super) const PROFILE_NOTES: &str = "\
Every insn that the verifier walks counts once, at the line and the call path where it was walked; so \
does every state that it keeps. \"Covered\" are paths that ended because a kept state covers them, \
\"Apart\" comparisons with a kept state that did not. States that are kept apart by a number say which \
line made that number matter.

Exit status: 0 if every program has a verdict (a refusal is one), 1 if a program cannot be loaded, \
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
    /// The same as a page.
    #[command(flatten)]
    pub html: HtmlFlag,
    /// Rows of each table
    #[arg(short = 'n', long, value_name = "N", default_value = "10")]
    pub top_n: usize,
    /// What folded stacks and flame graphs count
    #[arg(long, value_enum, default_value_t)]
    pub weight: WeightFlag,
    /// Set a global variable before loading: "name = value", or @FILE with one a line
    #[arg(short = 'G', long, value_name = "GLOBAL")]
    pub set_global_vars: Vec<String>,
    /// What it is loaded against.
    #[command(flatten)]
    pub against: AgainstFlags,
}

/// Formats of `skep profile`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ProfileFormat {
    /// By function and by line, and why states were kept apart.
    #[default]
    Table,
    /// A line for each call path and source line, for tools that draw flame graphs.
    Folded,
    /// A flame graph.
    Svg,
    /// An object with all of it.
    Json,
}

/// What is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum WeightFlag {
    /// Insns walked.
    #[default]
    Insns,
    /// States kept.
    States,
}

//! Flags of `skep baseline`.

use super::{BASELINE_NOTES, InputFlags, OutputFormat};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What to do with the committed file.
#[derive(Debug, Subcommand)]
pub enum BaselineCommand {
    /// Verify programs and write their verdicts and insns to the file
    #[command(after_help = BASELINE_NOTES)]
    Write(BaselineFlags),
    /// Verify programs and compare them with the file
    #[command(after_help = BASELINE_NOTES)]
    Check(BaselineCheckFlags),
}

/// Which programs, and which file.
#[derive(Debug, Clone, Default, Args)]
pub struct BaselineFlags {
    /// Where programs come from.
    #[command(flatten)]
    pub input: InputFlags,
    /// File with the results to compare with
    #[arg(short, long, value_name = "FILE", default_value = "skep-baseline.csv")]
    pub baseline: PathBuf,
    /// Include only programs that match: FILE, FILE/PROG, !NOT, @LIST
    #[arg(short, long, value_name = "FILTER", allow_hyphen_values = true)]
    pub filter: Vec<String>,
    /// Set a global variable before loading: "name = value", or @FILE with one a line
    #[arg(short = 'G', long, value_name = "GLOBAL")]
    pub set_global_vars: Vec<String>,
}

/// Flags of `skep baseline check`.
#[derive(Debug, Clone, Default, Args)]
pub struct BaselineCheckFlags {
    /// As for writing.
    #[command(flatten)]
    pub common: BaselineFlags,
    /// What is worse, by the statistics of the file; several are alternatives
    #[arg(long, value_name = "CONDITION", default_value = "insns_pct>10")]
    pub fail_if: Vec<String>,
    /// Output format
    #[arg(short, long, value_name = "FMT", value_enum, default_value_t)]
    pub output_format: OutputFormat,
}

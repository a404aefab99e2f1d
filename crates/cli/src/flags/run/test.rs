//! Flags of `skep test`.

use crate::flags::output::FormatFlag;
use clap::Args;
use std::path::PathBuf;

pub(super) const TEST_NOTES: &str = "\
Each file has tests of programs, in TOML or in the TOML blocks of Markdown: their input, the expected \
result and output, the kernels on which they must verify, and limits on their cost (docs/testing.md). \
Paths in a file are relative to it.

Exit status: 0 if all tests pass, 1 if any fails, 2 on bad input or if something is not supported \
yet, 101 after an internal error.";

/// Flags of `skep test`.
#[derive(Debug, Clone, Args)]
pub struct TestFlags {
    /// Files with tests, or directories to search for *.test.toml, *.test.md
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Run only tests whose file or name contains this; may be repeated (any of them)
    #[arg(short, long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// Number of tests to run in parallel; default: one per CPU
    // `-j` is JSON in other commands, as in bpftool; here it is a hidden, older spelling.
    #[arg(short_alias = 'j', long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Replace expected values in the files by actual ones; limits are kept
    #[arg(long, conflicts_with = "output_format")]
    pub bless: bool,
    /// `-o`.
    #[command(flatten)]
    pub format: FormatFlag,
    /// Write the results as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Interpret instead of running machine code
    #[arg(long)]
    pub interp: bool,
    /// Print only failures and the summary
    #[arg(short, long)]
    pub quiet: bool,
}

//! The flags of `mutate`.

use super::compare::Kind;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Object files, and folders of them, whose programs are changed.
    #[arg(default_value = "tests/programs")]
    pub(super) paths: Vec<PathBuf>,
    /// Seed of all random choices.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Approximate number of programs.
    #[arg(long, default_value_t = 10_000)]
    pub(super) count: u64,
    /// Stop after this many minutes, whatever the count.
    #[arg(long)]
    pub(super) minutes: Option<f64>,
    /// The first batch of the seed, to continue an earlier run.
    #[arg(long, default_value_t = 0)]
    pub(super) from: u64,
    /// Percentage of batches that consist of generated programs.
    #[arg(long, default_value_t = 30)]
    pub(super) generated: u64,
    /// Batches of one kind only: one of generated programs, or `suites`.
    #[arg(long)]
    pub(super) only: Option<String>,
    /// Number of processes.
    #[arg(long, short, default_value_t = 2)]
    pub(super) jobs: usize,
    /// Output folder for the groups.
    #[arg(long, default_value = "target/mutate")]
    pub(super) out: PathBuf,
    /// Do not minimise findings.
    #[arg(long)]
    pub(super) no_minimise: bool,
    /// Fail if there are differences of this kind or of a worse one.
    #[arg(long)]
    pub(super) fail_on: Option<Kind>,
    /// Write the program with this id (SEED/BATCH/INDEX) to a file for --replay, without judging
    /// it.
    #[arg(long)]
    pub(super) show: Option<String>,
    /// Judge the finding in a file again.
    #[arg(long)]
    pub(super) replay: Option<PathBuf>,
    /// With --replay: number of log lines shown around the first difference.
    #[arg(long, default_value_t = 10)]
    pub(super) lines: usize,
    /// Use no kernel: print our verifier's result for each program.
    #[arg(long)]
    pub(super) ours: bool,
}

//! The flags of `embed`.

use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Objects (or folders of them) whose programs are run instead of random ones.
    pub(super) objects: Vec<PathBuf>,
    /// Run the mutants that `mutate` derives from the objects' programs (or, without objects,
    /// generated programs), in batches of 100; this percentage of the batches consists of generated
    /// programs.
    #[arg(long, num_args = 0..=1, default_missing_value = "30", require_equals = true)]
    pub(super) mutants: Option<u64>,
    /// The first program, object or batch.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Their number [default: 1000 programs, all objects once, 10 batches; or as many as
    /// `--minutes` allows].
    #[arg(long)]
    pub(super) count: Option<u64>,
    /// Stop after this many minutes.
    #[arg(long)]
    pub(super) minutes: Option<u64>,
    /// Threads.
    #[arg(long, default_value_t = 1)]
    pub(super) jobs: usize,
    /// Inputs per program.
    #[arg(long, default_value_t = 100)]
    pub(super) inputs: u64,
    /// Maximum number of insns per program, over all inputs.
    #[arg(long, default_value_t = 1_000_000)]
    pub(super) insns: u64,
    /// Print the verifier's log of the programs with findings, and whether the kernel's log is the
    /// same.
    #[arg(long)]
    pub(super) print: bool,
    /// Print each step: insn, node of the walk, tracked values, registers.
    #[arg(long)]
    pub(super) trace: bool,
    /// Stop after this many findings.
    #[arg(long, default_value_t = 20)]
    pub(super) max: u64,
}

//! `cargo xtask api-fuzz`: calls the library in random order, for any number of operations.
//!
//! The operations are in `crates/testkit/tests/api_fuzz`, safe code that uses only the facade;
//! `cargo test` runs a few thousand of them.

use crate::outcome::Outcome;
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Number of operations.
    #[arg(long, default_value_t = 10_000_000)]
    operations: u64,
    /// The same seed gives the same operations, except for the scheduling of threads.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["test", "--release", "--package", "skep-testkit", "--test", "api_fuzz", "--"]);
    command.args(["--operations", &args.operations.to_string(), "--seed", &args.seed.to_string()]);
    Ok(command.current_dir(crate::root()).status()?.success().into())
}

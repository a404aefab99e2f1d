//! `cargo xtask api-fuzz`: the library called in any order, for as long as one likes.
//!
//! What it does is `crates/testkit/tests/api_fuzz`, safe code that knows the facade only; `cargo
//! test` has it do a few thousand operations.

use crate::outcome::Outcome;
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many operations.
    #[arg(long, default_value_t = 10_000_000)]
    operations: u64,
    /// Which; the same are done for the same number, as far as threads leave it at that.
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

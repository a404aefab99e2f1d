//! `cargo xtask bench NAME`: what is measured of the repository itself.

mod growth;
mod guard;
mod memory;
mod shapes;

use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    name: Name,
}

#[derive(clap::Subcommand)]
enum Name {
    /// Speed of skep and of the kernel as programs grow: insns, frames, states, stack.
    Growth(growth::Args),
    /// The most bytes that skep's verifier had, beside a lower bound of the kernel's.
    Memory(memory::Args),
    /// Instructions that the stress shapes take, against the committed counts.
    Guard(guard::Args),
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    match &args.name {
        Name::Growth(args) => growth::run(args),
        Name::Memory(args) => memory::run(args),
        Name::Guard(args) => guard::run(args),
    }
}

/// cargo, in the root of the repository.
fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(crate::root());
    command
}

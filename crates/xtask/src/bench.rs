//! `cargo xtask bench NAME`: measurements of the repository itself.

mod cgroup;
mod document;
mod growth;
mod guard;
mod kernel_bytes;
mod limits;
mod memory;
mod peers;
mod scaling;
mod shapes;

use std::path::PathBuf;
use std::process::{Command, Stdio};

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    name: Name,
}

#[derive(clap::Subcommand)]
enum Name {
    /// Speed of skep and of the kernel as programs grow: insns, frames, states, stack.
    Growth(growth::Args),
    /// Peak memory of skep's verifier, compared with the kernel's.
    Memory(memory::Args),
    /// Renew every table of a document that names its command.
    Document(document::Args),
    /// `skep-bench run` in a release build, compared with rbpf and sbpf.
    Peers(peers::Args),
    /// Speedup of verifying a corpus on several cores.
    Scaling(scaling::Args),
    /// Peak resident memory of `skep stat --mem-limit`, compared with the limit.
    Limits(limits::Args),
    /// Instruction counts of the stress programs, compared with the committed counts.
    Guard(guard::Args),
    /// Part of `memory`: loads programs in a separate control group.
    #[command(hide = true)]
    KernelBytes(kernel_bytes::WorkerArgs),
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    match &args.name {
        Name::Growth(args) => growth::run(args),
        Name::Memory(args) => memory::run(args),
        Name::Document(args) => document::run(args),
        Name::Peers(args) => peers::run(args),
        Name::Scaling(args) => scaling::run(args),
        Name::Limits(args) => limits::run(args),
        Name::Guard(args) => guard::run(args),
        Name::KernelBytes(args) => kernel_bytes::worker(args),
    }
}

/// cargo, in the root of the repository.
fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(crate::root());
    command
}

/// The binary `skep`, built in release mode.
fn skep_in_release() -> Result<PathBuf, Box<dyn std::error::Error>> {
    in_release("skep-cli")
}

/// The binary `skep-bench`, built in release mode.
fn skep_bench_in_release() -> Result<PathBuf, Box<dyn std::error::Error>> {
    in_release("skep-bench")
}

/// The binary of a package.
fn in_release(package: &str) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let mut build = cargo();
    build.args(["build", "--release", "-p", package, "--message-format=json"]);
    let output = build.stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8(output.stdout)?;
    let executable = |line: &str| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    };
    Ok(text.lines().rev().find_map(executable).ok_or("cargo built no binary")?)
}

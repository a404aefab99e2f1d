//! `cargo xtask bench NAME`: measurements of the repository itself.

mod cgroup;
mod document;
mod growth;
mod guard;
mod kernel_bytes;
mod limits;
mod memory;
mod peers;
mod release;
mod scaling;
mod shapes;

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

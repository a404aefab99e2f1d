//! `cargo xtask kernels`: other kernels, fetched as Debian packages, booted in qemu without
//! hardware support, and asked to verify programs.
//!
//! The guest runs one static binary as init, `skep-guest`, which loads the programs that it
//! receives ([`skep_kernel::wire`]). Objects are opened here, with the facts that the guest reports
//! about its kernel (the folder `facts` beside the answers, which `kernel-diff --kernel` reads
//! too).
//!
//! ```text
//! cargo build --release --target x86_64-unknown-linux-musl -p skep-guest
//! cargo xtask kernels fetch --cache DIR 6.12.117+deb12-cloud-amd64
//! cargo xtask kernels ask --cache DIR --out DIR --kernel 6.12.117+deb12-cloud-amd64 target/corpus
//! cargo xtask kernels table --out DIR
//! cargo xtask kernels agree --out DIR target/corpus
//! ```

mod agree;
mod ask;
#[cfg(test)]
mod by_name;
mod fetch;
mod fields;
mod folder;
mod guest;
mod initrd;
mod kfunc_sets;
mod licence;
mod machine;
mod mutants;
mod page;
mod page_fields;
mod page_kfuncs;
mod page_licence;
mod page_source;
mod probe;
mod reasons;
mod shipped;
mod surface;
mod table;
#[cfg(test)]
mod witness;

pub(crate) use agree::{Agreement, agreements, percent};
pub(crate) use mutants::{Figure, figures};
pub(crate) use reasons::why;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Download and unpack kernels; without a name, list the available ones.
    Fetch(fetch::Args),
    /// Ask a kernel about the programs of objects; continues an interrupted run.
    Ask(ask::Args),
    /// Ask a kernel which helpers, maps, program and attach types, insns and kfuncs it supports.
    Surface(surface::Args),
    /// Ask a kernel about context fields, map flags, and callers of kfuncs.
    Fields(fields::Args),
    /// Ask a kernel what it refuses to programs that are not under the GPL.
    Licence(licence::Args),
    /// Ask a kernel like `skep kernel probe`, and compare with the built-in one.
    Probe(probe::Args),
    /// Pack the witness programs of `skep kernel probe`.
    Witnesses(probe::PackArgs),
    /// Compare with a kernel on mutants and generated programs.
    Mutants(mutants::Args),
    /// Pack answers into the tables of tests/kernels/asked.
    Table(table::Args),
    /// Write docs/kernels.md: which release introduced what.
    Page(page::Args),
    /// Compare verdicts on tests/programs with those tables; needs no kernel.
    Shipped(shipped::Args),
    /// Count how far skep agrees with those tables; fail if it agrees less than before.
    Agree(agree::Args),
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    match &args.command {
        Command::Fetch(args) => fetch::run(args),
        Command::Ask(args) => ask::run(args),
        Command::Surface(args) => surface::run(args),
        Command::Fields(args) => fields::run(args),
        Command::Licence(args) => licence::run(args),
        Command::Probe(args) => probe::run(args),
        Command::Witnesses(args) => probe::pack(args),
        Command::Mutants(args) => mutants::run(args),
        Command::Table(args) => table::run(args),
        Command::Page(args) => page::run(args),
        Command::Shipped(args) => shipped::run(args),
        Command::Agree(args) => agree::run(args),
    }
}

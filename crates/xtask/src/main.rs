//! Developer commands: `cargo xtask COMMAND`. Each module is one command.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod answers;
mod api;
mod api_fuzz;
mod ask;
mod bench;
mod bless;
mod child;
mod ci;
mod corpus;
mod cpu_time;
mod crash;
mod dist;
mod embed;
mod exec_diff;
mod faults;
mod hash;
mod html;
mod judge;
mod kernel_diff;
mod kernels;
mod leaks;
mod litmus;
mod load_diff;
mod mutate;
mod neighbours;
mod objects;
mod other_ids;
mod outcome;
mod package;
mod packed;
mod parity;
mod pcap;
mod prove;
mod random;
mod refusals;
mod root;
mod sanitized;
mod targets;
mod tidy;
mod tunings;
#[cfg(test)]
mod workflows;

use clap::{Parser, Subcommand};
use outcome::{Ended, Outcome, SKIPPED};
use root::root;
use std::process::ExitCode;

/// Repository checks, kernel comparison, corpus, CI.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write crates/skep/api.txt: the public API of the library.
    Api(api::Args),
    /// Call the library in random order, from safe code: no operation may crash the process.
    ApiFuzz(api_fuzz::Args),
    /// Record what programs may attach to on the running kernel (in a guest: needs trampolines).
    Ask(ask::Args),
    /// Benchmarks: growth, instruction counts of the stress programs, memory, other engines.
    Bench(bench::Args),
    /// Rewrite the transcripts of the Markdown suites from the host kernel's results.
    Bless(bless::Args),
    /// Run the checks, beyond the tests, that must pass before a change lands.
    Ci(ci::Args),
    /// Fetch, build and list the open corpus (GPL objects, never committed).
    Corpus(corpus::Args),
    /// Print the host kernel's log for programs of an object.
    Judge(judge::Args),
    /// Print skep's log for programs of an object; --side shows both logs, line by line.
    Ours(judge::Args),
    /// Run what verifies, and mutants of it, on random inputs: nothing may crash the process.
    Crash(crash::Args),
    /// Build and test the packages for users without cargo: a static tarball and a .deb.
    Dist(dist::Args),
    /// Run programs alongside their verification: each run must stay within the verifier's states.
    Embed(embed::Args),
    /// Run random programs on every engine and compare the results.
    ExecDiff(exec_diff::Args),
    /// Seed faults in a copy of the verifier, and record which test finds which.
    Faults(faults::Args),
    /// Test the pages of --html in a headless Chromium, also with axe.
    Html(html::Args),
    /// Compare skep's verifier with the host kernel, one row per program.
    KernelDiff(kernel_diff::Args),
    /// Test other kernels, booted in qemu: fetch, load, compare.
    Kernels(kernels::Args),
    /// Run tests under LeakSanitizer (nightly).
    Leaks,
    /// Run tests that need no machine code under Miri (nightly).
    Miri,
    /// Compare skep's verifier with the host kernel on mutants of real and generated programs.
    Mutate(mutate::Args),
    /// Run litmus tests on two threads: no outcome that the memory model forbids.
    Litmus(litmus::Args),
    /// Compare the loader with libbpf: what is loaded, and at which step the rest is rejected.
    LoadDiff(load_diff::Args),
    /// Check a separate workspace: `fuzz` or `peers`.
    Neighbours(neighbours::Args),
    /// Run tests as if on another build of the same kernel, with other type ids.
    OtherIds(other_ids::Args),
    /// Check that the public crates can be published.
    Package(package::Args),
    /// Write docs/parity.md: known differences from the kernel.
    Parity(parity::Args),
    /// Generate a capture, reproducibly.
    Pcap(pcap::Args),
    /// Write the running kernel's results for the programs of objects as a table.
    KernelAnswers(answers::Args),
    /// Prove the domain's functions at 64 bits with an SMT solver, from their source.
    Prove(prove::Args),
    /// Compare skep's verifier with the host kernel on random programs.
    Random(random::Args),
    /// Compile for every platform, verify in WebAssembly, test 64-bit ARM in qemu.
    Targets(targets::Args),
    /// Write docs/refusals.md: why programs are rejected, and how to fix them.
    Refusals(refusals::Args),
    /// Run tests under ThreadSanitizer (nightly).
    Threads,
    /// Verify programs under every combination of engine settings; only the cost may change.
    Tunings(tunings::Args),
    /// Check the repository's rules over the source tree.
    Tidy(tidy::Args),
    /// One half of kernel-diff: compares on request, so that a hang or crash costs one program.
    #[command(hide = true)]
    KernelDiffWorker(kernel_diff::WorkerArgs),
    /// One half of mutate: judges batches on request.
    #[command(hide = true)]
    MutateWorker(mutate::WorkerArgs),
}

fn main() -> ExitCode {
    match run(Args::parse().command) {
        Ok(Ended::Passed) => ExitCode::SUCCESS,
        Ok(Ended::Skipped(why)) => {
            // On one line, which `ci` reads.
            println!("{SKIPPED}{}", why.trim().replace('\n', "; "));
            ExitCode::SUCCESS
        }
        Ok(Ended::Failed) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs one command.
fn run(command: Command) -> Outcome {
    match command {
        Command::Api(args) => api::run(&args),
        Command::ApiFuzz(args) => api_fuzz::run(&args),
        Command::Ask(args) => ask::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Bless(args) => bless::run(&args),
        Command::Ci(args) => ci::run(&args),
        Command::Corpus(args) => corpus::run(&args),
        Command::Judge(args) => judge::run(&args, judge::Engine::Kernel),
        Command::Ours(args) => judge::run(&args, judge::Engine::Ours),
        Command::Crash(args) => crash::run(&args),
        Command::Dist(args) => dist::run(&args),
        Command::Embed(args) => embed::run(&args),
        Command::ExecDiff(args) => exec_diff::run(&args),
        Command::Faults(args) => faults::run(&args),
        Command::Html(args) => html::run(&args),
        Command::KernelAnswers(args) => answers::run(&args),
        Command::KernelDiff(args) => kernel_diff::run(&args),
        Command::Kernels(args) => kernels::run(&args),
        Command::Leaks => leaks::run(),
        Command::Litmus(args) => litmus::run(&args),
        Command::Miri => sanitized::miri(),
        Command::Targets(args) => targets::run(&args),
        Command::Threads => sanitized::threads(),
        Command::LoadDiff(args) => load_diff::run(&args),
        Command::Mutate(args) => mutate::run(&args),
        Command::MutateWorker(args) => mutate::worker(&args),
        Command::Neighbours(args) => neighbours::run(&args),
        Command::OtherIds(args) => other_ids::run(&args),
        Command::Package(args) => package::run(&args),
        Command::Parity(args) => parity::run(&args),
        Command::Pcap(args) => pcap::run(&args),
        Command::Prove(args) => prove::run(&args),
        Command::Random(args) => random::run(&args),
        Command::Refusals(args) => refusals::run(&args),
        Command::Tunings(args) => tunings::run(&args),
        Command::Tidy(args) => tidy::run(&args),
        Command::KernelDiffWorker(args) => kernel_diff::worker(&args),
    }
}

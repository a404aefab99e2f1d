//! Options of `skep-bench`.

use clap::{Args, Parser, Subcommand, ValueEnum};
use skep_cli::Error;
use skep_cli::flags::{InputFlags, one_kernel};
use std::path::PathBuf;

/// Benchmarks of verification, execution and live patching.
#[derive(Debug, Parser)]
#[command(name = "skep-bench", version, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// What to measure.
    #[command(subcommand)]
    pub(crate) command: BenchCommand,
}

/// What can be measured.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Compare verification cost: two engine settings, or skep and the host kernel
    #[command(after_help = verify_notes(), mut_arg("kernel", one_kernel))]
    Verify(VerifyFlags),
    /// Compare execution speed: native code, skep, other engines and the kernel
    Run(RunFlags),
    /// Measure live patching: latency, slowdown of running threads, wrong executions
    Poke(PokeFlags),
}

fn verify_notes() -> String {
    let mut notes = skep_cli::tuning::notes();
    notes.push_str("\nMetrics:\n");
    for def in &crate::METRICS {
        notes.push_str(&format!("  {:<18} {}\n", def.name, def.about));
    }
    notes + EXIT
}

const EXIT: &str = "
Counters this machine lacks are shown as not counted. The two sides alternate within one run; the \
interval is the 95 % paired-bootstrap interval of the ratio of medians.

Exit status: 0 if everything was measured (or the kernel is not accessible), 1 if the two sides \
disagree on insns or states, 2 on bad input, 130 after Ctrl-C (programs measured by then are shown), \
101 after an internal error.";

/// Flags of `skep-bench verify`.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct VerifyFlags {
    /// Input files.
    #[command(flatten)]
    pub(crate) input: InputFlags,
    /// Include only programs that match: FILE, FILE/PROG, !NOT, @LIST
    #[arg(short, long, value_name = "FILTER", allow_hyphen_values = true)]
    pub(crate) filter: Vec<String>,
    /// Only the N programs with the most processed insns
    #[arg(long, value_name = "N", value_parser = heaviest)]
    pub(crate) heaviest: Option<usize>,
    /// Settings of side A
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) a: Vec<String>,
    /// Settings of side B; default: the engine's defaults
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) b: Vec<String>,
    /// Measure against another verifier
    #[arg(long, value_enum, conflicts_with_all = ["a", "b", "cold", "saturate", "callgrind"])]
    pub(crate) vs: Option<Reference>,
    /// Rounds per program
    #[arg(long, value_name = "N", conflicts_with = "time",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: Option<u32>,
    /// Seconds per program and mode; default 3, at least 7 rounds
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) time: Option<f64>,
    /// Run each measurement in a fresh process, with cold memory
    #[arg(long)]
    pub(crate) cold: bool,
    /// Run N processes at once for the given time and print totals like `perf stat`
    #[arg(long, value_name = "N", conflicts_with_all = ["cold", "callgrind", "repeat"],
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) saturate: Option<u32>,
    /// Count instructions with valgrind's callgrind, which is reproducible
    #[arg(long, conflicts_with_all = ["cold", "repeat", "time"])]
    pub(crate) callgrind: bool,
    /// Print results as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// As a child process: measure this program and report in one line
    #[arg(long, hide = true, value_name = "FILE:PROG")]
    pub(crate) worker: Option<String>,
}

/// What skep is measured against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reference {
    /// The host kernel's verifier, by the time that its own log reports; needs root. `--kernel` may
    /// only name that kernel.
    Kernel,
}

fn heaviest(text: &str) -> Result<usize, Error> {
    let number = text.parse().ok().filter(|&number| number > 0);
    number.ok_or_else(|| Error::from("expected a number of programs, at least 1"))
}

fn seconds(text: &str) -> Result<f64, Error> {
    match text.parse() {
        Ok(seconds) if (0.001..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("expected a number of seconds from 0.001 to 86400".into()),
    }
}

const RUN_NOTES: &str = "
Each table is measured in one run: the engines take turns of half a millisecond, and medians are \
shown. Intervals are 95 % paired-bootstrap intervals of the ratio of medians; if one contains 1, \
there is no measurable difference. All engines' results are checked against each other first. \
Tables are Markdown.

clang ($CLANG, clang-19 or clang) builds the native code and the peers' bytecode. Kernel times \
come from BPF_PROG_TEST_RUN and need root. Whatever is unavailable is reported as such.

A peer is a process that answers line by line, given as NAME:CPU=COMMAND, where CPU is the newest \
-mcpu it supports. `cargo xtask bench peers` builds rbpf and sbpf as peers and runs this command.

Exit status: 0 if everything was measured, 2 if a program cannot run or results differ, 101 after \
an internal error.";

/// Flags of `skep-bench run`.
#[derive(Debug, Clone, Args)]
#[command(after_help = RUN_NOTES)]
pub(crate) struct RunFlags {
    /// Objects to measure on a 64-byte packet; default: skep's own programs
    #[arg(value_name = "OBJ")]
    pub(crate) files: Vec<PathBuf>,
    /// Only these tables
    #[arg(long, value_enum, value_delimiter = ',', conflicts_with = "files")]
    pub(crate) only: Vec<RunTable>,
    /// Only these compute programs
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with = "files")]
    pub(crate) program: Vec<String>,
    /// Rounds: turns per engine
    #[arg(long, value_name = "N", default_value_t = 101,
          value_parser = clap::value_parser!(u32).range(3..))]
    pub(crate) rounds: u32,
    /// Another engine, in a separate process
    #[arg(long, value_name = "NAME:CPU=COMMAND")]
    pub(crate) peer: Vec<String>,
    /// Do not measure the kernel
    #[arg(long)]
    pub(crate) no_kernel: bool,
    /// Compiler flags for the native code
    #[arg(long, value_name = "FLAGS", default_value = "-O2", allow_hyphen_values = true)]
    pub(crate) native_flags: String,
    /// Also show each held-out program, not only their mean
    #[arg(long)]
    pub(crate) held: bool,
    /// Print results as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A table of `skep-bench run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunTable {
    /// The 18 first compute programs: native, skep, peers, kernel; compile times.
    Compute,
    /// All compute programs, worst first, against native code without vectorisation; half of them
    /// are held out, and only their mean is shown.
    Families,
    /// The compute programs with minimal and full prologues.
    Prologues,
    /// What each optimisation pass gains.
    Passes,
    /// The cost of `skep run --coverage`.
    Coverage,
    /// Tail calls, and XDP programs with their packet rates.
    Tails,
    /// Helpers and maps.
    Maps,
}

const POKE_NOTES: &str = "
Threads run functions with one patch site each while another thread changes all sites at once. \
Every execution is checked against a sequence number: a result that matches no installed state is \
wrong; one that matches an older state, after the change has returned, is late. `commit_nowait` \
does not wait for other threads, so its late executions are reported but not counted as errors.

Only the change itself is timed; batches, pointers and insns are prepared beforehand. `commit` \
checks each site before it writes, the other methods do not. One barrier per site is not measured \
beyond 16,384 sites.

The int3 protocol, with its signal handler, exists only in this benchmark. Negative controls patch \
incorrectly on purpose, in separate processes, which must crash or see a wrong execution.

Exit status: 0 if everything was measured and correct, 1 if an execution was wrong or late, a run \
was miscounted, or a negative control saw nothing or could not run, 2 if the host does not allow \
patching, 101 after an internal error.";

/// Flags of `skep-bench poke`.
#[derive(Debug, Clone, Args)]
#[command(after_help = POKE_NOTES)]
pub(crate) struct PokeFlags {
    /// Only these tables
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) only: Vec<PokeTable>,
    /// What changes at a site
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) kind: Vec<PokeKind>,
    /// Sites to change at once
    #[arg(long, value_name = "K", value_delimiter = ',', default_value = "1,16,164,1024,4096",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) sites: Vec<u32>,
    /// Threads running them
    #[arg(long, value_name = "T", value_delimiter = ',', default_value = "1,2",
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Vec<u32>,
    /// Seconds per combination of method, sites and threads
    #[arg(long, value_name = "S", default_value = "0.8", value_parser = seconds)]
    pub(crate) time: f64,
    /// Rounds of the alternating measurements
    #[arg(long, value_name = "N", default_value_t = 51,
          value_parser = clap::value_parser!(u32).range(3..))]
    pub(crate) rounds: u32,
    /// Executions of each kind to check while 164 sites keep changing
    #[arg(long, value_name = "N", default_value_t = 1_000_000_000,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) checked: u64,
    /// Print results as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// As a child process: patch in this incorrect way
    #[arg(long, hide = true, value_name = "NAME")]
    pub(crate) control: Option<String>,
}

/// What changes at a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PokeKind {
    /// A one-byte switch: on or off.
    Switch,
    /// The first two bytes of a program's insn: on or off.
    Insn,
    /// The target of a jump, one of four.
    Retarget,
    /// Half of each.
    Mixed,
}

/// A table of `skep-bench poke`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PokeTable {
    /// Changing sites under load: by kind, method, sites and threads.
    Toggles,
    /// Library calls under load: statistics of many programs, a prog array slot.
    Library,
    /// The cost of statistics per run, off and on.
    Costs,
    /// Estimated times, with one run in 64 timed, compared with exact ones.
    Estimates,
    /// The cost of counters, shared and per thread.
    Sharing,
    /// Negative controls: incorrect patching.
    Controls,
    /// A long run of checked executions.
    Checked,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_table_is_consistent_and_every_flag_says_in_one_line_what_it_does() {
        let mut command = Cli::command();
        command.build();
        command.clone().debug_assert();
        for arg in command.get_subcommands().flat_map(clap::Command::get_arguments) {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let name = arg.get_id();
            assert!(!help.is_empty() && !help.ends_with('.'), "{name}: '{help}'");
            assert!(help.len() <= 100, "{name}: '{help}'");
        }
    }
}

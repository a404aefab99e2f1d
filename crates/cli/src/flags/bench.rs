//! Options of `skep bench`.

use super::InputFlags;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// What can be measured.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Measure verification: two settings in turn, or skep and the host kernel in turn
    #[command(after_help = verify_notes())]
    Verify(BenchVerifyFlags),
    /// Measure how fast programs run: native code, skep, other engines and the kernel in turn
    Run(BenchRunFlags),
    /// Measure switching of running code: latency, what it costs those who run, wrong executions
    Poke(BenchPokeFlags),
}

fn verify_notes() -> String {
    let mut notes = crate::tuning::notes();
    notes.push_str("\nMetrics:\n");
    for def in &skep_bench::METRICS {
        notes.push_str(&format!("  {:<18} {}\n", def.name, def.about));
    }
    notes + EXIT
}

const EXIT: &str = "
What the machine does not count is shown as such. Sides take turns in one run; the interval is \
the middle 95 % of a paired bootstrap of the ratio of medians.

Exit status: 0 if all was measured (or the kernel does not answer here), 1 if the two sides do not \
count the same insns and states, 2 if a file or setting is wrong, 101 after an internal error.";

/// Flags of `skep bench verify`.
#[derive(Debug, Clone, Default, Args)]
pub struct BenchVerifyFlags {
    /// Where programs come from.
    #[command(flatten)]
    pub input: InputFlags,
    /// Only programs that match: FILE, FILE/PROG, !not, @LIST
    #[arg(short, long, value_name = "FILTER", allow_hyphen_values = true)]
    pub filter: Vec<String>,
    /// Only the N programs with the most insns to process
    #[arg(long, value_name = "N", value_parser = heaviest)]
    pub heaviest: Option<usize>,
    /// Settings of side A
    #[arg(long, value_name = "KEY=VALUE")]
    pub a: Vec<String>,
    /// Settings of side B; the defaults where only A has some
    #[arg(long, value_name = "KEY=VALUE")]
    pub b: Vec<String>,
    /// Measure against another verifier
    #[arg(long, value_enum, conflicts_with_all = ["a", "b", "cold", "saturate", "callgrind"])]
    pub vs: Option<Opponent>,
    /// Rounds per program
    #[arg(long, value_name = "N", conflicts_with = "time",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: Option<u32>,
    /// Seconds per program and mode; 3 by default, 7 rounds at least
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub time: Option<f64>,
    /// Each run in a fresh process, so that memory is new to both sides
    #[arg(long)]
    pub cold: bool,
    /// Run N processes at once for the time given, and print totals as `perf stat` does
    #[arg(long, value_name = "N", conflicts_with_all = ["cold", "callgrind", "repeat"],
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub saturate: Option<u32>,
    /// Count instructions with valgrind's callgrind: the same in every run
    #[arg(long, conflicts_with_all = ["cold", "repeat", "time"])]
    pub callgrind: bool,
    /// Print results as JSON
    #[arg(long)]
    pub json: bool,
    /// As a child process: measure this program and report in one line
    #[arg(long, hide = true, value_name = "FILE:PROG")]
    pub worker: Option<String>,
}

/// What skep is measured against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Opponent {
    /// The host kernel's verifier, by the time that its own log reports; needs root.
    Kernel,
}

fn heaviest(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|&number| number > 0);
    number.ok_or_else(|| "not a number of programs from 1".to_owned())
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.001..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("not a number of seconds from 0.001 to 86400".to_owned()),
    }
}

const RUN_NOTES: &str = "
Each table takes its figures in one run: all engines take turns, each for half a millisecond, and \
medians are shown. Intervals are the middle 95 % of a paired bootstrap of the ratio of medians; where \
one holds 1 there is no measurable difference. Results of all engines are compared before. Tables \
are Markdown.

Native code and the bytecode of peers are made by clang (CLANG, clang-19 or clang), the kernel's \
times are those of BPF_PROG_TEST_RUN and need root; what is not there is said.

A peer is a process that is asked by lines: NAME:CPU=COMMAND, where CPU is the newest -mcpu whose \
insns it takes. `cargo xtask bench peers` builds rbpf and sbpf as peers and runs this command.

Exit status: 0 if all was measured, 2 if a program cannot run or results differ, 101 after an \
internal error.";

/// Flags of `skep bench run`.
#[derive(Debug, Clone, Args)]
#[command(after_help = RUN_NOTES)]
pub struct BenchRunFlags {
    /// Objects to measure on a packet of 64 bytes; without them, skep's own programs
    #[arg(value_name = "OBJ")]
    pub files: Vec<PathBuf>,
    /// Only these tables
    #[arg(long, value_enum, value_delimiter = ',', conflicts_with = "files")]
    pub only: Vec<RunTable>,
    /// Only these compute programs
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with = "files")]
    pub program: Vec<String>,
    /// Rounds: how often each engine has its turn
    #[arg(long, value_name = "N", default_value_t = 101,
          value_parser = clap::value_parser!(u32).range(3..))]
    pub rounds: u32,
    /// Another engine, in a process of its own
    #[arg(long, value_name = "NAME:CPU=COMMAND")]
    pub peer: Vec<String>,
    /// Do not ask the kernel
    #[arg(long)]
    pub no_kernel: bool,
    /// Flags of the native compilation
    #[arg(long, value_name = "FLAGS", default_value = "-O2", allow_hyphen_values = true)]
    pub native_flags: String,
    /// Print results as JSON
    #[arg(long)]
    pub json: bool,
}

/// A table of `skep bench run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RunTable {
    /// The 18 compute programs: native, skep, peers, kernel; compile time.
    Compute,
    /// The compute programs with the minimal and with the full prologue.
    Prologues,
    /// What each pass is worth.
    Passes,
    /// Tail calls, XDP programs and their packets a second.
    Tails,
    /// Helpers and maps.
    Maps,
}

const POKE_NOTES: &str = "
Threads run functions with a site each, another thread changes all sites at once, and every \
execution is compared with a sequence number: a value of no state (another target than any that was \
installed) is wrong, one of another state than the last, after the change has returned, is late. \
`commit_nowait` binds nobody, so what is late there is told and not counted as wrong.

What is timed is the change alone, of every way: batches, pointers and insns are made before. \
`commit` checks what stands at a site before it writes, the others do not. A barrier for each site \
is not measured beyond 16,384 sites.

The int3 protocol, with its signal handler, exists in this benchmark only. Negative controls patch \
as it must not be done, in processes of their own, which have to crash or to see a wrong execution.

Exit status: 0 if all was measured and nothing went wrong, 1 if an execution was wrong or late, a \
run was not counted as it has to be, or a negative control saw nothing or could not run, 2 if the host does not let code be patched, 101 after an internal error.";

/// Flags of `skep bench poke`.
#[derive(Debug, Clone, Args)]
#[command(after_help = POKE_NOTES)]
pub struct BenchPokeFlags {
    /// Only these tables
    #[arg(long, value_enum, value_delimiter = ',')]
    pub only: Vec<PokeTable>,
    /// What changes at a site
    #[arg(long, value_enum, value_delimiter = ',')]
    pub kind: Vec<PokeKind>,
    /// Sites that are changed at once
    #[arg(long, value_name = "K", value_delimiter = ',', default_value = "1,16,164,1024,4096",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub sites: Vec<u32>,
    /// Threads that run them
    #[arg(long, value_name = "T", value_delimiter = ',', default_value = "1,2",
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Vec<u32>,
    /// Seconds for each way to switch, number of sites and number of threads
    #[arg(long, value_name = "S", default_value = "0.8", value_parser = seconds)]
    pub time: f64,
    /// Rounds of what is measured in turn
    #[arg(long, value_name = "N", default_value_t = 51,
          value_parser = clap::value_parser!(u32).range(3..))]
    pub rounds: u32,
    /// Executions of each kind to check while 164 sites are changed again and again
    #[arg(long, value_name = "N", default_value_t = 1_000_000_000,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub checked: u64,
    /// Print results as JSON
    #[arg(long)]
    pub json: bool,
    /// As a child process: patch in this wrong way
    #[arg(long, hide = true, value_name = "NAME")]
    pub control: Option<String>,
}

/// What changes at a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PokeKind {
    /// One byte: on or off.
    Switch,
    /// The target of a jump, one of four.
    Retarget,
    /// Half of each.
    Mixed,
}

/// A table of `skep bench poke`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PokeTable {
    /// Changing sites under load: by kind, way, sites and threads.
    Toggles,
    /// The library's calls under load: statistics of many programs, a slot of a prog array.
    Library,
    /// What statistics cost a run, off and on.
    Costs,
    /// What counters cost, shared and apart.
    Sharing,
    /// Patching as it must not be done.
    Controls,
    /// A long run of checked executions.
    Checked,
}

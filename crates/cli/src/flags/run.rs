//! Flags of the commands that run programs.

mod poke;
mod prog;
mod test;

pub use poke::Poke;
pub use prog::{ProgCommand, ProgFlags};
pub use test::TestFlags;

use super::against::AgainstFlags;
use super::output::TextFormat;
use crate::Error;
use clap::{Args, Subcommand};
use skep::runtime::Engine;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// The subcommands that run programs.
#[derive(Debug, Subcommand)]
pub enum RunsCommand {
    /// Run a program on packets or bytes, without root
    #[command(after_help = RUN_NOTES)]
    Run(Box<RunFlags>),
    /// Load the programs of object files and list them, as bpftool does
    #[command(subcommand, arg_required_else_help = true)]
    Prog(ProgCommand),
    /// Run tests of programs, described in TOML or Markdown files
    #[command(after_help = test::TEST_NOTES, arg_required_else_help = true)]
    Test(TestFlags),
}

const RUN_NOTES: &str = "\
Packets start at the Ethernet header. The default input is a packet of 60 zero bytes or, for \
programs that take no packet, a zeroed context as large as the program uses.

Exit status: 0 if everything ran, 1 if the verifier rejects the program, 2 on bad input or if \
something is not supported yet, 130 after Ctrl-C (partial results are printed), 101 after an \
internal error.";

/// Flags of `skep run`.
#[derive(Debug, Clone, Args)]
pub struct RunFlags {
    /// BPF object file
    pub file: PathBuf,
    /// Program name; optional if the object has only one
    pub prog: Option<String>,
    /// Run on each packet of an Ethernet capture (pcap or pcapng; - is standard input)
    #[arg(long, value_name = "FILE", help_heading = "Input", group = "input")]
    pub pcap: Option<PathBuf>,
    /// Run on this packet or context, given in hex
    #[arg(long, value_name = "DIGITS", help_heading = "Input", group = "input")]
    pub hex: Option<String>,
    /// Run on the packet or context stored in a file (- is standard input)
    #[arg(long, value_name = "FILE", help_heading = "Input", group = "input")]
    pub data_file: Option<PathBuf>,
    /// Context: fields {"mark": 7, "cb": [1, 2]}, words [1, 2], or a file containing either
    #[arg(long, value_name = "JSON|FILE", help_heading = "Input")]
    pub ctx_json: Option<String>,
    /// Fill a map from --dump-maps output before running; program names fill prog_array slots
    #[arg(long, value_name = "NAME=@FILE", help_heading = "Input")]
    pub map: Vec<String>,
    /// The kernel and loader.
    #[command(flatten, next_help_heading = "Input")]
    pub against: AgainstFlags,
    /// Set a global variable before loading: "name = value", or @FILE with one per line
    #[arg(short = 'G', long, value_name = "GLOBAL", help_heading = "Input")]
    pub set_global_vars: Vec<String>,
    /// Print the result as JSON on one line (bpftool's -j)
    #[arg(short, long, help_heading = "Output")]
    pub json: bool,
    /// Print the result as indented JSON
    #[arg(short, long, help_heading = "Output")]
    pub pretty: bool,
    /// Output format
    #[arg(short, long, value_name = "FMT", value_enum, default_value_t, help_heading = "Output")]
    pub output_format: TextFormat,
    /// Write the packets that the program passes, as modified (- is stdout)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub pcap_out: Option<PathBuf>,
    /// Dump all maps afterwards as bpftool JSON: to stdout (with JSON output, as part of it), or
    /// =FILE
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "-",
        help_heading = "Output"
    )]
    pub dump_maps: Option<String>,
    /// Print what the program writes with bpf_printk
    #[arg(long, help_heading = "Output")]
    pub trace: bool,
    /// Run each input N times; each run starts with the packet left by the previous one
    #[arg(long, value_name = "N", default_value = "1", value_parser = count, help_heading = "Execution")]
    pub repeat: NonZeroU32,
    /// Threads that share the packets; a single input runs on every thread
    #[arg(long, value_name = "N", default_value = "1", value_parser = count, help_heading = "Execution")]
    pub threads: NonZeroU32,
    /// Interpret, checking every memory access
    #[arg(long, conflicts_with = "jit", help_heading = "Execution")]
    pub interp: bool,
    /// Run machine code (the default on x86-64)
    #[arg(long, help_heading = "Execution")]
    pub jit: bool,
    /// How statistics and tail calls are switched in running code
    #[arg(long, value_name = "MODE", default_value = "patch", help_heading = "Execution")]
    pub poke: Poke,
    /// Limit each run to N back-edges, subprog calls and callback calls in total
    #[arg(long, value_name = "N", help_heading = "Execution")]
    pub fuel: Option<u64>,
    /// Count and time every program's runs, and print them as bpftool does
    #[arg(long, help_heading = "Statistics")]
    pub stats: bool,
    /// Time only one run in N, count all: times are estimates
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Statistics")]
    pub stats_sample: Option<NonZeroU32>,
    /// Print a latency histogram, in powers of two
    #[arg(long, help_heading = "Statistics")]
    pub stats_histogram: bool,
    /// Show a table of programs by share of time, refreshed every second
    #[arg(long, help_heading = "Statistics")]
    pub top: bool,
    /// Write OpenMetrics text to a file, or serve it on a loopback address during the run
    #[arg(long, value_name = "FILE|ADDR", help_heading = "Statistics")]
    pub metrics: Option<String>,
    /// Write which lines, functions and branches ran, as an LCOV tracefile (- is stdout)
    #[arg(long, value_name = "FILE", help_heading = "Profiling")]
    pub coverage: Option<PathBuf>,
    /// Write the coverage as an HTML page, with the source lines from the object
    #[arg(long, value_name = "FILE", help_heading = "Profiling")]
    pub html: Option<PathBuf>,
    /// Print how many insns ran on each source line
    #[arg(long, help_heading = "Profiling")]
    pub profile: bool,
    /// Write program names and addresses to /tmp/perf-PID.map (for perf itself: --jitdump)
    #[arg(long, help_heading = "Profiling")]
    pub perf_map: bool,
    /// Write a jitdump file for `perf inject --jit`: DIR/jit-PID.dump, or FILE
    #[arg(long, value_name = "DIR|FILE", help_heading = "Profiling")]
    pub jitdump: Option<PathBuf>,
    /// Register programs with gdb through its JIT interface
    #[arg(long, help_heading = "Profiling")]
    pub gdb: bool,
}

impl RunFlags {
    /// Whether execution counts are needed.
    pub(crate) fn counts(&self) -> bool {
        self.coverage.is_some() || self.html.is_some() || self.profile
    }

    /// The requested engine, or this processor's default.
    pub(crate) fn engine(&self) -> Engine {
        match (self.interp, self.jit) {
            (true, _) => Engine::Interpreter,
            (_, true) => Engine::MachineCode,
            (false, false) => Engine::default(),
        }
    }
}

/// A number of at least 1.
fn count(text: &str) -> Result<NonZeroU32, Error> {
    text.parse().map_err(|_| format!("expected a number from 1 to {}", u32::MAX).into())
}

//! The command line as one table: help, manual page and shell completions derive from it.
//!
//! Flags of `stat` have veristat's letters, names and meaning; what is ours comes after them.

mod prog;

pub use prog::{ProgCommand, ProgFlags};

use clap::{Args, Parser, Subcommand, ValueEnum};
use skep::runtime::{Engine, PokeMode};
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Linux eBPF verifier and loader in userspace: no root, no kernel module.
#[derive(Debug, Parser)]
#[command(name = "skep", version, propagate_version = true, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Verify the programs of object files and print statistics, as veristat does
    #[command(after_help = stat_notes())]
    Stat(StatFlags),
    /// Verify the programs of object files and explain each refusal
    #[command(after_help = CHECK_NOTES)]
    Check(CheckFlags),
    /// Write a file of verdicts and insns to commit, and check builds against it
    #[command(subcommand, arg_required_else_help = true)]
    Baseline(BaselineCommand),
    /// Disassemble programs, with source lines, or print their control flow graphs
    Dump(DumpFlags),
    /// Run a program on packets or bytes, without root
    #[command(after_help = RUN_NOTES)]
    Run(RunFlags),
    /// Load the programs of object files and list them, as bpftool does
    #[command(subcommand, arg_required_else_help = true)]
    Prog(ProgCommand),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page (roff) of skep or of one subcommand
    Man {
        /// Subcommand to describe, such as `stat` or `prog show`
        command: Vec<String>,
    },
}

const STAT_EXIT: &str = "\
Exit status: 0 if every program got a verdict (rejection included, as in veristat), 1 if --fail-if \
finds something, 2 on bad input or if something is not supported yet, 101 after an internal error.";

/// What `--emit`, `--sort` and `--filter` know, from the table of statistics, and the exit status.
fn stat_notes() -> String {
    let mut notes = String::from("Statistics:\n");
    for def in skep_report::STATS {
        let names = def.names.join(", ");
        notes.push_str(&format!("  {names:<48} {}\n", def.about));
    }
    notes.push_str("\nWhen comparing (-C): NAME_a, NAME_b, NAME_diff and NAME_pct.\n\n");
    notes + &crate::tuning::notes() + "\n" + STAT_EXIT
}

const BASELINE_NOTES: &str = "\
The file holds file, program, verdict and insns, as CSV without anything that depends on the machine.

Exit status: 0 if nothing is worse, 1 if a program meets a condition, is gone or is not accepted \
any more, 2 on bad input or if something is not supported yet, 101 after an internal error.";

const CHECK_NOTES: &str = "\
Exit status: 0 if all programs are accepted, 1 if any is rejected or cannot be loaded, 2 on bad \
input or if something is not supported yet, 101 after an internal error.";

const RUN_NOTES: &str = "\
Packets start at the Ethernet header. The default input is a packet of 60 zero bytes or, for \
programs that take no packet, a zeroed context as large as the program uses.

Exit status: 0 if everything ran, 1 if the verifier rejects the program, 2 on bad input or if \
something is not supported yet, 130 after Ctrl-C (partial results are printed), 101 after an \
internal error.";

/// Files, and what they are loaded against.
#[derive(Debug, Clone, Default, Args)]
pub struct InputFlags {
    /// BPF object files, directories to search, globs, or @FILE listing one per line
    #[arg(value_name = "FILE")]
    pub files: Vec<String>,
    /// Kernel BTF: a file, or `none`; the running kernel's by default
    #[arg(long, value_name = "FILE|none", help_heading = "Input")]
    pub btf: Option<String>,
    /// Whose rules decide what can be loaded: libbpf's, or those of loaders completing objects
    #[arg(long, value_name = "WHOSE", default_value = "libbpf", help_heading = "Input")]
    pub loader: LoaderFlag,
    /// Program whose functions freplace programs replace; PROG if the file has several
    #[arg(long, value_name = "FILE[:PROG]", help_heading = "Input")]
    pub target: Option<String>,
    /// Also find BPF objects inside other files (executables, skeletons, archives)
    #[arg(long, help_heading = "Input")]
    pub scan: bool,
    /// Threads; default: one per CPU
    #[arg(long, value_name = "N", help_heading = "Input")]
    pub jobs: Option<usize>,
    /// Limit resident memory (64M, 2G): fewer in parallel; programs needing more fail
    #[arg(long, value_name = "BYTES", help_heading = "Input",
          value_parser = crate::memory_gate::parse_bytes)]
    pub mem_limit: Option<u64>,
}

/// Whose rules decide what can be loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum LoaderFlag {
    /// libbpf 1.x: what it refuses to open or load is refused.
    #[default]
    Libbpf,
    /// Loaders that complete objects themselves (Go, Rust): legacy maps, sections of other names.
    Any,
}

impl From<LoaderFlag> for skep::Loader {
    fn from(flag: LoaderFlag) -> skep::Loader {
        match flag {
            LoaderFlag::Libbpf => skep::Loader::Libbpf,
            LoaderFlag::Any => skep::Loader::Any,
        }
    }
}

/// Flags of `skep stat`.
#[derive(Debug, Clone, Default, Args)]
pub struct StatFlags {
    /// Where programs come from.
    #[command(flatten)]
    pub input: InputFlags,
    /// Print each program's verifier log
    #[arg(short, long)]
    pub verbose: bool,
    /// Verifier log level with -v: 1 (path to the refusal), 2 (everything), 4 (statistics)
    #[arg(short = 'l', long, value_name = "LEVEL")]
    pub log_level: Option<u32>,
    /// Verifier log bytes to keep
    #[arg(long, value_name = "BYTES")]
    pub log_size: Option<usize>,
    /// If a log is too long, keep its beginning instead of its end
    #[arg(long)]
    pub log_fixed: bool,
    /// Print what the loader found in each file
    #[arg(short, long)]
    pub debug: bool,
    /// Print at most N results
    #[arg(short = 'n', long, value_name = "N")]
    pub top_n: Option<usize>,
    /// Print only results, no progress
    #[arg(short, long)]
    pub quiet: bool,
    /// Statistics to print, separated by commas
    #[arg(short, long, value_name = "SPEC")]
    pub emit: Option<String>,
    /// Sort by statistics, each with ^ (ascending) or v (descending); |stat| sorts by magnitude
    #[arg(short, long, value_name = "SPEC")]
    pub sort: Option<String>,
    /// Output format
    #[arg(short, long, value_name = "FMT", value_enum, default_value_t)]
    pub output_format: OutputFormat,
    /// Compare two result files (CSV)
    #[arg(short = 'C', long, conflicts_with = "replay")]
    pub compare: bool,
    /// With -C: exit 1 if a program meets this (insns_pct>10), is gone, or is no longer accepted
    #[arg(long, value_name = "CONDITION", requires = "compare")]
    pub fail_if: Vec<String>,
    /// Print an existing result file (CSV), filtered and sorted
    #[arg(short = 'R', long)]
    pub replay: bool,
    /// Include only what matches: FILE, FILE/PROG, STAT>NUMBER, !NOT, @LIST
    #[arg(short, long, value_name = "FILTER", allow_hyphen_values = true)]
    pub filter: Vec<String>,
    /// Checkpoint verifier states more often (BPF_F_TEST_STATE_FREQ)
    #[arg(short = 't', long)]
    pub test_states: bool,
    /// Reject programs whose register bounds become inconsistent (BPF_F_TEST_REG_INVARIANTS)
    #[arg(short = 'r', long)]
    pub test_reg_invariants: bool,
    /// Print the N source lines the verifier visited most
    #[arg(long, value_name = "N")]
    pub top_src_lines: Option<usize>,
    /// Set a global variable before loading: "name = value", or @FILE with one a line
    #[arg(short = 'G', long, value_name = "GLOBAL")]
    pub set_global_vars: Vec<String>,
    /// Verifier engine settings, separated by commas; they change cost, never results
    #[arg(long, value_name = "KEY=VALUE")]
    pub tuning: Vec<String>,
}

/// Formats of `skep stat`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Aligned columns.
    #[default]
    Table,
    /// Comma-separated, veristat's columns.
    Csv,
    /// An array of objects.
    Json,
    /// A Markdown table.
    Markdown,
}

/// What to do with the committed file.
#[derive(Debug, Subcommand)]
pub enum BaselineCommand {
    /// Verify programs and write their verdicts and insns to the file
    #[command(after_help = BASELINE_NOTES)]
    Write(BaselineFlags),
    /// Verify programs and compare them with the file
    #[command(after_help = BASELINE_NOTES)]
    Check(BaselineCheckFlags),
}

/// Which programs, and which file.
#[derive(Debug, Clone, Default, Args)]
pub struct BaselineFlags {
    /// Where programs come from.
    #[command(flatten)]
    pub input: InputFlags,
    /// File with the results to compare with
    #[arg(short, long, value_name = "FILE", default_value = "skep-baseline.csv")]
    pub baseline: PathBuf,
    /// Include only programs that match: FILE, FILE/PROG, !NOT, @LIST
    #[arg(short, long, value_name = "FILTER", allow_hyphen_values = true)]
    pub filter: Vec<String>,
    /// Set a global variable before loading: "name = value", or @FILE with one a line
    #[arg(short = 'G', long, value_name = "GLOBAL")]
    pub set_global_vars: Vec<String>,
}

/// Flags of `skep baseline check`.
#[derive(Debug, Clone, Default, Args)]
pub struct BaselineCheckFlags {
    /// As for writing.
    #[command(flatten)]
    pub common: BaselineFlags,
    /// What is worse, by the statistics of the file; several are alternatives
    #[arg(long, value_name = "CONDITION", default_value = "insns_pct>10")]
    pub fail_if: Vec<String>,
    /// Output format
    #[arg(short, long, value_name = "FMT", value_enum, default_value_t)]
    pub output_format: OutputFormat,
}

/// Flags of `skep check`.
#[derive(Debug, Clone, Default, Args)]
pub struct CheckFlags {
    /// Where programs come from.
    #[command(flatten)]
    pub input: InputFlags,
    /// Include only programs that match: FILE, FILE/PROG, !NOT, @LIST
    #[arg(short, long, value_name = "FILTER", allow_hyphen_values = true)]
    pub filter: Vec<String>,
    /// Output format
    #[arg(long, value_name = "FMT", value_enum, default_value_t)]
    pub format: CheckFormat,
    /// Set a global variable before loading: "name = value", or @FILE with one a line
    #[arg(short = 'G', long, value_name = "GLOBAL")]
    pub set_global_vars: Vec<String>,
    /// Print only rejected programs, no summary
    #[arg(short, long)]
    pub quiet: bool,
}

/// Formats of `skep check`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// For people.
    #[default]
    Text,
    /// SARIF 2.1.0.
    Sarif,
    /// An array of objects.
    Json,
    /// GitHub workflow commands.
    Github,
}

/// Flags of `skep dump`.
#[derive(Debug, Clone, Default, Args)]
pub struct DumpFlags {
    /// BPF object file
    pub file: PathBuf,
    /// Program name; default: all
    pub prog: Option<String>,
    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub stage: Stage,
    /// Print JSON with opcodes and source lines on one line (stages xlated and jited)
    #[arg(short, long)]
    pub json: bool,
    /// The same, indented
    #[arg(short, long)]
    pub pretty: bool,
    /// Whose rules decide what can be loaded: libbpf's, or those of loaders completing objects
    #[arg(long, value_name = "WHOSE", default_value = "libbpf")]
    pub loader: LoaderFlag,
    /// Kernel BTF: a file, or `none`; the running kernel's by default
    #[arg(long, value_name = "FILE|none")]
    pub btf: Option<String>,
}

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
    /// Kernel BTF: a file, or `none`; the running kernel's by default
    #[arg(long, value_name = "FILE|none", help_heading = "Input")]
    pub btf: Option<String>,
    /// Whose rules decide what can be loaded: libbpf's, or those of loaders completing objects
    #[arg(long, value_name = "WHOSE", default_value = "libbpf", help_heading = "Input")]
    pub loader: LoaderFlag,
    /// Set a global variable before loading: "name = value", or @FILE with one a line
    #[arg(short = 'G', long, value_name = "GLOBAL", help_heading = "Input")]
    pub set_global_vars: Vec<String>,
    /// Print the result as JSON on one line
    #[arg(short, long, help_heading = "Output")]
    pub json: bool,
    /// Print the result as indented JSON
    #[arg(short, long, help_heading = "Output")]
    pub pretty: bool,
    /// Write the packets the program lets through, as it left them (- is stdout)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub pcap_out: Option<PathBuf>,
    /// Dump all maps afterwards as bpftool JSON, to stdout or to =FILE
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
    /// Run each input N times; each run starts from the packet the last one left
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
    /// The engine that is asked for, or this processor's.
    pub(crate) fn engine(&self) -> Engine {
        match (self.interp, self.jit) {
            (true, _) => Engine::Interp,
            (_, true) => Engine::Jit,
            (false, false) => Engine::default(),
        }
    }
}

/// A number of at least 1.
fn count(text: &str) -> Result<NonZeroU32, String> {
    text.parse().map_err(|_| format!("expected a number from 1 to {}", u32::MAX))
}

/// How statistics and tail calls are switched in running code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Poke {
    /// Patch the code; fall back to flags where the host refuses.
    #[default]
    Patch,
    /// Test flags in memory; never write to code.
    Flag,
}

impl From<Poke> for PokeMode {
    fn from(poke: Poke) -> PokeMode {
        match poke {
            Poke::Patch => PokeMode::Patch,
            Poke::Flag => PokeMode::Flag,
        }
    }
}

/// Stages of `skep dump`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    /// As in the file, without a kernel to relocate against.
    Elf,
    /// What the verifier gets: relocated, subprograms appended.
    #[default]
    Relocated,
    /// Control flow graph, in DOT.
    Cfg,
    /// What runs: verified and rewritten by the verifier's fixups.
    Xlated,
    /// Machine code, interleaved with its insns.
    Jited,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, CommandFactory};
    use std::collections::HashSet;

    /// veristat's options (6.18): letter and name.
    const VERISTAT: &[(Option<char>, &str)] = &[
        (Some('v'), "verbose"),
        (Some('l'), "log-level"),
        (None, "log-fixed"),
        (None, "log-size"),
        (None, "top-src-lines"),
        (Some('d'), "debug"),
        (Some('n'), "top-n"),
        (Some('q'), "quiet"),
        (Some('e'), "emit"),
        (Some('s'), "sort"),
        (Some('o'), "output-format"),
        (Some('C'), "compare"),
        (Some('R'), "replay"),
        (Some('f'), "filter"),
        (Some('t'), "test-states"),
        (Some('r'), "test-reg-invariants"),
        (Some('G'), "set-global-vars"),
        (Some('V'), "version"),
    ];

    fn built() -> clap::Command {
        let mut command = Cli::command();
        command.build();
        command
    }

    /// All subcommands, those of subcommands too.
    fn paths(command: &clap::Command) -> Vec<Vec<String>> {
        let subs = command.get_subcommands().filter(|sub| sub.get_name() != "help");
        let below = |sub: &clap::Command| {
            let mut found = vec![vec![sub.get_name().to_owned()]];
            for mut path in paths(sub) {
                path.insert(0, sub.get_name().to_owned());
                found.push(path);
            }
            found
        };
        subs.flat_map(below).collect()
    }

    #[test]
    fn the_table_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn stat_has_veristats_flags() {
        let command = built();
        let stat = command.find_subcommand("stat").unwrap();
        for &(letter, name) in VERISTAT {
            let found = stat.get_arguments().find(|arg| arg.get_long() == Some(name));
            let arg = found.unwrap_or_else(|| panic!("--{name} is missing"));
            assert_eq!(arg.get_short(), letter, "--{name}");
        }
    }

    #[test]
    fn every_flag_says_in_one_line_what_it_does_and_is_in_the_manual() {
        let command = built();
        for path in paths(&command) {
            let sub = path.iter().fold(&command, |at, name| at.find_subcommand(name).unwrap());
            let mut page = Vec::new();
            crate::pages::man(&mut page, &path).unwrap().unwrap();
            // roff writes a hyphen with a backslash.
            let page = String::from_utf8(page).unwrap().replace("\\-", "-");
            let mut letters = HashSet::new();
            for arg in sub.get_arguments() {
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                let name = arg.get_id();
                assert!(!help.is_empty() && !help.ends_with('.'), "{name}: '{help}'");
                assert!(help.len() <= 100, "{name}: '{help}'");
                if let Some(long) = arg.get_long().filter(|_| !Arg::is_hide_set(arg)) {
                    assert!(page.contains(&format!("--{long}")), "--{long} is not in the manual");
                }
                assert!(arg.get_short().is_none_or(|letter| letters.insert(letter)), "{name}");
            }
        }
    }

    #[test]
    fn completions_name_every_subcommand() {
        for shell in [clap_complete::Shell::Bash, clap_complete::Shell::Zsh] {
            let mut script = Vec::new();
            crate::pages::completions(&mut script, shell).unwrap();
            let script = String::from_utf8(script).unwrap();
            for sub in built().get_subcommands() {
                assert!(script.contains(sub.get_name()), "{shell}: {}", sub.get_name());
            }
        }
    }
}

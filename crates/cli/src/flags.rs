//! The command line as one table: help, manual page and shell completions derive from it.
//!
//! Flags of `stat` have veristat's letters, names and meaning; what is ours comes after them.

mod bench;
mod prog;

pub(crate) use bench::{
    BenchCommand, BenchPokeFlags, BenchRunFlags, BenchVerifyFlags, PokeKind, PokeTable, RunTable,
};
pub(crate) use prog::{ProgCommand, ProgFlags};

use clap::{Args, Parser, Subcommand, ValueEnum};
use skep::jit::PokeMode;
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
    /// Print the insns of programs, with source lines, or their control flow graphs
    Dump(DumpFlags),
    /// Run a program on packets or bytes, without root
    #[command(after_help = RUN_NOTES)]
    Run(RunFlags),
    /// Load the programs of object files and print them, as bpftool does
    #[command(subcommand, arg_required_else_help = true)]
    Prog(ProgCommand),
    /// Measure
    #[command(subcommand, arg_required_else_help = true)]
    Bench(BenchCommand),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page (roff) of skep, or of one subcommand
    Man {
        /// Subcommand to describe (`bench verify` too)
        command: Vec<String>,
    },
}

const STAT_EXIT: &str = "\
Exit status: 0 if every program got a verdict (refused ones included, as in veristat), 2 if a file \
or specification is wrong or something is not supported yet, 101 after an internal error.";

/// What `--emit`, `--sort` and `--filter` know, from the table of statistics, and the exit status.
fn stat_notes() -> String {
    let mut notes = String::from("Statistics:\n");
    for def in skep_report::STATS {
        let names = def.names.join(", ");
        notes.push_str(&format!("  {names:<48} {}\n", def.about));
    }
    notes.push_str("\nOf two files (-C), NAME_a, NAME_b, NAME_diff and NAME_pct.\n\n");
    notes + &crate::tuning::notes() + "\n" + STAT_EXIT
}

const CHECK_NOTES: &str = "\
Exit status: 0 if all programs are accepted, 1 if some are refused, 2 if a file is wrong or \
something is not supported yet, 101 after an internal error.";

const RUN_NOTES: &str = "\
Packets begin with their Ethernet header. The packet is one of 60 zero bytes if none is given, the \
context of other programs as many zeros as they use.

Exit status: 0 if everything ran, 1 if the verifier refuses the program, 2 if a file, packet or \
value is wrong or something is not supported yet, 130 after an interrupt (Ctrl-C; what was done by \
then is shown), 101 after an internal error.";

/// Files, and what they are loaded against.
#[derive(Debug, Clone, Default, Args)]
pub struct InputFlags {
    /// BPF object files, folders (searched for objects), globs, or @FILE with one of these a line
    #[arg(value_name = "FILE")]
    pub files: Vec<String>,
    /// Kernel BTF: a file, or `none`; the running kernel's by default
    #[arg(long, value_name = "FILE|none", help_heading = "Input")]
    pub btf: Option<String>,
    /// Also find BPF objects inside other files (executables, skeletons, archives)
    #[arg(long, help_heading = "Input")]
    pub scan: bool,
    /// Threads; all CPUs by default
    #[arg(long, value_name = "N", help_heading = "Input")]
    pub jobs: Option<usize>,
    /// Most resident memory (bytes, 64M, 2G): fewer programs at once, an error for what needs more
    #[arg(long, value_name = "BYTES", help_heading = "Input",
          value_parser = crate::memory_gate::parse_bytes)]
    pub mem_limit: Option<u64>,
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
    /// Bytes of verifier log that are kept
    #[arg(long, value_name = "BYTES")]
    pub log_size: Option<usize>,
    /// Keep the beginning of a log that is too long, not its end
    #[arg(long)]
    pub log_fixed: bool,
    /// Print what the loader found in each file
    #[arg(short, long)]
    pub debug: bool,
    /// Print at most N results
    #[arg(short = 'n', long, value_name = "N")]
    pub top_n: Option<usize>,
    /// Print no progress, only results
    #[arg(short, long)]
    pub quiet: bool,
    /// Statistics to print, separated by commas
    #[arg(short, long, value_name = "SPEC")]
    pub emit: Option<String>,
    /// Order: statistics, each with ^ (ascending) or v (descending); |stat| sorts by magnitude
    #[arg(short, long, value_name = "SPEC")]
    pub sort: Option<String>,
    /// Output format
    #[arg(short, long, value_name = "FMT", value_enum, default_value_t)]
    pub output_format: OutputFormat,
    /// Compare two result files (CSV)
    #[arg(short = 'C', long, conflicts_with = "replay")]
    pub compare: bool,
    /// Filter, sort and print a result file (CSV) again
    #[arg(short = 'R', long)]
    pub replay: bool,
    /// Process or print only what matches: FILE, FILE/PROG, STAT>NUMBER, !not, @LIST
    #[arg(short, long, value_name = "FILTER", allow_hyphen_values = true)]
    pub filter: Vec<String>,
    /// Save verifier states more often (BPF_F_TEST_STATE_FREQ)
    #[arg(short = 't', long)]
    pub test_states: bool,
    /// Refuse programs whose register bounds contradict each other (BPF_F_TEST_REG_INVARIANTS)
    #[arg(short = 'r', long)]
    pub test_reg_invariants: bool,
    /// Print the N source lines that the verifier walked most often
    #[arg(long, value_name = "N")]
    pub top_src_lines: Option<usize>,
    /// Set a global variable before loading: "name = value", or @FILE with one a line
    #[arg(short = 'G', long, value_name = "GLOBAL")]
    pub set_global_vars: Vec<String>,
    /// Settings of the verifier's engine, separated by commas: same results, other cost
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
}

/// Flags of `skep check`.
#[derive(Debug, Clone, Default, Args)]
pub struct CheckFlags {
    /// Where programs come from.
    #[command(flatten)]
    pub input: InputFlags,
    /// Only programs that match: FILE, FILE/PROG, !not, @LIST
    #[arg(short, long, value_name = "FILTER", allow_hyphen_values = true)]
    pub filter: Vec<String>,
    /// Output format
    #[arg(long, value_name = "FMT", value_enum, default_value_t)]
    pub format: CheckFormat,
    /// Set a global variable before loading: "name = value", or @FILE with one a line
    #[arg(short = 'G', long, value_name = "GLOBAL")]
    pub set_global_vars: Vec<String>,
    /// Print nothing of accepted programs, and no summary
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
    /// Program; all by default
    pub prog: Option<String>,
    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub stage: Stage,
    /// Kernel BTF: a file, or `none`; the running kernel's by default
    #[arg(long, value_name = "FILE|none")]
    pub btf: Option<String>,
}

/// Flags of `skep run`.
#[derive(Debug, Clone, Args)]
pub struct RunFlags {
    /// BPF object file
    pub file: PathBuf,
    /// Program; may be left out if there is one only
    pub prog: Option<String>,
    /// Run on each packet of a capture of Ethernet packets (pcap or pcapng; - is standard input)
    #[arg(long, value_name = "FILE", help_heading = "Input", group = "input")]
    pub pcap: Option<PathBuf>,
    /// Run on this packet or context, in hex digits
    #[arg(long, value_name = "DIGITS", help_heading = "Input", group = "input")]
    pub hex: Option<String>,
    /// Run on the packet or context that is in a file (- is standard input)
    #[arg(long, value_name = "FILE", help_heading = "Input", group = "input")]
    pub data_file: Option<PathBuf>,
    /// Fields of the context, as {"mark": 7, "cb": [1, 2]}, its words ([1, 2]), or a file with this
    #[arg(long, value_name = "JSON|FILE", help_heading = "Input")]
    pub ctx_json: Option<String>,
    /// Fill a map first, from entries as --dump-maps gives them; a program's name fills a slot
    #[arg(long, value_name = "NAME=@FILE", help_heading = "Input")]
    pub map: Vec<String>,
    /// Kernel BTF: a file, or `none`; the running kernel's by default
    #[arg(long, value_name = "FILE|none", help_heading = "Input")]
    pub btf: Option<String>,
    /// Write the packets that are let through, as the program left them
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub pcap_out: Option<PathBuf>,
    /// Print all maps afterwards as JSON, as bpftool does; with =FILE, write them there
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
    /// Run each input N times; the packet is what the run before left
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Execution")]
    pub repeat: NonZeroU32,
    /// Threads that share the packets; a single input is run by each
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Execution")]
    pub threads: NonZeroU32,
    /// Interpret, checking every access to memory
    #[arg(long, conflicts_with = "jit", help_heading = "Execution")]
    pub interp: bool,
    /// Run machine code (the default)
    #[arg(long, help_heading = "Execution")]
    pub jit: bool,
    /// How machine code is switched while it runs
    #[arg(long, value_name = "MODE", default_value = "patch", help_heading = "Execution")]
    pub poke: Poke,
    /// Stop a run that takes more than N jumps backwards, calls of functions and callbacks
    #[arg(long, value_name = "N", help_heading = "Execution")]
    pub fuel: Option<u64>,
    /// Count and time the runs of every program, and print what bpftool prints of them
    #[arg(long, help_heading = "Statistics")]
    pub stats: bool,
    /// Time one run in N only; all are counted
    #[arg(long, value_name = "N", help_heading = "Statistics")]
    pub stats_sample: Option<NonZeroU32>,
    /// Print how many runs took how long, by powers of two
    #[arg(long, help_heading = "Statistics")]
    pub stats_histogram: bool,
    /// Show a table of the programs, by their shares of time, anew each second
    #[arg(long, help_heading = "Statistics")]
    pub top: bool,
    /// Write OpenMetrics text to a file, or serve it at a loopback address while the run goes
    #[arg(long, value_name = "FILE|ADDR", help_heading = "Statistics")]
    pub metrics: Option<String>,
    /// Write the programs' names and addresses to /tmp/perf-PID.map (for perf itself: --jitdump)
    #[arg(long, help_heading = "Profiling")]
    pub perf_map: bool,
    /// Write a jitdump file for `perf inject --jit`: jit-PID.dump in a folder, or a file so named
    #[arg(long, value_name = "DIR|FILE", help_heading = "Profiling")]
    pub jitdump: Option<PathBuf>,
    /// Tell gdb the programs' names, by its interface for compilers
    #[arg(long, help_heading = "Profiling")]
    pub gdb: bool,
}

/// How machine code is switched while it runs: statistics, tail calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Poke {
    /// By writing to the code; by flags where the host refuses.
    #[default]
    Patch,
    /// By flags in memory: code is never written.
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
    /// As in the file: the object opened without any kernel.
    Elf,
    /// As the verifier gets it: relocated, subprograms appended.
    #[default]
    Relocated,
    /// Control flow graph, in DOT.
    Cfg,
    /// What runs: verified, and rewritten by what the verifier found.
    Xlated,
    /// Machine code, between the insns that it was made from.
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

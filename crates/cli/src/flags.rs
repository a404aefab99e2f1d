//! The command line as one table: help, manual page and shell completions derive from it.
//!
//! Flags of `stat` have veristat's letters, names and meaning; our own come after them.

mod against;
mod globals;
mod kernel;
mod loader;
mod output;
mod profile;
#[cfg(all(feature = "run", target_os = "linux"))]
pub mod run;

pub use against::AgainstFlags;
pub use globals::{GlobalsFlags, GlobalsFormat};
pub use kernel::{KernelCommand, KernelImportFlags};
pub use loader::LoaderFlag;
pub use output::{ColorFlag, HtmlFlag, TextFormat};
pub use profile::{ProfileFlags, ProfileFormat, WeightFlag};

use crate::Error;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// Linux eBPF verifier and loader in userspace: no root, no kernel module.
#[derive(Debug, Parser)]
#[command(name = "skep", version, propagate_version = true, arg_required_else_help = true)]
#[cfg_attr(
    not(all(feature = "run", target_os = "linux")),
    command(
        after_help = "This build cannot run programs: `skep run`, `skep test` and `skep prog` need Linux."
    )
)]
pub struct Cli {
    /// When to colour results
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, global = true)]
    pub color: ColorFlag,
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

impl Command {
    /// Whether no progress is to be shown.
    pub(crate) fn is_quiet(&self) -> bool {
        match self {
            Command::Stat(flags) => flags.quiet,
            Command::Check(flags) => flags.quiet,
            _ => false,
        }
    }
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Verify the programs of object files and print statistics, as veristat does
    #[command(after_help = stat_notes(), mut_args(of_programs))]
    Stat(StatFlags),
    /// Verify the programs of object files and explain each rejection
    #[command(after_help = CHECK_NOTES)]
    Check(CheckFlags),
    /// Explain a kind of rejection: why the rule exists, how to fix the program
    #[command(arg_required_else_help = true)]
    Explain(ExplainFlags),
    /// Record verdicts and insns in a file to commit, and check builds against it
    #[command(subcommand, arg_required_else_help = true)]
    Baseline(BaselineCommand),
    /// List the global variables of an object that `-G` can set
    #[command(arg_required_else_help = true)]
    Globals(GlobalsFlags),
    /// Show where the verification of a program spends its insns and states
    #[command(after_help = profile::PROFILE_NOTES, arg_required_else_help = true)]
    Profile(ProfileFlags),
    /// Disassemble programs, with source lines, or print their control flow graphs
    Dump(DumpFlags),
    /// Subcommands that run programs.
    #[cfg(all(feature = "run", target_os = "linux"))]
    #[command(flatten)]
    Runs(run::RunsCommand),
    /// List, show and compare kernels; import one from a file or the running system
    #[command(subcommand, arg_required_else_help = true)]
    Kernel(KernelCommand),
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
Exit status: 0 if every program got a verdict (rejection included, as in veristat), 1 if a --fail-if \
condition holds or a program of -C's first file is not in the second (veristat: 0), 2 on bad input \
or if something is not supported yet, 101 after an internal error.";

/// The statistics that `--emit`, `--sort` and `--filter` accept, and the exit status.
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
The file holds file, program, verdict, kernel and insns as CSV, and nothing that depends on the machine.

Exit status: 0 if nothing got worse, 1 if a program meets a condition, is missing or is no longer \
accepted, 2 on bad input or if something is not supported yet, 101 after an internal error.";

const CHECK_NOTES: &str = "\
Exit status: 0 if all programs are accepted, 1 if any is rejected or cannot be loaded, 2 on bad \
input or if something is not supported yet, 101 after an internal error. With --kernel: 1 if any \
of the kernels rejects any program. With --min-kernel: 0 if there is such a kernel for each program, \
1 if the newest kernel rejects one, 2 if that is not known.\n\n\
Kernels with * were not tested; the line below says what is known of them.";

/// `--kernel` of commands that take input files but only one kernel.
pub fn one_kernel(flag: clap::Arg) -> clap::Arg {
    flag.help("Another kernel: a name (`skep kernel list`), or a kernel file")
}

/// Flags of `stat` that are about programs have no effect on files of results.
const OF_PROGRAMS: [&str; 14] = [
    "btf",
    "kernel",
    "loader",
    "target",
    "scan",
    "log_level",
    "log_size",
    "log_fixed",
    "test_states",
    "test_reg_invariants",
    "top_src_lines",
    "set_global_vars",
    "combinations",
    "tuning",
];

fn of_programs(flag: clap::Arg) -> clap::Arg {
    match OF_PROGRAMS.contains(&flag.get_id().as_str()) {
        true => flag.conflicts_with_all(["compare", "replay"]),
        false => flag,
    }
}

/// Input files, and the kernel and loader they are for.
#[derive(Debug, Clone, Default, Args)]
pub struct InputFlags {
    /// BPF object files, directories to search, globs, or @FILE listing one per line
    #[arg(value_name = "FILE")]
    pub files: Vec<OsString>,
    /// Kernel BTF: a file, or `none`; the running kernel's by default
    #[arg(long, value_name = "FILE|none", help_heading = "Input")]
    pub btf: Option<OsString>,
    /// Other kernels, separated by commas: names (`skep kernel list`), files, `all` tested series
    #[arg(
        long,
        value_name = "KERNEL",
        conflicts_with = "btf",
        value_delimiter = ',',
        help_heading = "Input"
    )]
    pub kernel: Vec<String>,
    /// Loader whose rules apply: libbpf's, or any (Go, Rust, ...)
    #[arg(long, value_name = "WHOSE", default_value = "libbpf", help_heading = "Input")]
    pub loader: LoaderFlag,
    /// Target of freplace programs; PROG if the file has several
    #[arg(long, value_name = "FILE[:PROG]", help_heading = "Input")]
    pub target: Option<OsString>,
    /// Also find BPF objects inside other files (executables, skeletons, archives)
    #[arg(long, help_heading = "Input")]
    pub scan: bool,
    /// Threads; default: one per CPU
    #[arg(long, value_name = "N", help_heading = "Input")]
    pub jobs: Option<usize>,
    /// Limit resident memory (64M, 2G): reduces parallelism; programs needing more fail
    #[arg(long, value_name = "BYTES", help_heading = "Input",
          value_parser = parse_bytes)]
    pub mem_limit: Option<u64>,
}

/// Flags of `skep stat`.
#[derive(Debug, Clone, Default, Args)]
pub struct StatFlags {
    /// Input files.
    #[command(flatten)]
    pub input: InputFlags,
    /// Print each program's verifier log
    #[arg(short, long)]
    pub verbose: bool,
    /// Verifier log level with -v: 1 (path to the rejection), 2 (everything), 4 (statistics)
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
    /// Print at most N results; 0: all
    #[arg(short = 'n', long, value_name = "N")]
    pub top_n: Option<usize>,
    /// Print only results, no progress
    #[arg(short, long, conflicts_with = "verbose")]
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
    /// HTML output.
    #[command(flatten)]
    pub html: HtmlFlag,
    /// Compare two result files (CSV)
    #[arg(short = 'C', long, conflicts_with = "replay")]
    pub compare: bool,
    /// With -C: exit 1 if a program meets this (insns_pct>10), is missing or no longer accepted
    #[arg(long, value_name = "CONDITION", requires = "compare", conflicts_with = "replay")]
    pub fail_if: Vec<String>,
    /// Print an existing result file (CSV), filtered and sorted
    #[arg(short = 'R', long)]
    pub replay: bool,
    /// Include only programs that match: FILE, FILE/PROG, STAT>NUMBER, verdict=failure, !NOT, @LIST
    #[arg(short, long, value_name = "FILTER", allow_hyphen_values = true)]
    pub filter: Vec<String>,
    /// Checkpoint verifier states more often (BPF_F_TEST_STATE_FREQ)
    #[arg(short = 't', long)]
    pub test_states: bool,
    /// Reject programs whose register bounds become inconsistent (BPF_F_TEST_REG_INVARIANTS)
    #[arg(short = 'r', long)]
    pub test_reg_invariants: bool,
    /// Print the N source lines the verifier visited most
    #[arg(short = 'S', long, value_name = "N")]
    pub top_src_lines: Option<usize>,
    /// Set a global: "name = value"; try several: "name = {1, 2}", "name = 1..4"; @FILE: a list
    #[arg(short = 'G', long, value_name = "GLOBAL")]
    pub set_global_vars: Vec<String>,
    /// Maximum number of combinations of values of globals; default 1000
    #[arg(long, value_name = "N")]
    pub combinations: Option<usize>,
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

/// Subcommands for the baseline file.
#[derive(Debug, Subcommand)]
pub enum BaselineCommand {
    /// Verify programs and write their verdicts and insns to the file
    #[command(after_help = BASELINE_NOTES, mut_arg("kernel", one_kernel))]
    Write(BaselineFlags),
    /// Verify programs and compare them with the file
    #[command(after_help = BASELINE_NOTES, mut_arg("kernel", one_kernel))]
    Check(BaselineCheckFlags),
}

/// The programs and the baseline file.
#[derive(Debug, Clone, Default, Args)]
pub struct BaselineFlags {
    /// Input files.
    #[command(flatten)]
    pub input: InputFlags,
    /// File with the results to compare with
    #[arg(short, long, value_name = "FILE", default_value = "skep-baseline.csv")]
    pub baseline: PathBuf,
    /// Include only programs that match: FILE, FILE/PROG, !NOT, @LIST
    #[arg(short, long, value_name = "FILTER", allow_hyphen_values = true)]
    pub filter: Vec<String>,
    /// Set a global variable before loading: "name = value", or @FILE with one per line
    #[arg(short = 'G', long, value_name = "GLOBAL")]
    pub set_global_vars: Vec<String>,
}

/// Flags of `skep baseline check`.
#[derive(Debug, Clone, Default, Args)]
pub struct BaselineCheckFlags {
    /// The same as for `write`.
    #[command(flatten)]
    pub common: BaselineFlags,
    /// Condition on a statistic that counts as a regression; may be repeated (any of them)
    #[arg(long, value_name = "CONDITION", default_value = "insns_pct>10")]
    pub fail_if: Vec<String>,
    /// Output format
    #[arg(short, long, value_name = "FMT", value_enum, default_value_t)]
    pub output_format: OutputFormat,
}

/// Flags of `skep check`.
#[derive(Debug, Clone, Default, Args)]
pub struct CheckFlags {
    /// Input files.
    #[command(flatten)]
    pub input: InputFlags,
    /// Print the oldest kernel from which on each program loads, of --kernel or of each series
    #[arg(long, conflicts_with = "btf")]
    pub min_kernel: bool,
    /// Include only programs that match: FILE, FILE/PROG, !NOT, @LIST
    #[arg(short, long, value_name = "FILTER", allow_hyphen_values = true)]
    pub filter: Vec<String>,
    /// Output format
    #[arg(
        short = 'o',
        long = "output-format",
        visible_alias = "format",
        value_name = "FMT",
        value_enum,
        default_value_t
    )]
    pub format: CheckFormat,
    /// Directory that relative source paths in line info refer to; default: the current one
    #[arg(long, value_name = "DIR")]
    pub source_root: Option<PathBuf>,
    /// HTML output.
    #[command(flatten)]
    pub html: HtmlFlag,
    /// Set a global variable before loading: "name = value", or @FILE with one per line
    #[arg(short = 'G', long, value_name = "GLOBAL")]
    pub set_global_vars: Vec<String>,
    /// Print only rejected programs, no summary
    #[arg(short, long)]
    pub quiet: bool,
}

/// Flags of `skep explain`.
#[derive(Debug, Clone, Default, Args)]
pub struct ExplainFlags {
    /// Codes such as `leaked-reference`, or a kernel message or part of one
    #[arg(value_name = "CODE", required_unless_present = "list", conflicts_with = "list")]
    pub code: Vec<String>,
    /// List all codes
    #[arg(long)]
    pub list: bool,
    /// Output format
    #[arg(short, long, value_name = "FMT", value_enum, default_value_t)]
    pub output_format: TextFormat,
}

/// Formats of `skep check`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// Human-readable text.
    #[default]
    Text,
    /// SARIF 2.1.0.
    Sarif,
    /// An array of objects.
    Json,
    /// GitHub workflow commands.
    Github,
    /// A Markdown table of programs by kernels (only with --kernel).
    Markdown,
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
    /// Output format
    #[arg(short, long, value_name = "FMT", value_enum, default_value_t)]
    pub output_format: TextFormat,
    /// The kernel and loader.
    #[command(flatten)]
    pub against: AgainstFlags,
}

/// Stages of `skep dump`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    /// As in the file, before relocation.
    Elf,
    /// The verifier's input: relocated, subprograms appended.
    #[default]
    Relocated,
    /// Control flow graph, in DOT.
    Cfg,
    /// As executed: verified and rewritten by the verifier's fixups.
    Xlated,
    /// Machine code, interleaved with its insns.
    Jited,
}

/// `1048576`, `512M`, `2G`.
fn parse_bytes(text: &str) -> Result<u64, Error> {
    let wrong = || Error::from("expected a size such as 1048576, 512M or 2G");
    let shift = match text.chars().last() {
        Some('k' | 'K') => 10,
        Some('m' | 'M') => 20,
        Some('g' | 'G') => 30,
        _ => 0,
    };
    let digits = if shift == 0 { text } else { &text[..text.len() - 1] };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).filter(|&bytes| bytes > 0).ok_or_else(wrong)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use clap::{Arg, CommandFactory};
    use std::collections::HashSet;

    /// veristat's options (6.18): letter and name.
    const VERISTAT: &[(Option<char>, &str)] = &[
        (Some('v'), "verbose"),
        (Some('l'), "log-level"),
        (None, "log-fixed"),
        (None, "log-size"),
        (Some('S'), "top-src-lines"),
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
    pub(crate) fn paths(command: &clap::Command) -> Vec<Vec<String>> {
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

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!(parse_bytes("4096"), Ok(4096));
        assert_eq!(parse_bytes("512M"), Ok(512 << 20));
        assert_eq!(parse_bytes("2g"), Ok(2 << 30));
        for wrong in ["", "G", "0", "-1", "1T", "99999999999G", "é"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }
}

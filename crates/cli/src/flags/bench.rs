//! Options of `skep bench`.

use super::InputFlags;
use clap::{Args, Subcommand, ValueEnum};

/// What can be measured.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Measure verification: two settings in turn, or skep and the host kernel in turn
    #[command(after_help = verify_notes())]
    Verify(BenchVerifyFlags),
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
    #[arg(long, value_name = "N")]
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

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.001..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("not a number of seconds from 0.001 to 86400".to_owned()),
    }
}

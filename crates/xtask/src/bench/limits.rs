//! `cargo xtask bench limits PATH...`: whether `skep stat --mem-limit` stays below the limit.
//!
//! Each limit is one run. Its peak resident set (`VmHWM`) is sampled every millisecond: the value
//! only grows, so only growth in the last millisecond can be missed.

use serde::Deserialize;
use skep_report::Grid;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Object files, and folders of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Limits, MiB.
    #[arg(long, value_delimiter = ',', default_values_t = [32, 48, 64, 100, 200, 400])]
    mib: Vec<u64>,
    /// Also produce and print logs, at level 2.
    #[arg(long)]
    logs: bool,
}

/// The result of one run.
struct Ran {
    seconds: f64,
    peak_kib: u64,
    exit: i32,
    programs: usize,
    /// Number of programs without a verdict because of the limit.
    over: usize,
}

/// One program in the output of `skep stat -o json`.
#[derive(Deserialize)]
struct Shown {
    reason: Option<String>,
}

const PAUSE: Duration = Duration::from_millis(1);

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let skep = super::release::skep_in_release()?;
    let headings = ["Limit, MiB", "Peak, MiB", "Seconds", "Exit", "Programs", "Without a verdict"];
    let mut table = Grid::new(&headings, 0);
    let mut held = true;
    for limit in args.mib.iter().map(|&mib| Some(mib)).chain([None]) {
        let ran = once(&skep, args, limit)?;
        held &= limit.is_none_or(|mib| ran.peak_kib <= mib << 10);
        table.row([
            limit.map_or_else(|| "none".to_owned(), |mib| mib.to_string()),
            format!("{:.1}", ran.peak_kib as f64 / 1024.0),
            format!("{:.2}", ran.seconds),
            ran.exit.to_string(),
            ran.programs.to_string(),
            ran.over.to_string(),
        ]);
    }
    println!("{table}");
    println!("{}", if held { "every limit held" } else { "a limit was exceeded" });
    Ok(held.into())
}

fn once(skep: &Path, args: &Args, limit: Option<u64>) -> Result<Ran, Box<dyn std::error::Error>> {
    let mut command = Command::new(skep);
    command.args(["stat", "--quiet", "-o", "json"]).args(&args.paths);
    if let Some(mib) = limit {
        command.args(["--mem-limit", &format!("{mib}M")]);
    }
    if args.logs {
        command.args(["--verbose", "--log-level", "2"]);
    }
    let started = Instant::now();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut out = child.stdout.take().ok_or("no output")?;
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        out.read_to_end(&mut text).map(|_| text)
    });
    let status = format!("/proc/{}/status", child.id());
    let mut peak_kib = 0;
    let exit = loop {
        peak_kib = peak_kib.max(high_water_kib(&status).unwrap_or(0));
        match child.try_wait()? {
            Some(exit) => break exit.code().unwrap_or(-1),
            None => std::thread::sleep(PAUSE),
        }
    };
    let seconds = started.elapsed().as_secs_f64();
    let text = reader.join().map_err(|_| "the reader failed")??;
    let (programs, over) = count(&String::from_utf8_lossy(&text));
    Ok(Ran { seconds, peak_kib, exit, programs, over })
}

/// The number of programs in the output, and of those without a verdict because of the limit. Logs
/// precede the rows.
fn count(text: &str) -> (usize, usize) {
    let rows = text.rfind("\n[").map_or(text, |at| &text[at..]);
    let rows: Vec<Shown> = serde_json::from_str(rows.trim()).unwrap_or_default();
    let over = |row: &&Shown| row.reason.as_deref().is_some_and(|r| r.starts_with("memory limit"));
    (rows.len(), rows.iter().filter(over).count())
}

fn high_water_kib(status: &str) -> Option<u64> {
    let text = std::fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_over_the_limit_are_counted_behind_logs() {
        let rows = "[\n{\"reason\":\"memory limit: 5\"},\n{\"reason\":null},\n{\"a\":1}]\n";
        assert_eq!(count(rows), (3, 1));
        assert_eq!(count(&format!("PROCESSING a\n0: r0 = 0\n{rows}")), (3, 1));
        assert_eq!(count(""), (0, 0));
    }
}

//! `cargo xtask bench growth`: insns per second of skep and of the kernel, interleaved, as programs
//! grow.
//!
//! The time should be proportional to the work; a line with a lower speed shows where it is not.

use super::shapes::{GROWTH, program};
use crate::outcome::Ended;
use serde::Serialize;
use skep::{Session, VerifyOptions};
use skep_bench::{KernelComparison, Ratio, Rounds, Spread};
use skep_kernel::reference::Absent;
use skep_report::Grid;
use std::time::Duration;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Seconds per program; 7 rounds at least.
    #[arg(long, default_value_t = 1.0)]
    time: f64,
    /// Print results as JSON.
    #[arg(long)]
    json: bool,
}

/// One program.
#[derive(Serialize)]
struct Row {
    grows: &'static str,
    size: u32,
    insns: u64,
    states: u64,
    /// Whether the counts of both are equal.
    equal: bool,
    /// Million insns per second, best round.
    kernel_minsns_s: f64,
    skep_minsns_s: f64,
    /// Speedup, ratio of medians.
    ratio: Ratio,
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    if cfg!(debug_assertions) {
        return again_in_release(args);
    }
    if let Err(errno) = skep_kernel::bpf::available() {
        return Ok(Ended::without_kernel(&Absent::Refused(errno)));
    }
    let config = Session::default().config(&VerifyOptions::default());
    let time = Duration::try_from_secs_f64(args.time)?;
    let mut rows = Vec::new();
    for (shape, grows, sizes) in GROWTH {
        for &size in sizes {
            let program = program(shape, size)?;
            let comparison = KernelComparison::run(&program, &config, Rounds::Time(time), |_| {})?;
            rows.extend(row(grows, size, &comparison));
        }
    }
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&rows)?),
        false => println!("{}", table(&rows)),
    }
    Ok(rows.iter().all(|row| row.equal).into())
}

/// Only optimized builds are measured.
fn again_in_release(args: &Args) -> crate::Outcome {
    let mut command = super::release::cargo();
    command.args(["run", "--quiet", "--release", "-p", "xtask", "--", "bench", "growth"]);
    command.arg(format!("--time={}", args.time)).args(args.json.then_some("--json"));
    Ok(command.status()?.success().into())
}

fn row(grows: &'static str, size: u32, comparison: &KernelComparison) -> Option<Row> {
    let speed = |us: &[f64]| Some(comparison.skep.insns as f64 / Spread::of(us)?.best);
    Some(Row {
        grows,
        size,
        insns: comparison.skep.insns,
        states: comparison.skep.states,
        equal: comparison.skep == comparison.kernel,
        kernel_minsns_s: speed(&comparison.kernel_us)?,
        skep_minsns_s: speed(&comparison.skep_us)?,
        ratio: Ratio::of(&comparison.kernel_us, &comparison.skep_us)?,
    })
}

fn table(rows: &[Row]) -> Grid {
    let headings = [
        "Grows",
        "Size",
        "Insns",
        "States",
        "Counts",
        "Kernel, M insns/s",
        "skep, M insns/s",
        "Ratio",
        "95 % interval",
    ];
    let mut grid = Grid::new(&headings, 1);
    for row in rows {
        grid.row([
            row.grows.to_owned(),
            row.size.to_string(),
            row.insns.to_string(),
            row.states.to_string(),
            if row.equal { "equal" } else { "DIFFER" }.to_owned(),
            format!("{:.2}", row.kernel_minsns_s),
            format!("{:.2}", row.skep_minsns_s),
            format!("{:.1}", row.ratio.value),
            format!("{:.1} to {:.1}", row.ratio.low, row.ratio.high),
        ]);
    }
    grid
}

//! `cargo xtask bench scaling PATH...`: speedup of verifying a corpus on several cores.
//!
//! Measures whole runs of `skep stat` with one thread and with several, interleaved; this includes
//! reading the kernel's BTF and printing, which are single-threaded.

use crate::outcome::Ended;
use skep_bench::{Ratio, Rounds, Spread, interleave};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Object files, and folders of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Number of threads to compare with one.
    #[arg(long, default_value_t = 2)]
    jobs: u32,
    /// Rounds.
    #[arg(long, default_value_t = 11)]
    repeat: u32,
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let skep = super::release::skep_in_release()?;
    let once = |side: usize| -> Result<f64, Box<dyn std::error::Error>> {
        let jobs = if side == 0 { 1 } else { args.jobs };
        let mut command = Command::new(&skep);
        command.args(["stat", "--quiet", "-o", "csv", "--jobs", &jobs.to_string()]);
        command.args(&args.paths).stdout(Stdio::null()).stderr(Stdio::null());
        let started = Instant::now();
        command.status()?;
        Ok(started.elapsed().as_secs_f64())
    };
    let sides = interleave(Rounds::Repeat(args.repeat), 2, once, |_| {})?;
    let spread = |side: usize| Spread::of(&sides[side]).ok_or("no rounds");
    let (one, many) = (spread(0)?, spread(1)?);
    let ratio = Ratio::of(&sides[0], &sides[1]).ok_or("no time passed")?;
    println!("1 thread: best {:.3} s, median {:.3} s", one.best, one.median);
    println!("{} threads: best {:.3} s, median {:.3} s", args.jobs, many.best, many.median);
    println!(
        "faster by: best/best {:.2}, median/median {:.2} ({:.2} to {:.2})",
        one.best / many.best,
        ratio.value,
        ratio.low,
        ratio.high
    );
    Ok(Ended::Passed)
}

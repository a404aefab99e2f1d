//! `cargo xtask random`: random programs, judged by the host kernel and by our verifier.
//!
//! Objects that people wrote visit few of the ways in which a program can be wrong. This command
//! makes programs of loads, stores, arithmetic and branches, mostly sensible and sometimes not, and
//! shows those on which the answers differ. A program is named by its seed, so that it can be
//! looked at again with `--seed N --count 1 --print`.

mod generate;

use crate::kernel_diff::{Class, Row};
use skep::program::Program;
use skep_testkit::judge::{Answer, judge};
use skep_testkit::{engine, kernel_log};
use std::collections::BTreeMap;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The first program.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many programs.
    #[arg(long, default_value_t = 1000)]
    count: u64,
    /// Log level that both are asked for.
    #[arg(long, short, default_value_t = 2)]
    level: u32,
    /// Both logs of each program, from the first difference on.
    #[arg(long)]
    print: bool,
    /// Stop after so many disagreements.
    #[arg(long, default_value_t = 20)]
    max: usize,
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    engine::record_panics();
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut accepted, mut shown) = (0, 0);
    for seed in args.seed..args.seed + args.count {
        let program = generate::program(seed);
        let row = Row::compare("random", &program, args.level);
        *counts.entry(row.class.name()).or_default() += 1;
        accepted += u64::from(row.verdict_kernel == "accepted");
        if row.class != Class::Log {
            println!("{:12} seed {seed}  {}", row.class.name(), row.reason);
            if row.log_line != 0 {
                println!("    - {}\n    + {}", row.log_ours, row.log_kernel);
            }
            shown += 1;
        }
        if args.print {
            side(&program, args.level | 4);
        }
        if shown >= args.max {
            break;
        }
    }
    let classes: Vec<String> = counts.iter().map(|(name, n)| format!("{name} {n}")).collect();
    println!("{}; accepted by the kernel {accepted}", classes.join(", "));
    Ok(shown == 0)
}

/// Both logs, ours first; the second only from where they part.
fn side(program: &Program, level: u32) {
    let ours = engine::verify(program, level);
    let a = kernel_log::normalise(&ours.log, &program.insns);
    print!("{a}\n# {} {}\n", ours.verdict.name(), ours.verdict.reason());
    if let Answer::Judged(theirs) = judge(program, level) {
        let b = kernel_log::normalise(&theirs.log, &program.insns);
        let from = kernel_log::first_difference(&a, &b).map_or(usize::MAX, |(line, ..)| line - 1);
        b.lines().skip(from).for_each(|line| println!("+ {line}"));
    }
}

//! `cargo xtask exec-diff`: random programs that verify, each run on random inputs by every engine;
//! what they return and leave in the context must be the same.
//!
//! Programs are named by their seeds, as those of `random`. The kernel is asked for the first
//! `--kernel` inputs of each program only: a test run costs a system call.

mod calls;
mod corpus;
mod counts;
mod engines;
pub(crate) mod generate;
mod idioms;
mod map_ops;
mod probes;
mod skb_ops;
mod worker;
mod xdp_ops;

use crate::outcome;
use generate::Kind;
use skep_testkit::engine;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Objects (or folders of them) whose programs are run instead of random ones.
    objects: Vec<PathBuf>,
    /// Only load the objects' programs, of all types, into our runtime; say what they lack.
    #[arg(long)]
    load: bool,
    /// The first program.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many programs [default: 1000, or as many as `--minutes` lasts].
    #[arg(long)]
    count: Option<u64>,
    /// Stop after so many minutes.
    #[arg(long)]
    minutes: Option<u64>,
    /// Inputs of each.
    #[arg(long, default_value_t = 100)]
    inputs: u64,
    /// Of those, how many the kernel is asked about.
    #[arg(long, default_value_t = 10)]
    kernel: u64,
    /// Programs that take packets and use maps.
    #[arg(long)]
    maps: bool,
    /// And that tail call each other.
    #[arg(long)]
    tails: bool,
    /// Programs that have a socket buffer, and use maps.
    #[arg(long)]
    skb: bool,
    /// All kinds in turn, seed by seed: plain, long, `--maps`, `--tails`, `--skb`, and the first
    /// three with `--passes`.
    #[arg(long)]
    all: bool,
    /// How long programs are: 1 is ten insns and more.
    #[arg(long, default_value_t = 5)]
    size: u64,
    /// Switch the compiler's passes off, and on, one by one too.
    #[arg(long)]
    passes: bool,
    /// Print the insns of each program.
    #[arg(long)]
    print: bool,
    /// Print the verifier's log of each program.
    #[arg(long)]
    log: bool,
    /// Stop after so many differences.
    #[arg(long, default_value_t = 10)]
    max: u64,
    /// Threads, each bound to a CPU of its own.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
}

/// What programs are made, and how they are compiled.
struct Make {
    name: &'static str,
    kind: Kind,
    size: u64,
    passes: bool,
}

impl Args {
    /// The ways in turn: the one that the flags say, or all.
    fn makes(&self) -> Vec<Make> {
        let (size, passes) = (self.size.max(1), self.passes);
        let one = |name, kind| Make { name, kind, size, passes };
        if self.all {
            return vec![
                one("plain", Kind::Words),
                Make { size: 60, ..one("long", Kind::Words) },
                one("maps", Kind::Maps),
                one("tails", Kind::Tails),
                one("skb", Kind::Skb),
                Make { passes: true, ..one("plain, passes", Kind::Words) },
                Make { passes: true, size: 60, ..one("long, passes", Kind::Words) },
                Make { passes: true, ..one("maps, passes", Kind::Maps) },
            ];
        }
        vec![match self {
            Args { tails: true, .. } => one("tails", Kind::Tails),
            Args { skb: true, .. } => one("skb", Kind::Skb),
            Args { maps: true, .. } => one("maps", Kind::Maps),
            _ => one("plain", Kind::Words),
        }]
    }

    /// The first seed behind the last, and when to stop before it.
    fn end(&self) -> (u64, Option<Instant>) {
        let count = self.count.unwrap_or(if self.minutes.is_some() { u64::MAX } else { 1000 });
        let lasts = |minutes: u64| Instant::now().checked_add(Duration::from_secs(minutes * 60));
        (self.seed.saturating_add(count), self.minutes.and_then(lasts))
    }
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    engine::record_panics();
    if args.load {
        return corpus::load(&args.objects);
    }
    if !args.objects.is_empty() {
        worker::stay_on_cpu(0);
        return corpus::run(&args.objects, args.inputs);
    }
    let judge = outcome::judge();
    if let Err(why) = &judge {
        println!("exec-diff: running without the kernel: {why}");
    }
    let makes = args.makes();
    let started = Instant::now();
    let counts = worker::all(args, &makes, judge.is_ok())?;
    let names: Vec<_> = makes.iter().map(|make| make.name).collect();
    print!("{}", counts::table(&names, &counts));
    println!("{:.1} minutes", started.elapsed().as_secs_f64() / 60.0);
    Ok(counts.iter().all(|counts| counts.different == 0).into())
}

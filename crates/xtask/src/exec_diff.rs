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
mod xdp_ops;

use crate::outcome;
use counts::Counts;
use engines::Words;
use generate::Kind;
use skep::program::Program;
use skep_testkit::engine;
use skep_testkit::rng::Rng;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often a long run says what was done so far.
const PROGRESS: Duration = Duration::from_secs(60);

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
    /// All kinds in turn, seed by seed: plain, long, `--maps`, `--tails`, `--skb`, `--passes`.
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
                Make { passes: true, ..one("passes", Kind::Maps) },
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
    stay_on_this_cpu();
    if args.load {
        return corpus::load(&args.objects);
    }
    if !args.objects.is_empty() {
        return corpus::run(&args.objects, args.inputs);
    }
    let judge = outcome::judge();
    if let Err(why) = &judge {
        println!("exec-diff: running without the kernel: {why}");
    }
    let kernel = judge.is_ok();
    let makes = args.makes();
    let mut counts = vec![Counts::default(); makes.len()];
    let started = Instant::now();
    let (end, stop) = args.end();
    let names: Vec<_> = makes.iter().map(|make| make.name).collect();
    let mut said = started;
    for (seed, nth) in (args.seed..end).zip((0..makes.len()).cycle()) {
        // A run of an hour that ends badly has said something by then.
        if said.elapsed() >= PROGRESS {
            said = Instant::now();
            print!("before seed {seed}:\n{}", counts::table(&names, &counts));
        }
        let (Some(make), Some(counts_of)) = (makes.get(nth), counts.get_mut(nth)) else { break };
        let begun = Instant::now();
        let programs = generate::programs(seed, make.kind, make.size);
        if args.print {
            programs.iter().for_each(|program| print_insns(seed, program));
        }
        if args.log {
            programs.iter().for_each(|program| print!("{}", engine::verify(program, 2).log));
        }
        compare((seed, &programs), (args, make), (kernel, counts_of))?;
        counts_of.time += begun.elapsed();
        let different: u64 = counts.iter().map(|counts| counts.different).sum();
        if different >= args.max || stop.is_some_and(|stop| Instant::now() >= stop) {
            break;
        }
    }
    print!("{}", counts::table(&names, &counts));
    println!("{:.1} minutes", started.elapsed().as_secs_f64() / 60.0);
    Ok(counts.iter().all(|counts| counts.different == 0).into())
}

/// What per-CPU maps hold in the kernel is of the CPU that runs the test.
fn stay_on_this_cpu() {
    let mut here = rustix::thread::CpuSet::new();
    here.set(rustix::thread::sched_getcpu());
    if let Err(errno) = rustix::thread::sched_setaffinity(None, &here) {
        println!("exec-diff: not bound to a CPU: {errno}");
    }
}

/// Runs the programs of one seed on all engines.
fn compare(
    (seed, programs): (u64, &[Program]),
    (args, make): (&Args, &Make),
    (kernel, counts): (bool, &mut Counts),
) -> Result<(), Box<dyn std::error::Error>> {
    let verified: Result<Vec<_>, String> = programs.iter().map(engine::verified).collect();
    let verified = match verified {
        Ok(verified) => verified,
        Err(why) => {
            if args.print {
                println!("  {why}");
            }
            counts.refused += 1;
            return Ok(());
        }
    };
    // Not loaded to be run; of those that only come by a hole, the kernel may have dropped what a
    // run needs, and what it then does says nothing.
    if verified.iter().any(|program| program.kernel_hole().is_some()) {
        counts.refused += 1;
        return Ok(());
    }
    let kernel = kernel && verified.iter().all(engines::runs_as_in_kernel);
    let mut others =
        engines::ours(&verified, make.passes).map_err(|e| format!("seed {seed}: {e}"))?;
    let oracle = others.remove(0);
    let kernel = match kernel && args.kernel > 0 {
        true => match engines::kernels(programs) {
            Ok(kernel) => Some(kernel),
            Err(why) => {
                let reason = skep_kernel::kernel_log::reason(&why).unwrap_or_default();
                println!("{} seed {seed}: the kernel refuses: {reason}", make.name);
                counts.different += 1;
                return Ok(());
            }
        },
        false => None,
    };
    counts.programs += 1;
    let mut rng = Rng::new(seed ^ 0x5eed);
    for input in 0..args.inputs {
        let words: Words = std::array::from_fn(|_| generate::number(&mut rng));
        counts.inputs += 1;
        counts.native += others.len() as u64;
        let expected = oracle.1.run(&words);
        let mut different = others
            .iter()
            .map(|(name, engine)| (name.as_str(), engine.run(&words)))
            .find(|(_, ran)| !engines::agree(ran, &expected));
        if let Some(kernel) = kernel.as_ref().filter(|_| input < args.kernel) {
            counts.kernel += 1;
            let ran = kernel.run(&words);
            different = different.or((!engines::agree(&ran, &expected)).then_some(("kernel", ran)));
        }
        if let Some((name, ran)) = different {
            let oracle = &oracle.0;
            println!(
                "{} seed {seed} input {input} {words:x?}\n  {oracle} {expected:x?}\n  \
                 {name} {ran:x?}",
                make.name
            );
            counts.different += 1;
            break;
        }
    }
    Ok(())
}

fn print_insns(seed: u64, program: &Program) {
    println!("seed {seed} {}", program.name);
    for idx in 0..program.insns.len() {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ =
            skep::insn::write_insn(&mut text, &program.insns[idx..], &skep::insn::NoNames, true);
        println!("{idx}: {text}");
    }
}

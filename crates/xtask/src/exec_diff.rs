//! `cargo xtask exec-diff`: random programs that verify, each run on random inputs by every engine;
//! what they return and leave in the context must be the same.
//!
//! Programs are named by their seeds, as those of `random`. The kernel is asked for the first
//! `--kernel` inputs of each program only: a test run costs a system call.

mod calls;
mod corpus;
mod engines;
mod generate;
mod idioms;
mod map_ops;
mod skb_ops;
mod xdp_ops;

use crate::random::generate::Rng;
use engines::Words;
use generate::Kind;
use skep::program::Program;
use skep_kernel::bpf;
use skep_testkit::engine;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Objects (or folders of them) whose programs are run instead of random ones.
    objects: Vec<PathBuf>,
    /// The first program.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many programs.
    #[arg(long, default_value_t = 1000)]
    count: u64,
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
    /// How long programs are: 1 is ten insns and more.
    #[arg(long, default_value_t = 5)]
    size: u64,
    /// Switch the compiler's passes off, and on, one by one too.
    #[arg(long)]
    passes: bool,
    /// Print the insns of each program.
    #[arg(long)]
    print: bool,
    /// Stop after so many differences.
    #[arg(long, default_value_t = 10)]
    max: u64,
}

/// What was done.
#[derive(Default)]
struct Counts {
    programs: u64,
    refused: u64,
    runs: u64,
    kernel_runs: u64,
    different: u64,
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    engine::record_panics();
    stay_on_this_cpu();
    if !args.objects.is_empty() {
        return corpus::run(&args.objects, args.inputs);
    }
    let kernel = bpf::available().is_ok();
    if !kernel {
        println!("exec-diff: the kernel does not answer here; without it");
    }
    let mut counts = Counts::default();
    for seed in args.seed..args.seed.saturating_add(args.count) {
        let kind = match args {
            Args { tails: true, .. } => Kind::Tails,
            Args { skb: true, .. } => Kind::Skb,
            Args { maps: true, .. } => Kind::Maps,
            _ => Kind::Words,
        };
        let programs = generate::programs(seed, kind, args.size.max(1));
        if args.print {
            programs.iter().for_each(|program| print_insns(seed, program));
        }
        compare((seed, &programs), args, (kernel, &mut counts))?;
        if counts.different >= args.max {
            break;
        }
    }
    println!(
        "{} programs run, {} refused; {} inputs, {} of them by the kernel; {} programs differ",
        counts.programs, counts.refused, counts.runs, counts.kernel_runs, counts.different
    );
    Ok(counts.different == 0)
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
    args: &Args,
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
    let mut others =
        engines::ours(&verified, args.passes).map_err(|e| format!("seed {seed}: {e}"))?;
    let oracle = others.remove(0);
    let kernel = match kernel && args.kernel > 0 {
        true => match engines::kernels(programs) {
            Ok(kernel) => Some(kernel),
            Err(why) => {
                let reason = skep_kernel::kernel_log::reason(&why).unwrap_or_default();
                println!("seed {seed}: the kernel refuses: {reason}");
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
        counts.runs += 1;
        let expected = oracle.1.run(&words);
        let mut different = others
            .iter()
            .map(|(name, engine)| (name.as_str(), engine.run(&words)))
            .find(|(_, ran)| *ran != expected);
        if let Some(kernel) = kernel.as_ref().filter(|_| input < args.kernel) {
            counts.kernel_runs += 1;
            let ran = kernel.run(&words);
            different = different.or((ran != expected).then_some(("kernel", ran)));
        }
        if let Some((name, ran)) = different {
            let oracle = &oracle.0;
            println!(
                "seed {seed} input {input} {words:x?}\n  {oracle} {expected:x?}\n  {name} {ran:x?}"
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

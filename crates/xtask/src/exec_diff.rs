//! `cargo xtask exec-diff`: random programs that verify, each run on random inputs by every engine;
//! what they return and leave in the context must be the same.
//!
//! Programs are named by their seeds, as those of `random`. The kernel is asked for the first
//! `--kernel` inputs of each program only: a test run costs a system call.

mod generate;
mod idioms;

use crate::random::generate::Rng;
use generate::WORDS;
use skep::program::Program;
use skep::verifier::VerifiedProgram;
use skep_interp::{FlatMemory, Limits, Linked};
use skep_jit::{CpuFeatures, Passes, Prologue, Tuning};
use skep_kernel::bpf::{self, RunInput};
use skep_kernel::run::Loaded;
use skep_testkit::engine;
use skep_testkit::exec::Native;
use std::sync::Arc;

#[derive(clap::Args)]
pub(crate) struct Args {
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
    /// Print the insns of each program.
    #[arg(long)]
    print: bool,
    /// Stop after so many differences.
    #[arg(long, default_value_t = 10)]
    max: u64,
}

type Words = [u64; WORDS];

/// What an engine makes of an input: the low half of r0, and the context. Errors are compared too.
type Ran = Result<(u32, Words), String>;

/// More insns than any of the programs runs.
const FUEL: u64 = 10_000_000;

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
    let kernel = bpf::available().is_ok();
    if !kernel {
        println!("exec-diff: the kernel does not answer here; without it");
    }
    let mut counts = Counts::default();
    for seed in args.seed..args.seed.saturating_add(args.count) {
        let program = generate::program(seed);
        if args.print {
            println!("seed {seed}");
            print_insns(&program);
        }
        compare((seed, &program), args, (kernel, &mut counts))?;
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

/// Runs one program on all engines.
fn compare(
    (seed, program): (u64, &Program),
    args: &Args,
    (kernel, counts): (bool, &mut Counts),
) -> Result<(), Box<dyn std::error::Error>> {
    let verified = match engine::verified(program) {
        Ok(verified) => verified,
        Err(why) => {
            if args.print {
                println!("  {why}");
            }
            counts.refused += 1;
            return Ok(());
        }
    };
    let xlated = Arc::clone(verified.xlated().map_err(|e| format!("seed {seed}: {e}"))?);
    let linked = Arc::new(Linked { xlated, maps: Vec::new(), func_base: 1 << 40 });
    let loaded = match kernel && args.kernel > 0 {
        true => Some(Loaded::new(std::slice::from_ref(program))?),
        false => None,
    };
    let natives = natives(&verified).map_err(|e| format!("seed {seed}: {e}"))?;
    counts.programs += 1;
    let mut rng = Rng::new(seed ^ 0x5eed);
    for input in 0..args.inputs {
        let words: Words = std::array::from_fn(|_| generate::number(&mut rng));
        counts.runs += 1;
        let expected = by_interp(&linked, &words);
        let mut answers = Vec::new();
        if let Some(loaded) = loaded.as_ref().filter(|_| input < args.kernel) {
            counts.kernel_runs += 1;
            answers.push(("kernel", by_kernel(loaded, &words)));
        }
        for (name, native) in &natives {
            answers.push((name, by_native(native, &words)));
        }
        let different = answers.iter().find(|(_, ran)| *ran != expected);
        if let Some((name, ran)) = different {
            println!("seed {seed} input {words:x?}\n  interp {expected:x?}\n  {name} {ran:x?}");
            counts.different += 1;
            break;
        }
    }
    Ok(())
}

fn by_interp(linked: &Arc<Linked>, words: &Words) -> Ran {
    let memory = FlatMemory::new(&to_bytes(words));
    let exit = skep_interp::run(linked, &memory, FlatMemory::CTX, Limits { fuel: FUEL });
    let exit = exit.map_err(|fault| fault.to_string())?;
    Ok((exit.r0 as u32, to_words(&memory.ctx())))
}

/// The program compiled in every way that must not matter.
fn natives(verified: &VerifiedProgram) -> Result<Vec<(&'static str, Native)>, String> {
    let base = Tuning::default;
    let plain = CpuFeatures::default();
    let ways = [
        ("jit", base()),
        ("jit, no passes", Tuning { passes: Passes::NONE, ..base() }),
        ("jit, plain processor, full prologue", {
            Tuning { cpu: plain, prologue: Prologue::Full, ..base() }
        }),
        ("jit, fuel and sites", Tuning { fuel: true, sites: true, ..base() }),
    ];
    let mut natives = Vec::new();
    for (name, tuning) in ways {
        if let Some(native) = Native::new(verified, &tuning)? {
            natives.push((name, native));
        }
    }
    Ok(natives)
}

fn by_native(native: &Native, words: &Words) -> Ran {
    let mut ctx = to_bytes(words);
    let r0 = native.run(&mut ctx)?;
    Ok((r0 as u32, to_words(&ctx)))
}

fn by_kernel(loaded: &Loaded, words: &Words) -> Ran {
    let ctx = to_bytes(words);
    let ran = loaded.run(&RunInput { ctx: &ctx, ..RunInput::default() });
    let ran = ran.map_err(|errno| errno.to_string())?;
    Ok((ran.retval, to_words(&ran.ctx)))
}

fn to_bytes(words: &Words) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn to_words(bytes: &[u8]) -> Words {
    let (chunks, _) = bytes.as_chunks::<8>();
    let mut chunks = chunks.iter().map(|chunk| u64::from_le_bytes(*chunk));
    std::array::from_fn(|_| chunks.next().unwrap_or_default())
}

fn print_insns(program: &Program) {
    for idx in 0..program.insns.len() {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ =
            skep::insn::write_insn(&mut text, &program.insns[idx..], &skep::insn::NoNames, true);
        println!("{idx}: {text}");
    }
}

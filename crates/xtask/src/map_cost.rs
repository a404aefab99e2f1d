//! `cargo xtask map-cost`: what a call of a helper and an operation on a map cost, on skep's
//! machine code and in the host kernel's test run, in turn.
//!
//! Each program of `tests/programs/bench/maps.bpf.c` does one thing 1,000 times; what the same loop
//! costs without it is taken off.

use skep::runtime::map::UpdateFlags;
use skep::runtime::{Ctx, Instance, LoadOptions, Options, Runtime};
use skep_bench::{Rounds, Spread, interleave};
use skep_kernel::bpf::RunInput;
use skep_verifier::{Config, Verdict};
use std::time::Instant;

/// What one run of a program does.
const OPERATIONS: f64 = 1000.0;
/// Keys that the programs ask for.
const KEYS: u32 = 256;

/// Options of the command.
#[derive(Clone, Copy, clap::Args)]
pub(crate) struct Args {
    /// Rounds of each program on each engine
    #[arg(long, default_value_t = 101)]
    rounds: u32,
    /// Runs of a round: few, so that a round fits into a time slice of a busy machine
    #[arg(long, default_value_t = 20)]
    runs: u32,
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let path = crate::root().join("tests/programs/bench/maps.bpf.o");
    let object = crate::objects::open(&path, &crate::objects::host()?)?;
    let runtime = Runtime::new(Options::default())?;
    let maps = runtime.create_maps(&object.maps, object.btf.as_ref());
    for name in ["array", "hash", "percpu", "lru"] {
        let map = maps.get(name)?.typed::<u32, u64>()?;
        for key in 0..KEYS {
            map.set(&key, &u64::from(key), UpdateFlags::Any)?;
        }
    }
    empty_run(args, &runtime)?;
    println!(
        "{:<16}{:>9}{:>9}{:>11}{:>9}",
        "ns an operation", "skep", "spread", "kernel", "spread"
    );
    let mut base = [0.0; 2];
    for entry in &object.programs {
        let program = entry.program.as_ref().map_err(Clone::clone)?;
        let config = Config::privileged(skep::uapi::KernelProfile::v6_18());
        let Verdict::Accepted(verified) = skep_verifier::verify(program, &config).verdict else {
            return Err(format!("{}: not accepted", entry.name).into());
        };
        let instance = runtime.load(&verified, &maps, &LoadOptions::default())?;
        let kernel = skep_kernel::run::Loaded::new(std::slice::from_ref(program)).ok();
        if let Some(kernel) = &kernel {
            for index in 0..object.maps.len() as u32 {
                fill(kernel, index, &object.maps[index as usize]);
            }
        }
        let spreads = measure(args, &instance, kernel.as_ref())?;
        let mut line = format!("{:<16}", entry.name);
        for (side, spread) in spreads.iter().enumerate() {
            let Some(spread) = spread else {
                line += &format!("{:>11}{:>9}", "-", "");
                continue;
            };
            let value = spread.median / OPERATIONS;
            if entry.name == "nothing" {
                base[side] = value;
            }
            let width = if side == 0 { 9 } else { 11 };
            let off = if entry.name == "nothing" { 0.0 } else { base[side] };
            let around = (spread.upper_quartile - spread.lower_quartile) / 2.0 / OPERATIONS;
            line += &format!("{:>width$.2}{:>9}", value - off, format!("+-{around:.2}"));
        }
        println!("{line}");
    }
    Ok(true)
}

/// What a run costs through the library, with everything around the machine code.
fn empty_run(args: &Args, runtime: &Runtime) -> Result<(), Box<dyn std::error::Error>> {
    let path = crate::root().join("tests/programs/bench/empty.bpf.o");
    let object = crate::objects::open(&path, &crate::objects::host()?)?;
    let program = object.programs.first().ok_or("no program")?.program.as_ref();
    let config = Config::privileged(skep::uapi::KernelProfile::v6_18());
    let program = program.map_err(Clone::clone)?;
    let Verdict::Accepted(verified) = skep_verifier::verify(program, &config).verdict else {
        return Err("empty: not accepted".into());
    };
    let maps = runtime.create_maps(&object.maps, object.btf.as_ref());
    let instance = runtime.load(&verified, &maps, &LoadOptions::default())?;
    let runs = Args { runs: 1000 * args.runs, ..*args };
    if let Some(Some(spread)) = measure(&runs, &instance, None)?.first() {
        println!("Instance::run of the empty program: {:.2} ns", spread.median);
    }
    Ok(())
}

/// The kernel's maps hold what ours do; per-CPU ones, whose values are longer, stay as they are.
fn fill(kernel: &skep_kernel::run::Loaded, index: u32, def: &skep::program::MapDef) {
    let percpu = def.map_type == skep::uapi::MapType::PercpuArray;
    let Some(map) = kernel.map(index).filter(|_| !percpu && def.contents.is_empty()) else {
        return;
    };
    for key in 0..KEYS {
        // What the map does not take, the program does not find, and the time shows it.
        let _ = map.update(&key.to_ne_bytes(), &u64::from(key).to_ne_bytes());
    }
}

fn measure(
    args: &Args,
    instance: &Instance,
    kernel: Option<&skep_kernel::run::Loaded>,
) -> Result<Vec<Option<Spread>>, Box<dyn std::error::Error>> {
    let packet = [0u8; 64];
    let mut ctx = Ctx::packet(instance.prog_type(), &packet)?;
    let times = interleave(
        Rounds::Repeat(args.rounds),
        2,
        |side| -> Result<f64, String> {
            if side == 0 {
                let started = Instant::now();
                for _ in 0..args.runs {
                    instance.run(&mut ctx).map_err(|e| e.to_string())?;
                }
                return Ok(started.elapsed().as_nanos() as f64 / f64::from(args.runs));
            }
            let Some(kernel) = kernel else { return Ok(f64::NAN) };
            let input = RunInput { data: &packet, repeat: args.runs, ..RunInput::default() };
            let run = kernel.run(&input).map_err(|e| e.to_string())?;
            Ok(f64::from(run.duration_ns))
        },
        |_| {},
    )?;
    let finite = |values: &Vec<f64>| Spread::of(values).filter(|spread| spread.median.is_finite());
    Ok(times.iter().map(finite).collect())
}

//! `cargo xtask hops`: what tail calls and prologues cost: the programs of
//! `tests/programs/bench/tail_calls.bpf.c` on skep with the minimal and with the full prologue, and
//! in the host kernel's test run, in turn.

use skep::jit::{Prologue, Tuning};
use skep::runtime::{Ctx, Instance, LoadOptions, Options, Runtime};
use skep_bench::{Rounds, Spread, interleave};
use skep_kernel::bpf::RunInput;
use skep_kernel::run::Loaded;
use skep_verifier::{Config, Verdict, VerifiedProgram};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Rounds; in each, every program runs on every engine.
    #[arg(long, default_value_t = 51)]
    rounds: u32,
    /// Runs of a round.
    #[arg(long, default_value_t = 5000)]
    runs: u32,
}

/// Programs, and the tail calls in one run of each.
const PROGRAMS: [(&str, f64); 6] = [
    ("base", 0.0),
    ("self_const", 33.0),
    ("self_index", 33.0),
    ("in_callee", 33.0),
    ("flow0", 5.0),
    ("xdp1", 0.0),
];

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let path = crate::root().join("tests/programs/bench/tail_calls.bpf.o");
    let object = crate::objects::open(&path, &crate::objects::host()?)?;
    let mut programs = Vec::new();
    for entry in &object.programs {
        programs.push(entry.program.clone().map_err(|e| e.to_string())?);
    }
    let verified = programs.iter().map(verify).collect::<Result<Vec<_>, _>>()?;
    let mut runtimes = Vec::new();
    for prologue in [Prologue::Minimal, Prologue::Full] {
        let runtime = Runtime::new(Options::default())?;
        let maps = runtime.create_maps(&object.maps, object.btf.as_ref());
        let tuning = Tuning { prologue, ..Tuning::default() };
        let options = LoadOptions { tuning, ..LoadOptions::default() };
        let mut instances = Vec::new();
        for program in &verified {
            instances.push(runtime.load(program, &maps, &options)?);
        }
        runtimes.push((runtime, instances));
    }
    let packet = packet();
    println!(
        "{:<12}{:>9}{:>9}{:>9}{:>12}{:>9}{:>9}",
        "ns a run", "minimal", "full", "kernel", "ns a hop:", "full", "kernel"
    );
    let mut base = [0.0; 3];
    for (name, hops) in PROGRAMS {
        let find = |instances: &[Instance]| instances.iter().find(|i| i.name() == name).cloned();
        let minimal = find(&runtimes[0].1).ok_or("no such program")?;
        let full = find(&runtimes[1].1).ok_or("no such program")?;
        let mut order = programs.clone();
        order.sort_by_key(|program| program.name != name);
        let kernel = Loaded::new(&order).ok();
        let times = measure(args, (&minimal, &full, kernel.as_ref()), &packet)?;
        print!("{name:<12}");
        times.iter().for_each(|time| print!("{time:>9.1}"));
        if hops > 0.0 {
            print!("   ");
            for (time, base) in times.iter().zip(base) {
                print!("{:>9.2}", (time - base) / hops);
            }
        } else {
            print!("{:>12.1}{:>9.1}{:>9.1} M/s", 1e3 / times[0], 1e3 / times[1], 1e3 / times[2]);
        }
        println!();
        if name == "base" {
            base = times;
        }
    }
    Ok(true)
}

fn verify(program: &skep::program::Program) -> Result<VerifiedProgram, String> {
    let config = Config::privileged(skep::uapi::KernelProfile::v6_18());
    match skep_verifier::verify(program, &config).verdict {
        Verdict::Accepted(verified) => Ok(*verified),
        _ => Err(format!("{}: not accepted", program.name)),
    }
}

/// Medians, ns a run.
fn measure(
    args: &Args,
    (minimal, full, kernel): (&Instance, &Instance, Option<&Loaded>),
    packet: &[u8],
) -> Result<[f64; 3], Box<dyn std::error::Error>> {
    let mut ctx = Ctx::packet(minimal.prog_type(), packet)?;
    let mut run = |side: usize| -> Result<f64, Box<dyn std::error::Error>> {
        let instance = match side {
            0 => minimal,
            1 => full,
            _ => {
                let Some(kernel) = kernel else { return Ok(f64::NAN) };
                let input = RunInput { data: packet, repeat: args.runs, ..RunInput::default() };
                return Ok(f64::from(kernel.run(&input).map_err(|e| e.to_string())?.duration_ns));
            }
        };
        let started = std::time::Instant::now();
        for _ in 0..args.runs {
            instance.run(&mut ctx)?;
        }
        Ok(started.elapsed().as_nanos() as f64 / f64::from(args.runs))
    };
    let times = interleave(Rounds::Repeat(args.rounds), 3, &mut run, |_| {})?;
    let median = |side: usize| Spread::of(&times[side]).map_or(f64::NAN, |spread| spread.median);
    Ok([median(0), median(1), median(2)])
}

/// A minimal frame with UDP over IPv4.
fn packet() -> Vec<u8> {
    let mut packet = vec![0; 64];
    packet[12..15].copy_from_slice(&[8, 0, 0x45]);
    packet[23] = 17;
    packet
}

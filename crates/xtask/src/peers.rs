//! `cargo xtask peers`: the compute programs on skep, on native code of the same source, on rbpf
//! and on the host kernel, in turn; times a run and ratios to native code.
//!
//! Native code, and the bytecode for engines whose context has 64-bit pointers, are made by clang
//! when the benchmark starts.

mod engine;

use clap::ValueEnum;
use engine::{Data, Run};
use skep::program::Program;
use skep_bench::{Ratio, Rounds, Spread, geometric_mean, interleave};
use skep_jit::{Passes, Prologue, Tuning};
use skep_verifier::{Config, Verdict, VerifiedProgram};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only these programs.
    kinds: Vec<String>,
    /// Rounds; in each every engine runs each program for half a millisecond.
    #[arg(long, default_value_t = 51)]
    rounds: u32,
    /// Engines besides native code.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "skep,rbpf,kernel")]
    engines: Vec<Side>,
    /// Passes that skep does without.
    #[arg(long, value_delimiter = ',')]
    without: Vec<String>,
    /// skep once more without each of these passes; `all` is each of them, and then without any.
    #[arg(long, value_delimiter = ',')]
    ablation: Vec<String>,
    /// Flags of the native compilation.
    #[arg(long, default_value = "-O2")]
    native_flags: String,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Side {
    Skep,
    /// With the classic prologue.
    SkepFull,
    Rbpf,
    Kernel,
}

/// How long an engine runs before it is the next one's turn, ns: short, so that what disturbs a
/// round disturbs few.
const SLICE_NS: f64 = 5e5;

/// A compute program.
struct Kind {
    name: &'static str,
    /// Its function.
    symbol: &'static str,
}

const fn kind(name: &'static str, symbol: &'static str) -> Kind {
    Kind { name, symbol }
}

const KINDS: [Kind; 18] = [
    kind("empty", "empty"),
    kind("fib", "fib"),
    kind("xxh64", "xxh64"),
    kind("jhash", "jhash"),
    kind("csum", "csum"),
    kind("sieve", "sieve"),
    kind("bsort", "bsort"),
    kind("memcmp", "memcmp_"),
    kind("parse", "parse"),
    kind("switch", "switch_"),
    kind("bits", "bits"),
    kind("siphash", "siphash"),
    kind("divmod", "divmod"),
    kind("matmul", "matmul"),
    kind("calls", "calls"),
    kind("crc32", "crc32"),
    kind("dfa", "dfa"),
    kind("sha256", "sha256"),
];

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let folder = crate::root().join("tests/programs/bench");
    let built = tempfile::tempdir()?;
    let data = Data::new();
    let sides = sides(args)?;
    println!("{}", header(&sides));
    let mut ratios: BTreeMap<usize, Vec<Ratio>> = BTreeMap::new();
    let mut compile_us = Vec::new();
    let wanted = |kind: &&Kind| args.kinds.is_empty() || args.kinds.iter().any(|k| k == kind.name);
    for kind in KINDS.iter().filter(wanted) {
        let source = folder.join(format!("{}.bpf.c", kind.name));
        let object = folder.join(format!("{}.bpf.o", kind.name));
        let program = program(&object)?;
        let verified = verify(&program)?;
        compile_us.push(compile_time(&verified, &sides)?);
        let library = built.path().join(format!("{}.so", kind.name));
        let flags = args.native_flags.split_whitespace();
        let flags: Vec<&str> = flags.chain(["-DBENCH_NATIVE", "-shared", "-fPIC"]).collect();
        clang(&source, &library, &flags)?;
        let raw = built.path().join("raw.o");
        clang(&source, &raw, &["-O2", "-DBENCH_RAW", "-target", "bpf", "-mcpu=v3", "-c"])?;
        let raw = raw_code(&raw)?;
        let mut runs: Vec<Option<Run<'_>>> =
            vec![Some(engine::native(kind, &library.to_string_lossy(), &data)?)];
        for side in &sides {
            let run = match side {
                (_, Engine::Skep(tuning)) => Some(engine::skep(kind, &verified, tuning, &data)?),
                (_, Engine::Rbpf) => engine::rbpf(kind, &raw, &data).ok(),
                (_, Engine::Kernel) => {
                    skep_kernel::run::Loaded::new(std::slice::from_ref(&program))
                        .ok()
                        .map(|loaded| engine::kernel(kind, loaded, &data))
                }
            };
            runs.push(run);
        }
        measure(kind, &mut runs, args.rounds, &mut ratios)?;
    }
    let mean = |side: usize| ratios.get(&side).and_then(|all| geometric_mean(all));
    print!("{:<9}{:>10}", "geomean", "");
    for side in 1..=sides.len() {
        match mean(side) {
            Some(mean) => print!("{:>10}{:>7.3}", "", mean.value),
            None => print!("{:>17}", "-"),
        }
    }
    println!();
    compile_us.sort_by(f64::total_cmp);
    println!("compile time of skep: median {:.1} us", compile_us[compile_us.len() / 2]);
    Ok(true)
}

enum Engine {
    Skep(Tuning),
    Rbpf,
    Kernel,
}

fn sides(args: &Args) -> Result<Vec<(String, Engine)>, String> {
    let mut passes = Passes::ALL;
    for name in &args.without {
        *passes.by_name(name).ok_or_else(|| format!("no pass {name}"))? = false;
    }
    let tuning = Tuning { passes, ..Tuning::default() };
    let mut sides = Vec::new();
    for side in &args.engines {
        sides.push(match side {
            Side::Skep => ("skep".to_owned(), Engine::Skep(tuning.clone())),
            Side::SkepFull => {
                let tuning = Tuning { prologue: Prologue::Full, ..tuning.clone() };
                ("skep full".to_owned(), Engine::Skep(tuning))
            }
            Side::Rbpf => ("rbpf".to_owned(), Engine::Rbpf),
            Side::Kernel => ("kernel".to_owned(), Engine::Kernel),
        });
    }
    let all = args.ablation.iter().any(|name| name == "all");
    for name in Passes::NAMES {
        if !all && !args.ablation.iter().any(|wanted| wanted == name) {
            continue;
        }
        let mut tuning = tuning.clone();
        if let Some(switch) = tuning.passes.by_name(name) {
            *switch = false;
        }
        sides.push((format!("-{name}"), Engine::Skep(tuning)));
    }
    if all {
        let tuning = Tuning { passes: Passes::NONE, ..tuning };
        sides.push(("none".to_owned(), Engine::Skep(tuning)));
    }
    Ok(sides)
}

fn header(sides: &[(String, Engine)]) -> String {
    let mut line = format!("{:<9}{:>10}", "ns a run", "native");
    for (name, _) in sides {
        line += &format!("{name:>10}{:>7}", "ratio");
    }
    line
}

/// One row: every engine in turn, and what is said of the medians.
fn measure(
    kind: &Kind,
    runs: &mut [Option<Run<'_>>],
    rounds: u32,
    ratios: &mut BTreeMap<usize, Vec<Ratio>>,
) -> Result<(), String> {
    let mut counts = Vec::new();
    let mut results = Vec::new();
    for run in runs.iter_mut() {
        let Some(run) = run else {
            counts.push(0);
            continue;
        };
        let (result, ns) = run(1000)?;
        results.push(result);
        counts.push((SLICE_NS / ns.max(1.0)) as u32 + 1);
    }
    if results.iter().any(|result| result != &results[0]) {
        return Err(format!("{}: results differ: {results:x?}", kind.name));
    }
    let times = interleave(
        Rounds::Repeat(rounds),
        runs.len(),
        |side| match &mut runs[side] {
            Some(run) => run(counts[side]).map(|(_, ns)| ns),
            None => Ok(f64::NAN),
        },
        |_| {},
    )?;
    print!("{:<9}", kind.name);
    for (side, values) in times.iter().enumerate() {
        let Some(spread) = Spread::of(values).filter(|spread| spread.median.is_finite()) else {
            print!("{:>17}", "-");
            continue;
        };
        print!("{:>10.1}", spread.median);
        if side > 0
            && let Some(ratio) = Ratio::of(values, &times[0])
        {
            print!("{:>7.2}", ratio.value);
            ratios.entry(side).or_default().push(ratio);
        }
    }
    println!();
    Ok(())
}

fn program(object: &Path) -> Result<Program, Box<dyn std::error::Error>> {
    let object = crate::objects::open(object, &crate::objects::host()?)?;
    let first = object.programs.into_iter().next().ok_or("no program")?;
    Ok(first.program.map_err(|e| e.to_string())?)
}

fn verify(program: &Program) -> Result<VerifiedProgram, String> {
    match skep_verifier::verify(program, &Config::privileged(skep::uapi::KernelProfile::v6_18()))
        .verdict
    {
        Verdict::Accepted(verified) => Ok(*verified),
        _ => Err(format!("{}: not accepted", program.name)),
    }
}

/// Median of several compilations, microseconds.
fn compile_time(
    verified: &VerifiedProgram,
    sides: &[(String, Engine)],
) -> Result<f64, Box<dyn std::error::Error>> {
    let tuning = sides.iter().find_map(|(_, engine)| match engine {
        Engine::Skep(tuning) => Some(tuning.clone()),
        _ => None,
    });
    let tuning = tuning.unwrap_or_default();
    let xlated = verified.xlated().map_err(|e| e.to_string())?;
    let mut times = Vec::new();
    for _ in 0..21 {
        let started = Instant::now();
        skep_jit::compile(xlated, &skep_jit::Linkage::default(), &tuning)?;
        times.push(started.elapsed().as_nanos() as f64 / 1000.0);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

fn clang(source: &Path, out: &Path, flags: &[&str]) -> Result<(), Box<dyn std::error::Error>> {
    let clang = std::env::var("CLANG").unwrap_or_else(|_| "clang-19".to_owned());
    let status =
        Command::new(&clang).args(flags).arg("-w").arg(source).arg("-o").arg(out).status()?;
    if !status.success() {
        return Err(format!("{clang} {}: failed", source.display()).into());
    }
    Ok(())
}

/// The insns of the first program of an object, as bytes.
fn raw_code(object: &Path) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let program = program(object)?;
    Ok(skep::insn::encode_all(&program.insns, skep::insn::Endian::Little))
}

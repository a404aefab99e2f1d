//! `cargo xtask random`: compares our verifier with the host kernel on random programs.
//!
//! Real objects contain few of the possible errors. This command generates programs of loads,
//! stores, arithmetic and branches, mostly sensible and sometimes not, and shows those on which the
//! verdicts differ. A program is identified by its seed: `--seed N --count 1 --print` repeats it.

pub(crate) mod generate;
pub(crate) mod tracing;

use skep::btf::{Btf, TypeId};
use skep::program::Program;
use skep_kernel::judge::{Answer, Judgement, judge};
use skep_kernel::{bpf, kernel_log};
use skep_testkit::engine::{self, OurVerdict};
use skep_verifier::Privileges;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Seed of the first program.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of programs.
    #[arg(long, default_value_t = 1000)]
    count: u64,
    /// Log level for both.
    #[arg(long, short, default_value_t = 2)]
    level: u32,
    /// Load as a process that has only CAP_BPF and may not leak pointers.
    #[arg(long)]
    cap_bpf: bool,
    /// Generate tracing programs that load through kernel types.
    #[arg(long)]
    tracing: bool,
    /// Print both logs of each program, the kernel's from the first difference on.
    #[arg(long)]
    print: bool,
    /// Stop after this many disagreements.
    #[arg(long, default_value_t = 20)]
    max: usize,
}

/// Programs with a longer walk are skipped: their logs would take most of the time.
const INSNS_MAX: u64 = 5000;

/// Both results for one program.
struct Pair {
    class: &'static str,
    accepted: bool,
    ours: String,
    kernel: String,
    verdict: OurVerdict,
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    engine::record_panics();
    let kernel = if args.tracing { Some(kernel_btf()?) } else { None };
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut accepted, mut shown) = (0, 0);
    for seed in args.seed..args.seed + args.count {
        let program = match &kernel {
            Some((btf, tracepoints)) => tracing::program(seed, btf, tracepoints),
            None => generate::program(seed),
        };
        let pair = compare(&program, args)?;
        *counts.entry(pair.class).or_default() += 1;
        accepted += u64::from(pair.accepted);
        if !matches!(pair.class, "equal" | "long") {
            print_difference(seed, &pair);
            shown += 1;
        }
        if args.print {
            print!("{}\n# {} {}\n", pair.ours, pair.verdict.name(), pair.verdict.reason());
            let parted = kernel_log::first_difference(&pair.ours, &pair.kernel);
            let from = parted.map_or(usize::MAX, |parted| parted.line - 1);
            pair.kernel.lines().skip(from).for_each(|line| println!("+ {line}"));
        }
        if shown >= args.max {
            break;
        }
    }
    let classes: Vec<String> = counts.iter().map(|(name, n)| format!("{name} {n}")).collect();
    println!("{}; accepted by the kernel {accepted}", classes.join(", "));
    Ok((shown == 0).into())
}

/// The host's BTF and its tracepoints.
fn kernel_btf() -> Result<(Arc<Btf>, Vec<TypeId>), Box<dyn std::error::Error>> {
    let btf = Arc::new(Btf::parse(&std::fs::read("/sys/kernel/btf/vmlinux")?)?);
    let tracepoints = tracing::tracepoints(&btf);
    Ok((btf, tracepoints))
}

fn print_difference(seed: u64, pair: &Pair) {
    println!("{:12} seed {seed}  {}", pair.class, pair.verdict.reason());
    if let Some(parted) = kernel_log::first_difference(&pair.ours, &pair.kernel) {
        let (ours, kernel) = (parted.ours.unwrap_or("(end)"), parted.theirs.unwrap_or("(end)"));
        println!("    - {ours}\n    + {kernel}");
    }
}

fn compare(program: &Program, args: &Args) -> Result<Pair, Box<dyn std::error::Error>> {
    let level = args.level | 4;
    let privileges = Privileges { bpf: true, perfmon: !args.cap_bpf };
    let quick = engine::verify_with(program, 4, privileges);
    if quick.stats.insns_processed > INSNS_MAX {
        let (ours, kernel) = (String::new(), String::new());
        return Ok(Pair { class: "long", accepted: false, ours, kernel, verdict: quick.verdict });
    }
    let ours = engine::verify_with(program, level, privileges);
    let answer = if args.cap_bpf {
        bpf::with_cap_bpf_only(|| judge(program, level)).map_err(|e| format!("{e:?}"))?
    } else {
        judge(program, level)
    };
    let theirs = match answer {
        Answer::Judged(it) => it,
        Answer::NotJudged(why) => return Err(format!("not judged: {why}").into()),
    };
    let log = kernel_log::normalise(&ours.log, &program.insns);
    let kernel = kernel_log::normalise(&theirs.log, &program.insns);
    let class = classify(&ours.verdict, &theirs, log == kernel);
    Ok(Pair { class, accepted: theirs.accepted, ours: log, kernel, verdict: ours.verdict })
}

fn classify(ours: &OurVerdict, theirs: &Judgement, equal: bool) -> &'static str {
    match (ours, theirs.accepted) {
        (OurVerdict::Unsupported(_), _) => "unsupported",
        (OurVerdict::Bug(_), _) => "bug",
        (OurVerdict::Accepted, false) => "false-accept",
        (OurVerdict::Rejected(_), true) => "false-reject",
        _ if equal => "equal",
        _ => "log",
    }
}

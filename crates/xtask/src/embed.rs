//! `cargo xtask embed`: runs programs that verify on random input; at every insn, the state of the
//! run must be included in the verifier's state there.
//!
//! This checks the verifier without a kernel: an unsound transfer function, refinement or state
//! comparison is found when a run leaves the verified states. If the kernel's verifier computes the
//! same states, the bug is in the kernel (docs/kernel-findings.md).

mod args;
mod cut;
mod fits;
mod flow;
mod place;
mod programs;
mod step;
mod track;

pub(crate) use args::Args;
use flow::Effect;
pub(crate) use programs::{kind_of, packet};
use skep::program::Program;
use skep::uapi::KernelProfile;
use skep_interp::watched;
use skep_kernel::judge::{Answer, judge};
use skep_kernel::kernel_log;
use skep_runtime::{Engine, Instance, LoadOptions, Options, Runtime};
use skep_testkit::engine;
use skep_testkit::rng::Rng;
use skep_verifier::watch::verify_watched;
use skep_verifier::{Config, Verdict, VerifiedProgram};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use track::{Outside, Tracker, Walked};

/// Longer walks are not recorded.
const WALK_MAX: u32 = 300_000;
/// Fuel of a run.
const FUEL: u64 = 200_000;

/// Totals.
#[derive(Default)]
struct Tally {
    programs: AtomicU64,
    refused: AtomicU64,
    runs: AtomicU64,
    insns: AtomicU64,
    cuts: AtomicU64,
    outside: AtomicU64,
    /// Why programs did not run, or runs were not followed to their end.
    reasons: Mutex<BTreeMap<String, u64>>,
}

impl Tally {
    fn note(&self, why: impl Into<String>) {
        let mut reasons = self.reasons.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *reasons.entry(why.into()).or_default() += 1;
    }

    fn print(&self, started: Instant) {
        let reasons = self.reasons.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut reasons: Vec<_> = reasons.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (why, count) in reasons.into_iter().take(20) {
            println!("{count:8} {why}");
        }
        let of = |count: &AtomicU64| count.load(Relaxed);
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "embed: {} programs ran ({} do not verify), {} runs, {} insns inside states, \
             {} cuts, {} outside; {seconds:.0} s, {:.1} million insns a second",
            of(&self.programs),
            of(&self.refused),
            of(&self.runs),
            of(&self.insns),
            of(&self.cuts),
            of(&self.outside),
            of(&self.insns) as f64 / seconds / 1e6,
        );
    }
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    engine::record_panics();
    let tally = Tally::default();
    let started = Instant::now();
    let stop = args.minutes.map(|minutes| started + Duration::from_secs(minutes * 60));
    let source = programs::Source::new(args)?;
    let next = AtomicU64::new(args.seed);
    let end = source.end(args);
    std::thread::scope(|scope| {
        for _ in 0..args.jobs.max(1) {
            let work = || {
                loop {
                    let seed = next.fetch_add(1, Relaxed);
                    let late = stop.is_some_and(|stop| Instant::now() >= stop);
                    if seed >= end || late || tally.outside.load(Relaxed) >= args.max {
                        return;
                    }
                    source.programs(seed, &mut |name, program| {
                        let work = || of_program(&name, &program, args, seed, &tally);
                        if let Err(why) = skep::contain_panic(work) {
                            tally.outside.fetch_add(1, Relaxed);
                            println!("{name}: {why}");
                        }
                    });
                }
            };
            // Verification is recursive in places.
            let _ = std::thread::Builder::new().stack_size(64 << 20).spawn_scoped(scope, work);
        }
    });
    tally.print(started);
    Ok((tally.outside.load(Relaxed) == 0).into())
}

fn of_program(name: &str, program: &Program, args: &Args, seed: u64, tally: &Tally) {
    let config = Config {
        nr_cpu_ids: skep::possible_cpus(),
        log_level: if args.print { 2 } else { 0 },
        profile: KernelProfile { insns_max: WALK_MAX, ..KernelProfile::v6_18() },
        ..Config::privileged(KernelProfile::v6_18())
    };
    let (outcome, graph) = verify_watched(program, &config);
    let Verdict::Accepted(verified) = outcome.verdict else {
        tally.refused.fetch_add(1, Relaxed);
        return;
    };
    let Ok(xlated) = verified.xlated() else {
        return tally.note("not supported: insns that run");
    };
    // A program that may rely on an unsound rule of the kernel runs with the insns of the second
    // walk.
    if verified.insns_to_run().is_ok_and(|run| run.insns() != xlated.insns()) {
        return tally.note("program: not run as it was walked");
    }
    let mut kept = vec![false; program.insns.len()];
    for pc in 0..xlated.insns().len() {
        kept[xlated.origin(pc) as usize] = true;
    }
    let effects = program.insns.iter().map(|&insn| Effect::of(insn)).collect();
    let walked = Walked { graph, insns: program.insns.clone(), effects, kept };
    let mut tracker = Tracker::new(walked);
    tracker.trace = args.trace;
    let tracker = Rc::new(RefCell::new(tracker));
    match run_program(&verified, &tracker, args, seed, tally) {
        Ok(()) => {
            tally.programs.fetch_add(1, Relaxed);
        }
        Err(why) => tally.note(format!("program: {why}")),
    }
    let tracker = tracker.borrow();
    tally.insns.fetch_add(tracker.insns, Relaxed);
    tally.cuts.fetch_add(tracker.cuts, Relaxed);
    if let Some(Outside { insn, what }) = &tracker.outside {
        tally.outside.fetch_add(1, Relaxed);
        println!("{name}: outside at insn {insn}: {what}");
        if args.print {
            println!("{}", beside_kernel(program));
            print!("{}", outcome.log);
        }
    }
}

/// Whether the host kernel's verifier computes the same states: then the bug is in the kernel.
fn beside_kernel(program: &Program) -> String {
    let ours = kernel_log::normalise(&engine::verify(program, 6).log, &program.insns);
    match judge(program, 6) {
        Answer::Judged(it) => {
            let kernel = kernel_log::normalise(&it.log, &program.insns);
            match kernel_log::first_difference(&ours, &kernel) {
                None => "the kernel walks the same".to_owned(),
                Some(parted) => format!("the kernel walks otherwise: {parted:?}"),
            }
        }
        Answer::NotJudged(why) => format!("not judged by the kernel: {}", why.reason),
    }
}

fn run_program(
    verified: &VerifiedProgram,
    tracker: &Rc<RefCell<Tracker>>,
    args: &Args,
    seed: u64,
    tally: &Tally,
) -> Result<(), String> {
    let program = verified.program();
    let runtime = Runtime::new(Options { cpus: 1, ..Options::default() });
    let runtime = runtime.map_err(|e| e.to_string())?;
    let maps = runtime.create_maps(&program.maps, program.btf.as_ref());
    let options =
        LoadOptions { engine: Engine::Interpreter, fuel: Some(FUEL), ..LoadOptions::default() };
    let instance = runtime.load(verified, &maps, &options).map_err(|e| e.to_string())?;
    let mut rng = Rng::new(seed ^ 0x5eed);
    for _ in 0..args.inputs {
        one_run(&instance, tracker, &mut rng, tally)?;
        let tracker = tracker.borrow();
        if tracker.outside.is_some() || tracker.ran >= args.insns {
            break;
        }
    }
    Ok(())
}

fn one_run(
    instance: &Instance,
    tracker: &Rc<RefCell<Tracker>>,
    rng: &mut Rng,
    tally: &Tally,
) -> Result<(), String> {
    let mut ctx = programs::context(instance, rng)?;
    tracker.borrow_mut().reset();
    tally.runs.fetch_add(1, Relaxed);
    let ran = watched(tracker.clone(), || instance.run(&mut ctx));
    let mut tracker = tracker.borrow_mut();
    if let Err(why) = ran {
        let why = why.to_string();
        if why.contains("bad access") || why.contains("bug") {
            tracker.outside.get_or_insert(Outside { insn: 0, what: why.clone() });
        }
        tally.note(format!("run: {}", kind_of(&why)));
    }
    if let Some(why) = tracker.lost.filter(|why| *why != "outside") {
        tally.note(format!("lost: {why}"));
    }
    Ok(())
}

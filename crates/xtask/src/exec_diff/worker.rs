//! The threads of `exec-diff`: each takes the next seed, compiles its programs with all settings,
//! and runs them on the same inputs.
//!
//! Each engine runs some hundred inputs in a row: the processor then has its code cached and its
//! branches predicted, which doubles the speed.

use super::args::{Args, Make};
use super::counts::{self, Counts};
use super::engines::{self, Engine, Named, Ran, Words};
use super::{builder::Kind, generate, sequences};
use skep::program::Program;
use skep_testkit::engine;
use skep_testkit::rng::Rng;
use skep_verifier::VerifiedProgram;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Interval of progress messages.
const PROGRESS: Duration = Duration::from_secs(60);
/// Number of inputs run in a row.
const BATCH: u64 = 500;

/// State shared by the threads.
struct Shared<'a> {
    args: &'a Args,
    makes: &'a [Make],
    kernel: bool,
    end: u64,
    stop: Option<Instant>,
    state: Mutex<State>,
}

struct State {
    next: u64,
    /// By make.
    counts: Vec<Counts>,
    said: Instant,
    failed: Option<String>,
}

/// Runs everything; returns the counts, by kind.
pub(super) fn all(args: &Args, makes: &[Make], kernel: bool) -> Result<Vec<Counts>, String> {
    let (end, stop) = args.end();
    let counts = vec![Counts::default(); makes.len()];
    let state = State { next: args.seed, counts, said: Instant::now(), failed: None };
    let shared = Shared { args, makes, kernel, end, stop, state: Mutex::new(state) };
    std::thread::scope(|scope| {
        for job in 0..args.jobs.max(1) {
            let shared = &shared;
            scope.spawn(move || shared.work(job));
        }
    });
    let state = shared.state.into_inner().map_err(|e| e.to_string())?;
    state.failed.map_or(Ok(state.counts), Err)
}

/// Binds the thread to a CPU: per-CPU maps in the kernel depend on the CPU that runs the test.
pub(super) fn stay_on_cpu(job: usize) {
    let mut here = rustix::thread::CpuSet::new();
    let allowed = rustix::thread::sched_getaffinity(None).unwrap_or_default();
    let cpus: Vec<usize> =
        (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
    if let Some(cpu) = cpus.get(job % cpus.len().max(1)) {
        here.set(*cpu);
    }
    if let Err(errno) = rustix::thread::sched_setaffinity(None, &here) {
        println!("exec-diff: not bound to a CPU: {errno}");
    }
}

impl Shared<'_> {
    fn work(&self, job: usize) {
        stay_on_cpu(job);
        let mut done = None;
        while let Some(seed) = self.next(done.take()) {
            let make = &self.makes[((seed - self.args.seed) % self.makes.len() as u64) as usize];
            let begun = Instant::now();
            let mut counts = Counts::default();
            let result = self.compare(seed, make, &mut counts);
            counts.time = begun.elapsed();
            done = Some((seed, counts, result));
        }
    }

    /// Records the result of a seed, and returns the next one; `None` at the end.
    fn next(&self, done: Option<(u64, Counts, Result<(), String>)>) -> Option<u64> {
        let mut state = self.state.lock().ok()?;
        if let Some((seed, counts, result)) = done {
            state.counts[((seed - self.args.seed) % self.makes.len() as u64) as usize] += counts;
            state.failed = state.failed.take().or(result.err());
        }
        // Prints progress, so that a long run that fails has printed something.
        if state.said.elapsed() >= PROGRESS {
            state.said = Instant::now();
            let names: Vec<_> = self.makes.iter().map(|make| make.name).collect();
            print!("before seed {}:\n{}", state.next, counts::table(&names, &state.counts));
        }
        let different: u64 = state.counts.iter().map(|counts| counts.different).sum();
        let over = state.next >= self.end
            || different >= self.args.max
            || state.failed.is_some()
            || self.stop.is_some_and(|stop| Instant::now() >= stop);
        state.next += u64::from(!over);
        (!over).then(|| state.next - 1)
    }

    /// Runs the programs of one seed on all engines.
    fn compare(&self, seed: u64, make: &Make, counts: &mut Counts) -> Result<(), String> {
        let args = self.args;
        if make.kind == Kind::Sequences {
            let kernel = self.kernel && args.kernel > 0;
            let how = sequences::How { size: make.size, print: args.print, kernel };
            sequences::compare(seed, how, counts);
            return Ok(());
        }
        let programs = generate::programs(seed, make.kind, make.size);
        if args.print {
            programs.iter().for_each(|program| print_insns(seed, program));
        }
        if args.log {
            programs.iter().for_each(|program| print!("{}", engine::verify(program, 2).log));
        }
        let Some(verified) = self.verified(&programs) else {
            counts.refused += 1;
            return Ok(());
        };
        let mut others =
            engines::ours(&verified, make.passes).map_err(|e| format!("seed {seed}: {e}"))?;
        let mut oracle = others.remove(0);
        let asks = self.kernel && verified.iter().all(engines::runs_as_in_kernel);
        let mut kernel = None;
        if asks && args.kernel > 0 {
            match engines::kernels(&programs) {
                Ok(engine) => kernel = Some(("kernel".to_owned(), engine)),
                Err(why) => {
                    let reason = skep_kernel::kernel_log::reason(&why).unwrap_or_default();
                    println!("{} seed {seed}: the kernel refuses: {reason}", make.name);
                    counts.different += 1;
                    return Ok(());
                }
            }
        }
        counts.programs += 1;
        let mut rng = Rng::new(seed ^ 0x5eed);
        let mut done = 0;
        while done < args.inputs {
            // The kernel's inputs come first, in a separate batch.
            let renew = done < args.kernel;
            let most = if renew { args.kernel } else { BATCH };
            let inputs = most.min(args.inputs - done);
            let words = |_| std::array::from_fn(|_| generate::number(&mut rng));
            let words: Vec<Words> = (0..inputs).map(words).collect();
            let of_kernel = if renew { kernel.as_mut() } else { None };
            counts.inputs += inputs;
            counts.native += inputs * others.len() as u64;
            counts.kernel += if of_kernel.is_some() { inputs } else { 0 };
            let engines = others.iter_mut().chain(of_kernel);
            if let Some((at, text)) = batch(&mut oracle, engines, &words, renew) {
                let (input, words) = (done + at as u64, words[at]);
                println!("{} seed {seed} input {input} {words:x?}\n{text}", make.name);
                counts.different += 1;
                return Ok(());
            }
            done += inputs;
        }
        Ok(())
    }

    /// The programs, if all are accepted and run.
    fn verified(&self, programs: &[Program]) -> Option<Vec<VerifiedProgram>> {
        let verified: Result<Vec<_>, String> = programs.iter().map(engine::verified).collect();
        if let (Err(why), true) = (&verified, self.args.print) {
            println!("  {why}");
        }
        // A program that may rely on an unsound rule of the kernel is not loaded to be run: the
        // kernel may have removed insns that the run needs, so the results would mean nothing.
        verified.ok().filter(|all| all.iter().all(|program| program.kernel_hole().is_none()))
    }
}

/// Runs inputs on the oracle and then on the others; returns the first input with different
/// results, and what each of the others says that differs.
fn batch<'a>(
    (oracle, engine): &mut Named,
    others: impl Iterator<Item = &'a mut Named>,
    words: &[Words],
    renew: bool,
) -> Option<(usize, String)> {
    let run = |engine: &mut Engine, words: &Words| {
        if renew {
            engine.renew();
        }
        engine.run(words)
    };
    let expected: Vec<Ran> = words.iter().map(|words| run(engine, words)).collect();
    let mut differ: Option<(usize, String)> = None;
    for (name, engine) in others {
        for (at, (words, expected)) in words.iter().zip(&expected).enumerate() {
            let ran = run(engine, words);
            if !engines::agree(&ran, expected) {
                let (_, text) =
                    differ.get_or_insert_with(|| (at, format!("  {oracle} {expected:x?}")));
                *text += &format!("\n  {name} {ran:x?}");
                break;
            }
        }
    }
    differ
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

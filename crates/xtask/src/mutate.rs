//! `cargo xtask mutate`: compares our verifier with the host kernel on mutated and generated
//! programs.
//!
//! Mutants of real programs and generated ones are verified by us and loaded into the kernel, both
//! with log level 2. Differences are minimised and grouped by cause; each group gets a file that
//! `--replay` judges again. Everything is determined by `--seed` and the files.
//!
//! Reading order: [`batch`] (the programs of a batch), [`edit`], [`attributes`], [`elf`],
//! [`generated`] (how they are made), [`compare`] and [`long`] (the comparison), [`minimise`],
//! [`replay`], [`mod@worker`], and the parent process, here and in [`groups`].
//!
//! Deliberately absent: running accepted programs; unprivileged loads, which hosts forbid with
//! `unprivileged_bpf_disabled`.

mod args;
mod attributes;
mod batch;
mod compare;
mod difference;
mod edit;
mod elf;
mod generated;
mod groups;
mod insns;
mod long;
mod minimise;
mod on_kernel;
mod replay;
mod splice;
mod verdicts;
mod worker;

use crate::child::Child;
use crate::outcome::{self, Ended};
pub(crate) use args::Args;
pub(crate) use batch::{BATCH, Mutant, Sources};
use groups::Groups;
pub(crate) use minimise::minimise_for;
pub(crate) use on_kernel::{Judgement, OnKernel};
pub(crate) use replay::listing;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use worker::{Event, Request};
pub(crate) use worker::{WorkerArgs, worker};

/// Time limit of a batch.
const TIMEOUT: Duration = Duration::from_secs(120);

pub(crate) fn run(args: &Args) -> crate::Outcome {
    if args.ours {
        return verdicts::run(args);
    }
    if let Err(absent) = outcome::judge() {
        return Ok(Ended::without_kernel(&absent));
    }
    if let Some(path) = &args.replay {
        return groups::replay(path, !args.no_minimise, args.lines);
    }
    if let Some(id) = &args.show {
        return groups::show(args, id);
    }
    let run = Run {
        args,
        next: AtomicU64::new(args.from),
        end: args.from + args.count.div_ceil(BATCH),
        deadline: args.minutes.map(|it| Instant::now() + Duration::from_secs_f64(60.0 * it)),
        oopses: oopses(),
        stopped: AtomicBool::new(false),
        groups: Mutex::default(),
    };
    let start = Instant::now();
    std::thread::scope(|scope| {
        let jobs: Vec<_> = (0..args.jobs.max(1)).map(|_| scope.spawn(|| run.job())).collect();
        jobs.into_iter().try_for_each(|job| {
            job.join().unwrap_or_else(|_| Err(std::io::Error::other("a job panicked")))
        })
    })?;
    let groups = run.groups.into_inner().unwrap_or_default();
    let text = groups.write(&args.out)?;
    print!("{text}");
    let seconds = start.elapsed().as_secs_f64();
    println!("{seconds:.0} s, {:.0} programs a second", groups.programs() as f64 / seconds);
    println!("next: --seed {} --from {}", args.seed, run.next.load(Ordering::Relaxed).min(run.end));
    if run.stopped.load(Ordering::Relaxed) {
        return Err("the kernel had an oops (dmesg): stopped".into());
    }
    let fails = |limit| groups.worst().is_some_and(|worst| worst <= limit);
    Ok((!args.fail_on.is_some_and(fails)).into())
}

/// State shared by the jobs.
struct Run<'a> {
    args: &'a Args,
    next: AtomicU64,
    end: u64,
    deadline: Option<Instant>,
    oopses: usize,
    /// The kernel has crashed in part: nothing more is loaded into it.
    stopped: AtomicBool,
    groups: Mutex<Groups>,
}

/// Number of batches between two checks of the kernel's log.
const LOOK: u64 = 50;

impl Run<'_> {
    fn job(&self) -> std::io::Result<()> {
        let mut worker = None;
        loop {
            let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if late || self.stopped.load(Ordering::Relaxed) {
                return Ok(());
            }
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.end {
                return Ok(());
            }
            self.batch(number, &mut worker)?;
            if number.is_multiple_of(LOOK) && oopses() != self.oopses {
                self.stopped.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Runs one batch; if it kills the worker, runs it again to find the program.
    fn batch(&self, number: u64, slot: &mut Option<Child<Event>>) -> std::io::Result<()> {
        for careful in [false, true] {
            let mut worker = match slot.take() {
                Some(worker) => worker,
                None => Child::start(&self.worker_args())?,
            };
            match self.ask(&mut worker, Request { batch: number, careful }) {
                Ok(()) => {
                    *slot = Some(worker);
                    return Ok(());
                }
                Err((at, why)) if careful => {
                    let id = format!("{}/{number}/{at}", self.args.seed);
                    self.with(|groups| groups.lost(&id, &why));
                }
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn ask(&self, worker: &mut Child<Event>, request: Request) -> Result<(), (u64, String)> {
        let mut at = 0;
        worker.ask(&request).map_err(|why| (at, why))?;
        let mut found = Vec::new();
        loop {
            match worker.next(TIMEOUT) {
                Ok(Event::At(i)) => at = i,
                Ok(Event::Found(it)) => found.push(*it),
                Ok(Event::End(counts)) => {
                    self.with(|groups| groups.add(counts, found));
                    return Ok(());
                }
                Err(why) => return Err((at, why)),
            }
        }
    }

    fn with(&self, change: impl FnOnce(&mut Groups)) {
        if let Ok(mut groups) = self.groups.lock() {
            change(&mut groups);
        }
    }

    fn worker_args(&self) -> Vec<String> {
        let args = self.args;
        let mut list = vec![
            "mutate-worker".to_owned(),
            format!("--seed={}", args.seed),
            format!("--generated={}", args.generated),
        ];
        if !args.no_minimise {
            list.push("--minimise".to_owned());
        }
        list.extend(args.only.iter().map(|kind| format!("--only={kind}")));
        list.push("--".to_owned());
        list.extend(args.paths.iter().map(|path| path.display().to_string()));
        list
    }
}

/// The number of oopses in the kernel's log; 0 if it cannot be read. A warning (`verifier bug:`) is
/// harmless.
fn oopses() -> usize {
    let output = Command::new("dmesg").output();
    let told = |text: &str| text.lines().filter(|line| line.contains("Oops: ")).count();
    output.map_or(0, |output| told(&String::from_utf8_lossy(&output.stdout)))
}

//! `cargo xtask mutate`: programs that nobody looked at, before our verifier and the host kernel.
//!
//! Mutants of real programs and generated ones are verified by us and loaded into the kernel, both
//! with the log at level 2; what differs is minimised and grouped by cause, each group with a file
//! that `--replay` judges again. Everything follows from `--seed` and the files.
//!
//! Reading order: [`batch`] (where programs come from), [`edit`], [`attributes`], [`elf`],
//! [`generated`] (what is done to them), [`compare`] and [`long`] (both answers), [`minimise`],
//! [`replay`], [`mod@worker`], and the parent here and in [`groups`].
//!
//! Deliberately absent: running what the kernel accepts; unprivileged loads, which hosts forbid by
//! `unprivileged_bpf_disabled`.

mod attributes;
mod batch;
mod compare;
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
pub(crate) use batch::{BATCH, Sources};
use compare::Kind;
use groups::Groups;
pub(crate) use long::cpu_time;
pub(crate) use on_kernel::{Judgement, OnKernel};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use worker::{Event, Request};
pub(crate) use worker::{WorkerArgs, worker};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Object files, and folders of them, whose programs are changed.
    #[arg(default_value = "tests/programs")]
    paths: Vec<PathBuf>,
    /// What everything follows from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many programs, about.
    #[arg(long, default_value_t = 10_000)]
    count: u64,
    /// Minutes after which to stop, whatever the count.
    #[arg(long)]
    minutes: Option<f64>,
    /// The first batch of the seed: where an earlier run stopped.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Of 100 batches, so many are of generated programs.
    #[arg(long, default_value_t = 30)]
    generated: u64,
    /// Processes at once.
    #[arg(long, short, default_value_t = 2)]
    jobs: usize,
    /// Folder that the groups are written to.
    #[arg(long, default_value = "target/mutate")]
    out: PathBuf,
    /// Leave findings as they are.
    #[arg(long)]
    no_minimise: bool,
    /// Fail if there are differences of this kind or of a worse one.
    #[arg(long)]
    fail_on: Option<Kind>,
    /// Write the program of this id (SEED/BATCH/INDEX) to a file for --replay, and judge nothing.
    #[arg(long)]
    show: Option<String>,
    /// Judge the finding of a file again.
    #[arg(long)]
    replay: Option<PathBuf>,
    /// With --replay: lines of either log shown around the first that differs.
    #[arg(long, default_value_t = 10)]
    lines: usize,
    /// Ask no kernel: print what our verifier says of each program.
    #[arg(long)]
    ours: bool,
}

/// What a batch may take.
const TIMEOUT: Duration = Duration::from_secs(120);

pub(crate) fn run(args: &Args) -> crate::Outcome {
    if args.ours {
        return verdicts::run(args);
    }
    if let Err(absent) = outcome::judge() {
        return Ok(Ended::without_kernel(&absent));
    }
    if let Some(path) = &args.replay {
        return groups::replay(path, (!args.no_minimise, args.lines));
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

/// What is shared by the jobs.
struct Run<'a> {
    args: &'a Args,
    next: AtomicU64,
    end: u64,
    deadline: Option<Instant>,
    oopses: usize,
    /// The kernel is damaged: nothing more is given to it.
    stopped: AtomicBool,
    groups: Mutex<Groups>,
}

/// Batches between two looks at the kernel's log.
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

    /// One batch; if it kills the worker, once more to learn at which program.
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
        list.push("--".to_owned());
        list.extend(args.paths.iter().map(|path| path.display().to_string()));
        list
    }
}

/// How often the kernel's log tells of an oops; 0 if it cannot be read. A warning (`verifier bug:`)
/// is no harm.
fn oopses() -> usize {
    let output = Command::new("dmesg").output();
    let told = |text: &str| text.lines().filter(|line| line.contains("Oops: ")).count();
    output.map_or(0, |output| told(&String::from_utf8_lossy(&output.stdout)))
}

/// A file name of a group.
fn file_of(out: &Path, kind: Kind, key: &str) -> PathBuf {
    let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    let kind = format!("{kind:?}").to_lowercase();
    out.join(format!("{kind}-{:08x}.json", hash as u32))
}

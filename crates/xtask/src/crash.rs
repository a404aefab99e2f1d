//! `cargo xtask crash`: whatever the verifier accepts and the runtime loads is run, and must not
//! crash the process.
//!
//! The programs are those of objects and of the suites, or the mutants that `mutate` derives from
//! them. They run in children of `fork`, on random inputs, with memory between pages that cannot be
//! accessed. Findings are signals, panics, accesses that the interpreter refuses, and runs that
//! neither end nor run out of fuel; most are minimised. Nothing is loaded into the kernel.

mod run;

use crate::embed::kind_of;
use crate::mutate::{BATCH, Mutant, Sources, listing, minimise_for};
use crate::objects;
use run::{Log, run_program};
use skep::program::Program;
use skep_testkit::engine;
use skep_testkit::forked::forked;
use skep_verifier::Privileges;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Objects, or folders of them.
    objects: Vec<PathBuf>,
    /// Run the mutants that `mutate` derives from the programs of the objects and suites, in
    /// batches of 100; this percentage of the batches consists of generated programs. Otherwise the
    /// programs of the suites and the objects are run as they are.
    #[arg(long, num_args = 0..=1, default_missing_value = "30", require_equals = true)]
    mutants: Option<u64>,
    /// Seed of all mutants and inputs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The first batch.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Number of batches [default: 10 of mutants, otherwise all; or as many as `--minutes` allows].
    #[arg(long)]
    count: Option<u64>,
    /// Only the program with this number in its batch.
    #[arg(long)]
    at: Option<usize>,
    /// Stop after this many minutes.
    #[arg(long)]
    minutes: Option<f64>,
    /// Inputs per program and engine.
    #[arg(long, default_value_t = 5)]
    inputs: u64,
    /// Do not minimise findings.
    #[arg(long)]
    no_minimise: bool,
}

/// A program, and how it is loaded.
struct Named {
    name: String,
    program: Program,
    privileges: Privileges,
}

impl Named {
    fn new(name: String, mutant: Mutant) -> Named {
        let privileges = mutant.privileges();
        Named { name, program: mutant.program, privileges }
    }
}

/// A program that crashed, or was reported by its child.
struct Finding {
    at: usize,
    what: String,
}

/// What the children reported.
#[derive(Default)]
struct Tally {
    programs: u64,
    counts: BTreeMap<String, u64>,
    /// Findings by kind.
    kinds: BTreeMap<String, u64>,
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    engine::record_panics();
    skep_mem::guard_regions();
    let files = objects::find(&args.objects)?;
    let sources = Sources::of(objects::host()?, files, args.mutants.unwrap_or_default());
    let tally = std::thread::scope(|scope| {
        // Verification is recursive in places.
        let thread = std::thread::Builder::new().stack_size(crate::kernel_diff::STACK_SIZE);
        let work = || {
            let mut crash = Crash { args, tally: Tally::default() };
            crash.all(&sources);
            crash.tally
        };
        thread.spawn_scoped(scope, work).map(|it| it.join().unwrap_or_default())
    })?;
    Ok(tally.kinds.is_empty().into())
}

struct Crash<'a> {
    args: &'a Args,
    tally: Tally,
}

impl Crash<'_> {
    fn all(&mut self, sources: &Sources) {
        let started = Instant::now();
        let stop = self.args.minutes.map(|it| started + Duration::from_secs_f64(60.0 * it));
        let late = || stop.is_some_and(|stop| Instant::now() >= stop);
        let count = self.args.count;
        if self.args.mutants.is_some() {
            let count = count.unwrap_or(if stop.is_some() { u64::MAX } else { 10 });
            for number in self.args.from..self.args.from.saturating_add(count) {
                if late() {
                    break;
                }
                self.batch(number, &self.mutants(sources, number));
            }
        } else {
            let mut unchanged = sources.unchanged();
            for number in 0..count.map_or(u64::MAX, |count| self.args.from.saturating_add(count)) {
                let some: Vec<Named> = unchanged
                    .by_ref()
                    .take(BATCH as usize)
                    .map(|(name, mutant)| Named::new(name, mutant))
                    .collect();
                if some.is_empty() || late() {
                    break;
                }
                if number >= self.args.from {
                    self.batch(number, &some);
                }
            }
        }
        self.print(started.elapsed());
    }

    fn mutants(&self, sources: &Sources, number: u64) -> Vec<Named> {
        let Some(batch) = sources.batch(self.args.seed, number) else { return Vec::new() };
        let mutant = |i| match skep::contain_panic(|| batch.mutant(i)) {
            Ok(Ok(mutant)) => Named::new(batch.name.clone(), mutant),
            // Its number must remain that of the mutant.
            _ => Named {
                name: String::new(),
                program: Program::default(),
                privileges: Privileges::PRIVILEGED,
            },
        };
        (0..BATCH).map(mutant).collect()
    }

    /// Runs the programs of a batch; after a crash, the remaining ones in another child.
    fn batch(&mut self, number: u64, programs: &[Named]) {
        let range = match self.args.at {
            Some(at) => at..(at + 1).min(programs.len()),
            None => 0..programs.len(),
        };
        let mut at = range.start;
        let mut findings = Vec::new();
        while at < range.end {
            let log = match Log::new() {
                Ok(log) => log,
                Err(why) => return println!("no log: {why}"),
            };
            let ended = forked(|| {
                run::watch(&log);
                for (i, named) in programs.iter().enumerate().take(range.end).skip(at) {
                    log.begins(i);
                    self.one(named, &log);
                }
            });
            let read = log.read();
            for (what, count) in read.counts {
                *self.tally.counts.entry(what).or_default() += count;
            }
            findings.extend(read.findings.into_iter().map(|(at, what)| Finding { at, what }));
            let last = read.last.unwrap_or(at);
            if ended == Some(0) {
                break;
            }
            let known = findings.iter().any(|finding| finding.at == last);
            if !known && ended != Some(run::TOO_LONG) {
                let what = match ended {
                    Some(_) => "panic outside of a run".to_owned(),
                    None => format!("killed by a signal {}", read.doing),
                };
                findings.push(Finding { at: last, what });
            }
            at = last + 1;
        }
        self.tally.programs += range.len() as u64;
        for finding in findings {
            self.found(number, &programs[finding.at], &finding);
        }
    }

    fn one(&self, named: &Named, log: &Log) {
        run_program(&named.program, named.privileges, self.args.seed, self.args.inputs, log);
    }

    /// What a program does in a child of its own: the kind of the finding, if it is one.
    fn kind_alone(&self, program: Program, privileges: Privileges) -> Option<String> {
        let named = Named { name: String::new(), program, privileges };
        let log = Log::new().ok()?;
        let ended = forked(|| {
            run::watch(&log);
            log.begins(0);
            self.one(&named, &log);
        });
        match (log.read().findings.pop(), ended) {
            (Some((_, what)), _) => Some(kind_of(&what)),
            (None, Some(0 | run::TOO_LONG)) => None,
            (None, Some(_)) => Some("panic outside of a run".to_owned()),
            (None, None) => Some("killed by a signal".to_owned()),
        }
    }

    fn found(&mut self, number: u64, named: &Named, finding: &Finding) {
        let kind = kind_of(&finding.what);
        let seen = self.tally.kinds.entry(kind.clone()).or_default();
        *seen += 1;
        let seen = *seen;
        println!("{} ({number}/{}): {}", named.name, finding.at, finding.what);
        let mutants = self.args.mutants.map(|it| format!(" --mutants={it}")).unwrap_or_default();
        let paths: Vec<_> = self.args.objects.iter().map(|it| it.display().to_string()).collect();
        println!(
            "  replay: cargo xtask crash --seed={} --from={number} --count=1 --at={}{mutants} {}",
            self.args.seed,
            finding.at,
            paths.join(" "),
        );
        // More of the same are rarely of interest.
        if self.args.no_minimise || seen > 5 {
            return;
        }
        let mut program = named.program.clone();
        match self.kind_alone(program.clone(), named.privileges) {
            Some(kind) => {
                program = minimise_for(program, &mut |candidate| {
                    self.kind_alone(candidate.clone(), named.privileges).as_ref() == Some(&kind)
                });
            }
            None => println!("  it does not do so alone"),
        }
        println!("  {} {}", program.prog_type, named.privileges_text());
        for map in program.maps.iter() {
            let (name, ty) = (&map.name, map.map_type);
            println!("  map {name}: {ty} {} {} {}", map.key_size, map.value_size, map.max_entries);
        }
        listing(&program).iter().for_each(|line| println!("  {line}"));
    }

    fn print(&self, took: Duration) {
        let tally = &self.tally;
        let mut counts: Vec<_> = tally.counts.iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        counts.iter().take(30).for_each(|(what, count)| println!("{count:8} {what}"));
        let findings: u64 = tally.kinds.values().sum();
        let minutes = took.as_secs_f64() / 60.0;
        println!(
            "crash: {} programs, {:.1} minutes, {:.0} programs a minute, {findings} findings of {} kinds",
            tally.programs,
            minutes,
            tally.programs as f64 / minutes,
            tally.kinds.len(),
        );
        tally.kinds.iter().for_each(|(kind, count)| println!("{count:8} {kind}"));
    }
}

impl Named {
    fn privileges_text(&self) -> &'static str {
        if self.privileges == Privileges::PRIVILEGED { "(root)" } else { "(CAP_BPF alone)" }
    }
}

//! `cargo xtask tunings FILE...`: verifies every program under every combination of `Tuning`:
//! verdict, counts and log must be the same. Also counts how often each fast path was taken.

use crate::answers::LOGGED_INSNS_MAX;
use crate::objects;
use rayon::prelude::*;
use skep::program::Program;
use skep::uapi::LogLevel;
use skep::{Host, Session, VerifyOptions};
use skep_report::Grid;
use skep_verifier::{Config, Outcome, Tuning, Verdict};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Object files, and folders of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Log level: 0 statistics only, 1, 2.
    #[arg(long, short, default_value_t = 2)]
    level: u32,
    /// Longer walks are not logged: only verdict and counts are compared.
    #[arg(long, default_value_t = LOGGED_INSNS_MAX)]
    logged_insns: u64,
    /// Stop after this many programs that differ.
    #[arg(long, default_value_t = 20)]
    max: usize,
}

/// Stack of the threads, bytes.
const STACK_BYTES: usize = 64 << 20;
const LOG_STATS: u32 = LogLevel::STATS.bits();

/// Totals.
#[derive(Default)]
struct Tally {
    programs: AtomicUsize,
    logged: AtomicUsize,
    /// By name: the count under the default settings, and the number of programs.
    counters: Mutex<BTreeMap<String, (u64, usize)>>,
}

impl Tally {
    fn count(&self, outcome: &Outcome) {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        for counter in skep_bench::verification::counters(outcome) {
            let (sum, programs) = counters.entry(counter.name).or_default();
            *sum += counter.value;
            *programs += usize::from(counter.value > 0);
        }
    }

    /// Counts of events; sums of bytes over several programs would be meaningless.
    fn table(&self) -> Grid {
        let mut grid = Grid::new(&["Under the default settings", "Times", "In programs"], 1);
        let counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, (sum, programs)) in counters.iter().filter(|(name, _)| !name.starts_with("mem_"))
        {
            grid.row([name.clone(), sum.to_string(), programs.to_string()]);
        }
        grid
    }
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let files = objects::find(&args.paths)?;
    let host = objects::host()?;
    let pool = rayon::ThreadPoolBuilder::new().stack_size(STACK_BYTES).build()?;
    let tally = Tally::default();
    let compare = |file: &PathBuf| of_file(file, &host, args, &tally);
    let mut differences: Vec<String> =
        pool.install(|| files.par_iter().flat_map_iter(compare).collect());
    let found = differences.len();
    differences.truncate(args.max);
    differences.iter().for_each(|difference| println!("{difference}"));
    println!("{}", tally.table());
    let combinations = Tuning::all().count();
    let of = |count: &AtomicUsize| count.load(Ordering::Relaxed);
    println!(
        "tunings: {} programs under {combinations} combinations, {} with their logs: {found} differ",
        of(&tally.programs),
        of(&tally.logged),
    );
    Ok((found == 0).into())
}

fn of_file(file: &Path, host: &Host, args: &Args, tally: &Tally) -> Vec<String> {
    // Files that are not objects are not this command's to report.
    let Ok(object) = objects::open(file, host) else { return Vec::new() };
    let session = Session::new(host.clone());
    let programs = object.programs.iter().filter_map(|entry| entry.program.as_ref().ok());
    let compare = |program: &Program| {
        let difference = differs(program, &session, args, tally)?;
        Some(format!("{}:{}: {difference}", objects::short_name(file), program.name))
    };
    programs.filter_map(compare).collect()
}

/// How one of the combinations differs from the default; `None` if none does.
fn differs(program: &Program, session: &Session, args: &Args, tally: &Tally) -> Option<String> {
    let quick = verify(program, &config(session, Tuning::default(), LOG_STATS));
    let logged = args.level != 0 && u64::from(quick.stats.insns_processed) <= args.logged_insns;
    let level = if logged { args.level | LOG_STATS } else { LOG_STATS };
    tally.count(&quick);
    tally.programs.fetch_add(1, Ordering::Relaxed);
    tally.logged.fetch_add(usize::from(logged), Ordering::Relaxed);
    let wanted =
        if logged { verify(program, &config(session, Tuning::default(), level)) } else { quick };
    // In parallel, too: a program that takes long would keep one thread busy, the others idle.
    let others = Tuning::all().filter(|tuning| *tuning != Tuning::default());
    let tunings: Vec<Tuning> = others.collect();
    tunings.into_par_iter().find_map_first(|tuning| {
        let other = verify(program, &config(session, tuning, level));
        let what = first_difference(&wanted, &other)?;
        Some(format!("{tuning:?}: {what}"))
    })
}

fn config(session: &Session, tuning: Tuning, log_level: u32) -> Config {
    let log_bytes_max = Some(1 << 30);
    session.config(&VerifyOptions { tuning, log_level, log_bytes_max, ..Default::default() })
}

fn verify(program: &Program, config: &Config) -> Outcome {
    skep_verifier::verify(program, config)
}

/// Compares everything that a tuning must not change.
fn first_difference(a: &Outcome, b: &Outcome) -> Option<String> {
    let (verdict_a, verdict_b) = (verdict(&a.verdict), verdict(&b.verdict));
    if verdict_a != verdict_b {
        return Some(format!("verdict {verdict_a} / {verdict_b}"));
    }
    let counts = |outcome: &Outcome| {
        let stats = outcome.stats;
        let states = [stats.total_states, stats.peak_states, stats.max_states_per_insn];
        (stats.insns_processed, states, stats.mark_read, stats.stack_depth_bytes)
    };
    if counts(a) != counts(b) {
        return Some(format!("counts {:?} / {:?}", counts(a), counts(b)));
    }
    let parted = skep_kernel::kernel_log::first_difference(&a.log, &b.log)?;
    let (a, b) = (parted.ours.unwrap_or("(end)"), parted.theirs.unwrap_or("(end)"));
    Some(format!("log line {}: {a} / {b}", parted.line))
}

fn verdict(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Accepted(_) => "accepted".to_owned(),
        other => format!("{other:?}"),
    }
}

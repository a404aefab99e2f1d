//! What statistics cost a run: without sites, off, every run timed, one in 64; with one thread and
//! with several.

use crate::run::contest::{Entrant, PLACES, Results, Timed, contest, in_turn};
use crate::run::objects::{Opened, verify};
use crate::run::{KINDS, Kind, machine, udp_packet};
use crate::{Ratio, Rounds, Spread, geometric_mean, interleave};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};
use serde::Serialize;
use skep_jit::{PokeMode, Tuning};
use skep_runtime::{Ctx, Instance, LoadOptions, Options, Runtime, StatsGuard, StatsOptions};
use std::num::NonZeroU32;
use std::sync::Barrier;
use std::thread;

/// Runs of one measurement and thread.
const RUNS: u32 = 500_000;
/// One in so many is timed where not all are.
const SAMPLE: u32 = 64;
/// The program that costs are measured on.
const EMPTY: &Kind = &KINDS[0];

/// How a program is built, and what is on.
struct Setting {
    name: &'static str,
    sites: bool,
    poke: PokeMode,
    stats: Option<StatsOptions>,
}

fn settings() -> Vec<Setting> {
    let setting = |name, stats| Setting { name, sites: true, poke: PokeMode::Patch, stats };
    let sampled = StatsOptions::sampled(NonZeroU32::new(SAMPLE).unwrap_or(NonZeroU32::MIN));
    let histogram = StatsOptions { histogram: true, ..StatsOptions::default() };
    vec![
        Setting { sites: false, ..setting("no sites", None) },
        setting("off", None),
        Setting { poke: PokeMode::Flag, ..setting("off, flag", None) },
        setting("1 in 64 timed", Some(sampled)),
        Setting { poke: PokeMode::Flag, ..setting("1 in 64 timed, flag", Some(sampled)) },
        setting("every run timed", Some(StatsOptions::default())),
        setting("every run timed, histogram", Some(histogram)),
    ]
}

/// A program in a runtime of its own.
struct Loaded {
    instance: Instance,
    _on: Option<StatsGuard>,
    _runtime: Runtime,
}

fn load(kind: &Kind, setting: &Setting, threads: u32) -> Result<Loaded, String> {
    let opened = Opened::new(kind.object)?;
    let options = Options { cpus: threads + 2, ..Options::default() };
    let text = |e: skep_runtime::Error| e.to_string();
    let runtime = Runtime::new(options).map_err(text)?;
    let maps = runtime.create_maps(&opened.object.maps, opened.object.btf.as_ref());
    let tuning = Tuning { sites: setting.sites, poke: setting.poke, ..Tuning::default() };
    let options = LoadOptions { tuning, ..LoadOptions::default() };
    let program = opened.programs.first().ok_or("no program")?;
    let instance = runtime.load(&verify(program)?, &maps, &options).map_err(text)?;
    let on = setting.stats.map(|stats| runtime.enable_stats(stats)).transpose().map_err(text)?;
    Ok(Loaded { instance, _on: on, _runtime: runtime })
}

/// What statistics cost a run of the empty program, called as a function.
#[derive(Debug, Clone, Serialize)]
pub struct Cost {
    /// What is on.
    pub setting: &'static str,
    /// ns a run, by number of threads.
    pub ns: Vec<Option<Spread>>,
    /// ns a run above the program without sites, by number of threads.
    pub above: Vec<Option<f64>>,
    /// The last number of threads over the first.
    pub threads_ratio: Option<Ratio>,
    /// Runs that were made while statistics were on, and what they counted.
    pub runs: u64,
    /// What `run_cnt` says.
    pub run_cnt: u64,
}

/// Measures each setting with each number of threads, all in turn.
///
/// # Errors
///
/// The program does not run.
pub fn costs(threads: &[u32], rounds: u32) -> Result<Vec<Cost>, String> {
    let most = threads.iter().copied().max().unwrap_or(1);
    let settings = settings();
    let loaded = settings.iter().map(|setting| load(EMPTY, setting, most));
    let loaded = loaded.collect::<Result<Vec<_>, _>>()?;
    let mut runs = vec![0u64; settings.len()];
    let sides = settings.len() * threads.len();
    let run = |side: usize| {
        let (setting, count) = (side / threads.len(), threads[side % threads.len()]);
        runs[setting] += u64::from(count) * u64::from(RUNS);
        run_threads(&loaded[setting].instance, count)
    };
    let values = interleave(Rounds::Repeat(rounds), sides, run, |_| {})?;
    let median = |values: &Vec<f64>| Spread::of(values).map(|spread| spread.median);
    let without: Vec<Option<f64>> = values.iter().take(threads.len()).map(median).collect();
    let row = |(at, of): (usize, &[Vec<f64>])| Cost {
        setting: settings[at].name,
        ns: of.iter().map(|values| Spread::of(values)).collect(),
        above: of
            .iter()
            .zip(&without)
            .map(|(of, without)| Some(median(of)? - (*without)?))
            .collect(),
        threads_ratio: of.last().zip(of.first()).and_then(|(last, first)| Ratio::of(last, first)),
        runs: if settings[at].stats.is_some() { runs[at] } else { 0 },
        run_cnt: loaded[at].instance.stats().run_cnt,
    };
    Ok(values.chunks(threads.len()).enumerate().map(row).collect())
}

/// Threads that start together; ns a run of the slowest, of its own CPU time: who waits for a CPU
/// does not count, who waits for a cache line does.
fn run_threads(instance: &Instance, threads: u32) -> Result<f64, String> {
    let barrier = Barrier::new(threads as usize);
    let run = || {
        // The first run, through the library, gives the thread its counters.
        let ready = Ctx::packet(instance.prog_type(), &udp_packet())
            .and_then(|mut ctx| instance.run(&mut ctx))
            .map_err(|e| e.to_string())
            .and_then(|_| machine::entered(EMPTY, instance));
        barrier.wait();
        let mut runner = ready?;
        let started = thread_ns();
        runner(RUNS - 1)?;
        Ok::<_, String>((thread_ns() - started) / f64::from(RUNS - 1))
    };
    thread::scope(|scope| {
        let runners: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        let mut slowest = 0.0f64;
        for runner in runners {
            slowest = slowest.max(runner.join().map_err(|_| "a thread panicked")??);
        }
        Ok(slowest)
    })
}

/// A compute program that is not counted, called as a function.
#[derive(Debug, Clone, Serialize)]
pub struct Off {
    /// The program.
    pub program: &'static str,
    /// Without sites, with sites, with flags.
    pub engines: Vec<Timed>,
    /// With sites over without.
    pub sites: Option<Ratio>,
    /// With flags over without.
    pub flag: Option<Ratio>,
}

/// Measures what sites cost the compute programs while they are off.
///
/// # Errors
///
/// A program does not run.
pub fn off(rounds: u32) -> Result<Vec<Off>, String> {
    let one = |kind: &Kind| {
        let settings = settings();
        let mut loaded = Vec::new();
        for setting in settings.iter().take(3) {
            let copies = (0..PLACES).map(|_| load(kind, setting, 1));
            loaded.push(copies.collect::<Result<Vec<_>, _>>()?);
        }
        let entrants = settings.iter().zip(&loaded).map(|(setting, copies)| {
            let copies = copies.iter().map(|copy| machine::entered(kind, &copy.instance));
            Entrant::new(setting.name, copies.collect::<Result<_, _>>().map(in_turn))
        });
        let engines = contest(entrants.collect(), rounds, Results::Equal)?;
        let over = |at: usize| engines[at].over(&engines[0]);
        Ok(Off { program: kind.name, sites: over(1), flag: over(2), engines })
    };
    KINDS.iter().map(one).collect()
}

/// The geometric means of what sites and what flags cost.
pub fn off_means(rows: &[Off]) -> [Option<Ratio>; 2] {
    let mean = |of: fn(&Off) -> Option<Ratio>| {
        geometric_mean(&rows.iter().filter_map(of).collect::<Vec<_>>())
    };
    [mean(|row| row.sites.clone()), mean(|row| row.flag.clone())]
}

/// CPU time of this thread, ns.
pub(super) fn thread_ns() -> f64 {
    let now = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    now.map_or(f64::NAN, |now| now.num_nanoseconds() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_counted_at_any_rate() {
        let rows = costs(&[1, 2], 3).unwrap();
        assert_eq!(rows.len(), 7);
        assert!(rows.iter().all(|row| row.runs == row.run_cnt), "{rows:?}");
        assert_eq!(rows.iter().filter(|row| row.runs > 0).count(), 4);
    }
}

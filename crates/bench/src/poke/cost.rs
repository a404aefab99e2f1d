//! The cost of statistics per run: without sites, off, with every run timed, with one in 64 timed;
//! with one thread and with several.

use super::together::together;
use crate::run::engines::{Engine, Results, measure_in_turn};
use crate::run::in_runtime::InRuntime;
use crate::run::objects::{Opened, verify};
use crate::run::{KINDS, Kind, TAIL_CALLS, machine, udp_packet};
use crate::{Ratio, Rounds, Spread, interleave};
use serde::Serialize;
use skep_cli::Error;
use skep_jit::{PokeMode, Tuning};
use skep_runtime::{
    Ctx, Instance, LoadOptions, ObjectMaps, Options, Runtime, StatsGuard, StatsOptions,
};
use skep_verifier::VerifiedProgram;
use std::num::NonZeroU32;

/// Runs of one measurement and thread.
const BLOCK: u32 = 10_000;
const BLOCKS: u32 = 50;
/// One run in this many is timed, unless all are.
pub(super) const SAMPLE: u32 = 64;
/// The program on which costs are measured.
const EMPTY: &Kind = &KINDS[0];

/// How a program is built, and which statistics are on.
pub(super) struct Setting {
    pub(super) name: &'static str,
    sites: bool,
    poke: PokeMode,
    pub(super) stats: Option<StatsOptions>,
}

pub(super) fn settings() -> Vec<Setting> {
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

/// A program that can be loaded repeatedly, each time into a runtime of its own.
pub(super) struct Setup {
    verified: VerifiedProgram,
    maps: ObjectMaps,
    options: LoadOptions,
    runtime: Runtime,
}

impl Setup {
    pub(super) fn new(kind: &Kind, setting: &Setting, threads: u32) -> Result<Setup, Error> {
        let opened = Opened::new(kind.object)?;
        let options = Options { cpus: threads + 2, ..Options::default() };
        let runtime = Runtime::new(options).map_err(Error::caused)?;
        let maps = runtime.create_maps(&opened.object.maps, opened.object.btf.as_ref());
        let tuning = Tuning { sites: setting.sites, poke: setting.poke, ..Tuning::default() };
        let options = LoadOptions { tuning, ..LoadOptions::default() };
        let verified = verify(opened.programs.first().ok_or("no program")?)?;
        Ok(Setup { verified, maps, options, runtime })
    }

    pub(super) fn load(&self) -> Result<Instance, Error> {
        let loaded = self.runtime.load(&self.verified, &self.maps, &self.options);
        loaded.map_err(Error::caused)
    }
}

/// A program with the statistics of a setting.
struct Loaded {
    instance: Instance,
    _on: Option<StatsGuard>,
    _setup: Setup,
}

fn load(setting: &Setting, threads: u32) -> Result<Loaded, Error> {
    let setup = Setup::new(EMPTY, setting, threads)?;
    let instance = setup.load()?;
    let on = setting.stats.map(|stats| setup.runtime.enable_stats(stats)).transpose();
    Ok(Loaded { instance, _on: on.map_err(Error::caused)?, _setup: setup })
}

/// The cost of statistics per run of the empty program, called as a function.
#[derive(Debug, Clone, Serialize)]
pub struct Cost {
    /// Which statistics are on.
    pub setting: &'static str,
    /// ns per run, by number of threads.
    pub ns: Vec<Option<Spread>>,
    /// ns per run above the program without sites, by number of threads.
    pub above: Vec<Option<f64>>,
    /// The last number of threads over the first.
    pub threads_ratio: Option<Ratio>,
    /// Runs with statistics on, which have to be counted.
    pub runs: u64,
    /// The value of `run_cnt`.
    pub run_cnt: u64,
}

/// Measures each setting with each number of threads, all in turn.
///
/// # Errors
///
/// The program does not run.
pub fn costs(threads: &[u32], rounds: u32) -> Result<Vec<Cost>, Error> {
    let most = threads.iter().copied().max().unwrap_or(1);
    let settings = settings();
    let loaded = settings.iter().map(|setting| load(setting, most));
    let loaded = loaded.collect::<Result<Vec<_>, _>>()?;
    let mut runs = vec![0u64; settings.len()];
    let sides = settings.len() * threads.len();
    let run = |side: usize| {
        let (setting, count) = (side / threads.len(), threads[side % threads.len()]);
        let (ns, all) = run_threads(&loaded[setting].instance, count)?;
        runs[setting] += all;
        Ok::<_, Error>(ns)
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

/// ns per run, the mean of the threads, and the total of runs.
fn run_threads(instance: &Instance, threads: u32) -> Result<(f64, u64), Error> {
    let make = |_| {
        // The first run, through the library, allocates the thread's counters.
        let mut ctx = Ctx::packet(instance.prog_type(), &udp_packet()).map_err(Error::caused)?;
        instance.run(&mut ctx).map_err(Error::caused)?;
        let mut runner = machine::entered(EMPTY, instance)?;
        Ok(move || runner(BLOCK).map(drop))
    };
    let (ns, blocks) = together(threads, BLOCKS, make)?;
    Ok((ns / f64::from(BLOCK), blocks * u64::from(BLOCK) + u64::from(threads)))
}

/// The cost of statistics per tail call.
#[derive(Debug, Clone, Serialize)]
pub struct Hop {
    /// Which statistics are on.
    pub setting: &'static str,
    /// ns per tail call, including the run that it starts.
    pub ns: Option<f64>,
    /// The same above the program without sites.
    pub above: Option<f64>,
}

/// The chain of tail calls, the program without any, and the difference in runs.
const CHAIN: (&str, &str, f64) = ("self_const", "base", 33.0);

/// Measures each setting on a chain of tail calls with a constant index.
///
/// # Errors
///
/// The programs do not run.
pub fn hops(rounds: u32) -> Result<Vec<Hop>, Error> {
    let (chain, base, more) = CHAIN;
    let opened = Opened::new(TAIL_CALLS)?;
    let settings = settings();
    let mut loaded = Vec::new();
    for setting in &settings {
        let tuning = Tuning { sites: setting.sites, poke: setting.poke, ..Tuning::default() };
        let programs = InRuntime::new(&opened, &tuning)?;
        let on = setting.stats.map(|stats| programs.enable_stats(stats)).transpose()?;
        loaded.push((programs, on));
    }
    let measure = |program| {
        let candidates = settings.iter().zip(&loaded).map(|(setting, (programs, _))| {
            Engine::new(setting.name, programs.runner(program, &udp_packet()))
        });
        measure_in_turn(candidates.collect(), rounds, Results::Equal)
    };
    let (chain, base) = (measure(chain)?, measure(base)?);
    let hop = |at: usize| Some((chain[at].median()? - base[at].median()?) / more);
    let row = |(at, setting): (usize, &Setting)| Hop {
        setting: setting.name,
        ns: hop(at),
        above: hop(at).zip(hop(0)).map(|(with, without)| with - without),
    };
    Ok(settings.iter().enumerate().map(row).collect())
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

    #[test]
    fn two_clock_reads_are_more_than_none() {
        let rows = hops(5).unwrap();
        assert_eq!(rows.len(), 7);
        assert!(rows[5].above > Some(2.0), "{rows:?}");
    }
}

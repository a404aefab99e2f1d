//! The error of estimated times: each program with every run timed and with one in 64 timed,
//! alternating.
//!
//! Timing takes some ns, which both measure: the minimum of a program's time.

use super::cost::{SAMPLE, Setting, Setup, settings};
use crate::run::{KINDS, Kind, machine};
use crate::{Ratio, Rounds, Spread, interleave};
use serde::Serialize;
use skep_cli::Error;
use skep_runtime::{Ctx, Instance};
use std::time::Instant;

/// Runs of a turn: as many as take this long, but at least some timed ones. It is less than a
/// thread's time slice, so most turns are not interrupted.
const TURN_SECS: f64 = 0.0005;
const RUNS: (u32, u32) = (4 * SAMPLE, 1024 * SAMPLE);

/// `run_time_ns` of a program, with all and with some of its runs timed.
#[derive(Debug, Clone, Serialize)]
pub struct Estimated {
    /// The program.
    pub program: &'static str,
    /// Every run timed, ns per run.
    pub exact_ns: Option<Spread>,
    /// One in 64 timed.
    pub estimate_ns: Option<Spread>,
    /// The estimate over the exact time.
    pub ratio: Option<Ratio>,
}

/// Measures the compute programs.
///
/// # Errors
///
/// A program does not run.
pub fn estimates(rounds: u32) -> Result<Vec<Estimated>, Error> {
    KINDS.iter().map(|kind| one(kind, rounds)).collect()
}

fn one(kind: &Kind, rounds: u32) -> Result<Estimated, Error> {
    let is_asked =
        |setting: &&Setting| ["every run timed", "1 in 64 timed"].contains(&setting.name);
    let settings: Vec<Setting> = settings().into_iter().filter(|one| is_asked(&one)).collect();
    let setups = settings.iter().map(|setting| Setup::new(kind, setting, 1));
    let setups = setups.collect::<Result<Vec<_>, _>>()?;
    let loaded = setups.iter().zip(&settings).map(|(setup, setting)| {
        let instance = setup.load()?;
        let on = setting.stats.map(|stats| instance.enable_stats(stats)).transpose();
        first_run(&instance, kind)?;
        Ok((machine::entered(kind, &instance)?, instance, on.map_err(Error::caused)?))
    });
    let mut loaded = loaded.collect::<Result<Vec<_>, Error>>()?;
    let started = Instant::now();
    loaded[0].0(RUNS.0)?;
    let per_run = started.elapsed().as_secs_f64() / f64::from(RUNS.0);
    let runs = ((TURN_SECS / per_run) as u32).clamp(RUNS.0, RUNS.1);
    let measure = |side: usize| {
        let (runner, instance, _) = &mut loaded[side];
        let before = instance.stats();
        runner(runs)?;
        let since = instance.stats().since(&before);
        since.mean_ns().ok_or_else(|| "not counted".to_owned())
    };
    let values = interleave(Rounds::Repeat(rounds), settings.len(), measure, |_| {})?;
    let at = |name: &str| settings.iter().position(|setting| setting.name.starts_with(name));
    let side = |name: &str| at(name).map(|at| &values[at]).ok_or("no such setting");
    let (exact, estimate) = (side("every")?, side("1 in")?);
    Ok(Estimated {
        program: kind.name,
        exact_ns: Spread::of(exact),
        estimate_ns: Spread::of(estimate),
        ratio: Ratio::of(estimate, exact),
    })
}

/// One run through the library, which allocates the thread's counters.
fn first_run(instance: &Instance, kind: &Kind) -> Result<(), Error> {
    let packet = crate::run::data_of(kind);
    let ctx = Ctx::packet(instance.prog_type(), &packet);
    let ran = ctx.and_then(|mut ctx| instance.run(&mut ctx));
    ran.map(drop).map_err(Error::caused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_times_are_of_the_same_program() {
        let row = one(&KINDS[1], 5).unwrap();
        assert_eq!(row.program, "fib");
        // A loaded machine may interrupt any turn, but not most of them.
        assert!(row.ratio.is_some_and(|ratio| (0.2..5.0).contains(&ratio.value)));
    }
}

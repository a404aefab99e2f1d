//! The gain of each pass: the compute programs, and some that use maps, without it.

use super::compute::verified;
use super::engines::{Engine, Results, Timed, measure_in_turn};
use super::families::{Half, Member};
use super::in_runtime::InRuntime;
use super::objects::Opened;
use super::{FLOW, MAPS, TAIL_CALLS, machine, udp_packet};
use crate::{Ratio, geometric_mean};
use serde::Serialize;
use skep_cli::Error;
use skep_jit::{Passes, Tuning};

/// Programs with maps, by object: they are not in the mean.
const WITH_MAPS: [(&[u8], &str); 6] = [
    (MAPS, "array_lookup"),
    (MAPS, "percpu_lookup"),
    (MAPS, "hash_lookup"),
    (MAPS, "hash_update"),
    (TAIL_CALLS, "xdp1"),
    (FLOW, "parse_eth"),
];

/// The gain of one pass.
#[derive(Debug, Clone, Serialize)]
pub struct Pass {
    /// Its name; `all` is all passes together.
    pub name: &'static str,
    /// The geometric mean over the compute programs: time without the pass over time with all.
    pub without: Ratio,
    /// Each program that may be shown, including those with maps.
    pub programs: Vec<(String, Ratio)>,
    /// How many of these are in the mean, which also contains held-out ones.
    counted: usize,
}

impl Pass {
    /// The program that gains most.
    pub fn most(&self) -> Option<&(String, Ratio)> {
        self.programs.iter().max_by(|a, b| a.1.value.total_cmp(&b.1.value))
    }

    /// The compute program that gains least: below 1 it is faster without the pass.
    pub fn least(&self) -> Option<&(String, Ratio)> {
        self.programs.iter().take(self.counted).min_by(|a, b| a.1.value.total_cmp(&b.1.value))
    }
}

/// Compilations: all passes, all but one, none.
fn tunings() -> Vec<(&'static str, Tuning)> {
    let mut tunings = vec![("", Tuning::default())];
    for &name in Passes::NAMES {
        let mut tuning = Tuning::default();
        if let Some(switch) = tuning.passes.by_name(name) {
            *switch = false;
        }
        tunings.push((name, tuning));
    }
    tunings.push(("all", Tuning { passes: Passes::NONE, ..Tuning::default() }));
    tunings
}

/// Measures every pass.
///
/// # Errors
///
/// A program does not run, or results differ.
pub fn passes(
    members: &[Member],
    rounds: u32,
    mut progress: impl FnMut(f64),
) -> Result<Vec<Pass>, Error> {
    let tunings = tunings();
    let programs = (members.len() + WITH_MAPS.len()) as f64;
    let mut rows: Vec<(String, Vec<Timed>)> = Vec::new();
    // Those that may be shown come first.
    let (shown, held): (Vec<_>, Vec<_>) = members.iter().partition(|m| m.half == Half::Tuned);
    for Member { kind, .. } in shown.iter().chain(&held) {
        let (opened, verified) = verified(kind)?;
        let maps = &*opened.object.maps;
        let candidates = tunings
            .iter()
            .map(|(name, tuning)| Engine::new(*name, machine::skep(kind, &verified, maps, tuning)));
        rows.push((
            kind.name.to_owned(),
            measure_in_turn(candidates.collect(), rounds, Results::Equal)?,
        ));
        progress(rows.len() as f64 / programs);
    }
    for (object, name) in WITH_MAPS {
        let opened = Opened::new(object)?;
        let runtimes = tunings.iter().map(|(_, tuning)| InRuntime::new(&opened, tuning));
        let runtimes = runtimes.collect::<Result<Vec<_>, _>>()?;
        for runtime in &runtimes {
            super::maps::fill(runtime)?;
        }
        let packet = udp_packet();
        let candidates = tunings
            .iter()
            .zip(&runtimes)
            .map(|((pass, _), runtime)| Engine::new(*pass, runtime.runner(name, &packet)));
        rows.push((
            name.to_owned(),
            measure_in_turn(candidates.collect(), rounds, Results::Equal)?,
        ));
        progress(rows.len() as f64 / programs);
    }
    let pass = |(at, (name, _)): (usize, &(&'static str, Tuning))| {
        let mut programs: Vec<(String, Ratio)> = rows
            .iter()
            .filter_map(|(program, sides)| Some((program.clone(), sides[at].over(&sides[0])?)))
            .collect();
        let mean: Vec<Ratio> =
            programs.iter().take(members.len()).map(|(_, r)| r.clone()).collect();
        programs.drain(shown.len()..members.len());
        Some(Pass { name, without: geometric_mean(&mean)?, programs, counted: shown.len() })
    };
    Ok(tunings.iter().enumerate().skip(1).filter_map(pass).collect())
}

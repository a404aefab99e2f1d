//! What each pass is worth: the compute programs, and some that use maps, without it.

use super::compute::verified;
use super::contest::{Entrant, Results, Timed, contest};
use super::entrants::InRuntime;
use super::objects::Opened;
use super::{FLOW, KINDS, MAPS, TAIL_CALLS, machine, udp_packet};
use crate::{Ratio, geometric_mean};
use serde::Serialize;
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

/// What one pass is worth.
#[derive(Debug, Clone, Serialize)]
pub struct Pass {
    /// Its name; `all` is every pass.
    pub name: &'static str,
    /// The geometric mean over the compute programs: time without the pass, over that with all.
    pub without: Ratio,
    /// Each program, those with maps too.
    pub programs: Vec<(String, Ratio)>,
}

impl Pass {
    /// The program that needs it most.
    pub fn most(&self) -> Option<&(String, Ratio)> {
        self.programs.iter().max_by(|a, b| a.1.value.total_cmp(&b.1.value))
    }

    /// The compute program that needs it least: below 1 it is better off without.
    pub fn least(&self) -> Option<&(String, Ratio)> {
        self.programs.iter().take(KINDS.len()).min_by(|a, b| a.1.value.total_cmp(&b.1.value))
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
pub fn passes(rounds: u32, mut progress: impl FnMut(f64)) -> Result<Vec<Pass>, String> {
    let tunings = tunings();
    let programs = (KINDS.len() + WITH_MAPS.len()) as f64;
    let mut rows: Vec<(String, Vec<Timed>)> = Vec::new();
    for kind in &KINDS {
        let (_, verified) = verified(kind)?;
        let entrants = tunings
            .iter()
            .map(|(name, tuning)| Entrant::new(*name, machine::skep(kind, &verified, tuning)));
        rows.push((kind.name.to_owned(), contest(entrants.collect(), rounds, Results::Equal)?));
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
        let entrants = tunings
            .iter()
            .zip(&runtimes)
            .map(|((pass, _), runtime)| Entrant::new(*pass, runtime.runner(name, &packet)));
        rows.push((name.to_owned(), contest(entrants.collect(), rounds, Results::Equal)?));
        progress(rows.len() as f64 / programs);
    }
    let pass = |(at, (name, _)): (usize, &(&'static str, Tuning))| {
        let programs: Vec<(String, Ratio)> = rows
            .iter()
            .filter_map(|(program, sides)| Some((program.clone(), sides[at].over(&sides[0])?)))
            .collect();
        let mean: Vec<Ratio> = programs.iter().take(KINDS.len()).map(|(_, r)| r.clone()).collect();
        Some(Pass { name, without: geometric_mean(&mean)?, programs })
    };
    Ok(tunings.iter().enumerate().skip(1).filter_map(pass).collect())
}

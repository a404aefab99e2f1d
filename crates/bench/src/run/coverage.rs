//! The cost of coverage counters in machine code: all compute programs with and without.

use super::engines::{Engine, Results, Timed, measure_in_turn};
use super::families::{Half, Member};
use super::{compute::verified, machine};
use crate::Ratio;
use serde::Serialize;
use skep_cli::Error;
use skep_jit::Tuning;

/// A compute program, called as a function.
#[derive(Debug, Clone, Serialize)]
pub struct Covered {
    /// The program.
    pub program: &'static str,
    /// Whether it is held out, so that only its ratio is shown.
    pub held: bool,
    /// Without, with.
    pub engines: Vec<Timed>,
    /// With over without.
    pub factor: Option<Ratio>,
    /// The same for programs with fuel.
    pub with_fuel: Option<Ratio>,
}

/// Measures all of them.
///
/// # Errors
///
/// A program does not run, or results differ.
pub fn covered(members: &[Member], rounds: u32) -> Result<Vec<Covered>, Error> {
    let one = |Member { kind, half, .. }: &Member| {
        let (opened, verified) = verified(kind)?;
        let maps = &*opened.object.maps;
        let both = |fuel| {
            let tuning = Tuning { fuel, ..Tuning::default() };
            let candidates = vec![
                Engine::new("plain", machine::skep(kind, &verified, maps, &tuning)),
                Engine::new("counting", machine::counting(kind, &verified, maps, &tuning)),
            ];
            let engines = measure_in_turn(candidates, rounds, Results::Equal)?;
            let factor = engines[1].over(&engines[0]);
            Ok::<_, Error>((engines, factor))
        };
        let (engines, factor) = both(false)?;
        let (_, with_fuel) = both(true)?;
        let held = *half == Half::Held;
        Ok(Covered { program: kind.name, held, engines, factor, with_fuel })
    };
    members.iter().map(one).collect()
}

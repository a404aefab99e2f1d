//! The cost of sites while all are off, independent of code placement.
//!
//! Placement changes the time of some programs by a tenth: branch predictors index by address. So a
//! program is measured at many random places, at each without sites, with sites and with flags, all
//! three at the same address: they are loaded there alternately, for each slice of time, so that
//! the same branches have the same addresses.

use super::cost::{Setting, Setup, settings};
use crate::run::engines::{Engine, Results, Timed, measure_in_turn};
use crate::run::{KINDS, Kind, machine};
use crate::{Ratio, geometric_mean};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde::Serialize;
use skep_cli::Error;
use skep_runtime::{Instance, placed_code};
use skep_text::BareCode;
use std::cell::Cell;

/// Turns of each variant per place.
const TURNS: u32 = 5;
/// The same places in every run.
const SEED: u64 = 0x0ff;
/// Code after a site begins a line.
const LINE: u64 = 64;
/// Maximum number of lines between places.
const LINES: u64 = 4096;
/// Attempts to reach a place: memory freed elsewhere is used first.
const ATTEMPTS: u32 = 64;

/// A compute program without statistics, called as a function.
#[derive(Debug, Clone, Serialize)]
pub struct Off {
    /// The program.
    pub program: &'static str,
    /// Places, and at how many of them all had the same address.
    pub places: (u32, u32),
    /// Without sites, with sites, with flags; one value per place.
    pub engines: Vec<Timed>,
    /// With sites over without: the median of places.
    pub sites: Option<Ratio>,
    /// With flags over without.
    pub flag: Option<Ratio>,
}

/// Measures the cost of disabled sites in the compute programs, at this many places.
///
/// # Errors
///
/// A program does not run.
pub fn off(places: u32) -> Result<Vec<Off>, Error> {
    KINDS.iter().map(|kind| one(kind, places)).collect()
}

fn one(kind: &Kind, places: u32) -> Result<Off, Error> {
    let settings: Vec<Setting> = settings().into_iter().take(3).collect();
    let setups = settings.iter().map(|setting| Setup::new(kind, setting, 1));
    let setups = setups.collect::<Result<Vec<_>, _>>()?;
    let longest = setups.iter().map(|setup| Ok(length(&setup.load()?)));
    let longest = longest.collect::<Result<Vec<_>, Error>>()?.into_iter().max().unwrap_or(0);
    let mut lot = StdRng::seed_from_u64(SEED);
    let mut values = vec![Vec::new(); setups.len()];
    let mut same = 0;
    for _ in 0..places {
        let _between = filler(LINE * lot.random_range(1..LINES))?;
        let room = filler(longest + 2 * LINE)?;
        let wanted = room.address(0).next_multiple_of(LINE) + LINE;
        drop(room);
        let elsewhere = Cell::new(false);
        let candidates = settings
            .iter()
            .zip(&setups)
            .map(|(setting, setup)| {
                let run = |runs| {
                    let instance = place(setup, wanted)?;
                    elsewhere.set(elsewhere.get() || behind_site(&instance) != Some(wanted));
                    machine::entered(kind, &instance)?(runs)
                };
                Engine::new(setting.name, Ok(Box::new(run)))
            })
            .collect();
        let timed = measure_in_turn(candidates, TURNS, Results::Equal)?;
        same += u32::from(!elsewhere.get());
        for (values, timed) in values.iter_mut().zip(timed) {
            values.push(timed.median().ok_or("not run")?);
        }
    }
    let over = |at: usize| {
        let ratios: Vec<f64> =
            values[at].iter().zip(&values[0]).map(|(with, without)| with / without).collect();
        Ratio::of(&ratios, &vec![1.0; ratios.len()])
    };
    let (sites, flag) = (over(1), over(2));
    let engines = settings.iter().zip(values).map(|(of, values)| Timed::of(of.name, values));
    let engines = engines.collect();
    Ok(Off { program: kind.name, places: (places, same), sites, flag, engines })
}

fn length(instance: &Instance) -> u64 {
    instance.machine_code().map_or(0, |code| code.bytes().len() as u64)
}

/// Code that is never executed.
fn filler(bytes: u64) -> Result<BareCode, Error> {
    BareCode::new(&vec![0xcc; bytes as usize]).map_err(Error::caused)
}

/// Address of the program after the site.
fn behind_site(instance: &Instance) -> Option<u64> {
    Some(placed_code(instance)?.tail_entry().next_multiple_of(LINE))
}

/// Loads a program at an address, one line after the start of free space; elsewhere if that fails.
fn place(setup: &Setup, wanted: u64) -> Result<Instance, Error> {
    let (mut between, mut others) = (Vec::new(), Vec::new());
    for _ in 0..ATTEMPTS {
        let instance = setup.load()?;
        match behind_site(&instance) {
            None => return Ok(instance),
            Some(found) if found == wanted => return Ok(instance),
            // Without a site, it lacks the code in front of one.
            Some(found) if found + LINE == wanted => {
                drop(instance);
                between.push(filler(LINE)?);
            }
            // Memory freed elsewhere.
            Some(_) => others.push(instance),
        }
    }
    setup.load()
}

/// The geometric means of the cost of sites and of flags.
pub fn off_means(rows: &[Off]) -> [Option<Ratio>; 2] {
    let mean = |of: fn(&Off) -> Option<Ratio>| {
        geometric_mean(&rows.iter().filter_map(of).collect::<Vec<_>>())
    };
    [mean(|row| row.sites.clone()), mean(|row| row.flag.clone())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_measured_at_each_place() {
        let row = one(&KINDS[0], 4).unwrap();
        // Other tests load code at the same time, and may get an address first.
        let (places, same) = row.places;
        assert_eq!((row.program, places), ("empty", 4));
        assert!((1..=4).contains(&same), "{same}");
        assert!(row.engines.iter().all(|engine| engine.ns.is_some_and(|ns| ns.count == 4)));
        assert!(row.sites.is_some() && row.flag.is_some());
    }
}

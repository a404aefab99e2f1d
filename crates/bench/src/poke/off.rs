//! What sites cost programs while nothing is on, wherever code stands.
//!
//! Where a loop or a branch lies in the lines and sets of the caches moves the time of some
//! programs by more than a site does. So a program is compiled again and again, at places drawn by
//! lot, and at each place without sites, with sites and with flags, whose code behind the site lies
//! at one distance from a page; what is compared is the time at one place.

use super::cost::{Setting, Setup, settings};
use crate::run::contest::{Entrant, Results, Timed, contest};
use crate::run::{KINDS, Kind, machine};
use crate::{Ratio, geometric_mean};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde::Serialize;
use skep_jit::BareCode;
use skep_runtime::Instance;

/// Turns of each at a place.
const TURNS: u32 = 5;
/// The same places in every run.
const SEED: u64 = 0x0ff;
/// Code behind a site begins a line.
const LINE: u64 = 64;
/// Lines in a page.
const LINES: u64 = 64;
/// Pages between programs, at most: which page it is matters to predictors of jumps.
const PAGES: u64 = 64;
/// Attempts to come to a place: memory that was given back is used first, and others take some.
const ATTEMPTS: u32 = 64;

/// A compute program that is not counted, called as a function.
#[derive(Debug, Clone, Serialize)]
pub struct Off {
    /// The program.
    pub program: &'static str,
    /// Places, and how many of them are the same for all, within a page.
    pub places: (u32, u32),
    /// Without sites, with sites, with flags; values are those of places.
    pub engines: Vec<Timed>,
    /// With sites over without: the median of places.
    pub sites: Option<Ratio>,
    /// With flags over without.
    pub flag: Option<Ratio>,
}

/// Measures what sites cost the compute programs while they are off, at so many places.
///
/// # Errors
///
/// A program does not run.
pub fn off(places: u32) -> Result<Vec<Off>, String> {
    KINDS.iter().map(|kind| one(kind, places)).collect()
}

fn one(kind: &Kind, places: u32) -> Result<Off, String> {
    let settings: Vec<Setting> = settings().into_iter().take(3).collect();
    let setups = settings.iter().map(|setting| Setup::new(kind, setting, 1));
    let setups = setups.collect::<Result<Vec<_>, _>>()?;
    let mut lot = StdRng::seed_from_u64(SEED);
    let mut values = vec![Vec::new(); setups.len()];
    let mut same = 0;
    for _ in 0..places {
        let wanted = LINE * lot.random_range(0..LINES);
        let placed = setups.iter().map(|setup| place(setup, wanted, lot.random_range(0..PAGES)));
        let placed = placed.collect::<Result<Vec<_>, _>>()?;
        same += u32::from(placed.iter().all(|instance| behind_site(instance) == Some(wanted)));
        let entrants = settings
            .iter()
            .zip(&placed)
            .map(|(setting, instance)| Entrant::new(setting.name, machine::entered(kind, instance)))
            .collect();
        let timed = contest(entrants, TURNS, Results::Equal)?;
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

/// Where in its page the program behind the site stands.
fn behind_site(instance: &Instance) -> Option<u64> {
    let entry = instance.machine_code()?.tail_entry();
    Some(entry.next_multiple_of(LINE) % (LINE * LINES))
}

/// Loads a program so that it stands at a place in its page, some pages away from others.
fn place(setup: &Setup, wanted: u64, pages: u64) -> Result<Instance, String> {
    let page = LINE * LINES;
    let filler = |bytes: u64| {
        BareCode::new(&vec![0xcc; bytes.max(LINE) as usize]).map_err(|e| e.to_string())
    };
    let mut between = vec![filler(pages * page)?];
    let mut others = Vec::new();
    loop {
        let instance = setup.load()?;
        let Some(found) = behind_site(&instance) else { return Ok(instance) };
        if found == wanted || others.len() as u32 == ATTEMPTS {
            return Ok(instance);
        }
        // Another one would stand right behind it: what is between leads to the place.
        let bytes = instance.machine_code().map_or(0, |code| code.bytes().len() as u64);
        let next = (found + bytes.next_multiple_of(LINE)) % page;
        let gap = (wanted + page - next) % page;
        if gap > 0 {
            between.push(filler(gap)?);
        }
        others.push(instance);
    }
}

/// The geometric means of what sites and what flags cost.
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
    fn all_stand_at_one_place() {
        for setting in settings().iter().take(3) {
            let setup = Setup::new(&KINDS[1], setting, 1).unwrap();
            for line in [0, 17, 63] {
                let instance = place(&setup, LINE * line, line).unwrap();
                assert_eq!(behind_site(&instance), Some(LINE * line), "{}", setting.name);
            }
        }
    }

    #[test]
    fn a_program_is_measured_at_each_place() {
        let row = one(&KINDS[0], 4).unwrap();
        assert_eq!((row.program, row.places), ("empty", (4, 4)));
        assert!(row.engines.iter().all(|engine| engine.ns.is_some_and(|ns| ns.count == 4)));
        assert!(row.sites.is_some() && row.flag.is_some());
    }
}

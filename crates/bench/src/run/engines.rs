//! Several engines run the same program in turn, and are timed.

use crate::{Ratio, Rounds, Spread, interleave};
use serde::Serialize;
use skep_cli::Error;

/// Runs its program that many times: the last result and the time, ns a run.
pub type Runner<'a> = Box<dyn FnMut(u32) -> Result<(u64, f64), Error> + 'a>;

/// How long an engine runs before the next one does, ns. Short slices are in the same round, so
/// that a disturbance of the machine affects all engines.
const SLICE_NS: f64 = 5e5;
/// Runs from which the length of a slice is estimated.
const ESTIMATE_RUNS: u32 = 200;

/// An engine that is ready to run, or the reason why it is not.
pub struct Engine<'a> {
    /// Name of the engine.
    pub name: String,
    /// What runs the program.
    pub runner: Result<Runner<'a>, Error>,
}

impl<'a> Engine<'a> {
    /// An engine.
    pub fn new(name: impl Into<String>, runner: Result<Runner<'a>, Error>) -> Engine<'a> {
        Engine { name: name.into(), runner }
    }
}

/// The time of one engine.
#[derive(Debug, Clone, Serialize)]
pub struct Timed {
    /// Name of the engine.
    pub engine: String,
    /// ns a run.
    pub ns: Option<Spread>,
    /// Why there is no time.
    pub not_run: Option<String>,
    /// By round.
    #[serde(skip)]
    values: Vec<f64>,
}

impl Timed {
    /// From values measured elsewhere.
    pub fn of(engine: &str, values: Vec<f64>) -> Timed {
        Timed { engine: engine.to_owned(), ns: Spread::of(&values), not_run: None, values }
    }

    /// The median, ns a run.
    pub fn median(&self) -> Option<f64> {
        self.ns.map(|ns| ns.median)
    }

    /// The ratio of this time to another.
    pub fn over(&self, other: &Timed) -> Option<Ratio> {
        self.ns.and(other.ns)?;
        Ratio::of(&self.values, &other.values)
    }
}

/// Copies of a program at different addresses: the effect of the address may be larger than the
/// effect to be measured.
pub const PLACES: usize = 7;

/// Runs copies of a program in turn.
pub fn in_turn<'a>(mut copies: Vec<Runner<'a>>) -> Runner<'a> {
    let mut at = 0;
    Box::new(move |runs| {
        at = (at + 1) % copies.len().max(1);
        copies.get_mut(at).ok_or("no copies")?(runs)
    })
}

/// Whether the results of all engines must be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Results {
    /// Yes.
    Equal,
    /// No: they depend on the contents of the engine's maps, or on the processor.
    Free,
}

/// Measures the engines in turn, except those that cannot run the program.
///
/// # Errors
///
/// The results differ, or an engine fails while it runs.
pub fn measure_in_turn(
    candidates: Vec<Engine<'_>>,
    rounds: u32,
    results: Results,
) -> Result<Vec<Timed>, Error> {
    let mut first: Option<(u64, String)> = None;
    let mut runners = Vec::new();
    let mut timed = Vec::new();
    for Engine { name, runner } in candidates {
        let not_run = runner.as_ref().err().map(Error::to_string);
        if let Ok(mut runner) = runner {
            let (result, ns) = runner(ESTIMATE_RUNS).map_err(|e| Error::at(&name, e))?;
            let (expected, by) = first.get_or_insert_with(|| (result, name.clone()));
            if results == Results::Equal && *expected != result {
                let (expected, by) = (*expected, by.clone());
                return Err(format!("{name} gives {result:#x}, {by} {expected:#x}").into());
            }
            let count = (SLICE_NS / ns.max(1.0)) as u32 + 1;
            runners.push((timed.len(), runner, count));
        }
        timed.push(Timed { engine: name, ns: None, not_run, values: Vec::new() });
    }
    let run = |side: usize| {
        let (_, runner, count) = &mut runners[side];
        runner(*count).map(|(_, ns)| ns)
    };
    let sides: Vec<usize> = timed
        .iter()
        .enumerate()
        .filter_map(|(at, timed)| timed.not_run.is_none().then_some(at))
        .collect();
    let values = interleave(Rounds::Repeat(rounds), sides.len(), run, |_| {})?;
    for (at, values) in sides.into_iter().zip(values) {
        timed[at].ns = Spread::of(&values);
        timed[at].values = values;
    }
    Ok(timed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine(name: &str, result: u64, ns: f64) -> Engine<'static> {
        Engine::new(name, Ok(Box::new(move |_| Ok((result, ns)))))
    }

    #[test]
    fn who_cannot_run_is_named_with_the_reason() {
        let absent = Engine::new("c", Err("no".into()));
        let all = vec![engine("a", 7, 2.0), absent, engine("b", 7, 3.0)];
        let timed = measure_in_turn(all, 9, Results::Equal).unwrap();
        assert_eq!(timed[2].median(), Some(3.0));
        assert_eq!(timed[2].over(&timed[0]).unwrap().value, 1.5);
        assert_eq!(timed[1].not_run.as_deref(), Some("no"));
        assert!(timed[1].over(&timed[0]).is_none());
    }

    #[test]
    fn different_results_are_an_error() {
        let two = || vec![engine("a", 7, 2.0), engine("b", 8, 2.0)];
        assert_eq!(
            measure_in_turn(two(), 9, Results::Equal).unwrap_err().to_string(),
            "b gives 0x8, a 0x7"
        );
        assert!(measure_in_turn(two(), 9, Results::Free).is_ok());
    }
}

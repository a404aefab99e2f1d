//! What is measured of skep: [`verify`] of a loaded program, without reading files and BTF and
//! relocating.

use serde::{Deserialize, Serialize};
use skep_cli::Error;
use skep_program::Program;
use skep_verifier::{Config, FastPaths, Outcome, Verdict};

/// Counts that must be the same on both sides of a comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// The program is accepted.
    pub accepted: bool,
    /// `processed N insns`.
    pub insns: u64,
    /// `total_states`.
    pub states: u64,
    /// `peak_states`.
    pub peak_states: u64,
}

/// Verifies a program. Not inlined, because callgrind counts in this function only.
#[inline(never)]
pub fn verify(program: &Program, config: &Config) -> Outcome {
    skep_verifier::verify(program, config)
}

/// The counts of an outcome.
///
/// # Errors
///
/// There is no verdict: the program needs an unsupported feature, or there is a bug.
pub fn counts(outcome: &Outcome) -> Result<Counts, Error> {
    match &outcome.verdict {
        Verdict::Unsupported(what) => return Err(format!("not supported yet: {what}").into()),
        Verdict::OutOfMemory => return Err("over its memory limit".into()),
        Verdict::Bug(what) => return Err(format!("internal error: {what}").into()),
        Verdict::Accepted(_) | Verdict::Rejected(_) => {}
    }
    Ok(Counts {
        accepted: matches!(outcome.verdict, Verdict::Accepted(_)),
        insns: outcome.stats.insns_processed.into(),
        states: outcome.stats.total_states.into(),
        peak_states: outcome.stats.peak_states.into(),
    })
}

/// A counter that only our verifier has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    /// Its name in the verifier's statistics.
    pub name: String,
    /// Events, or bytes where the name begins with `mem_`.
    pub value: u64,
}

/// How often the fast paths of `Tuning` ran, and the peak bytes of each kind.
pub fn counters(outcome: &Outcome) -> Vec<Counter> {
    let FastPaths {
        idmap_resets,
        idmap_resets_counter,
        states_saved,
        states_recycled,
        backtracks,
        backtracks_skipped,
        backtracked_insns,
    } = outcome.stats.fast_paths;
    let counter = |name: &str, value| Counter { name: name.to_owned(), value };
    let mut all = vec![
        counter("idmap_resets", idmap_resets),
        counter("idmap_resets_counter", idmap_resets_counter),
        counter("states_saved", states_saved),
        counter("states_recycled", states_recycled),
        counter("backtracks", backtracks),
        counter("backtracks_skipped", backtracks_skipped),
        counter("backtracked_insns", backtracked_insns),
        counter("mem_peak_bytes", outcome.stats.mem_peak.total()),
    ];
    let part = |(name, bytes): (&str, u64)| counter(&format!("mem_{name}"), bytes);
    all.extend(outcome.stats.mem_peak.parts().map(part));
    all
}

impl Counts {
    /// The parts of `accepted, 7,453 insns, 874 states` that differ; empty if none does.
    pub fn difference(&self, other: &Counts) -> String {
        let mut parts = Vec::new();
        if self.accepted != other.accepted {
            let word = |accepted| if accepted { "accepted" } else { "refused" };
            parts.push(format!("verdict {}/{}", word(self.accepted), word(other.accepted)));
        }
        for (what, a, b) in [
            ("insns", self.insns, other.insns),
            ("states", self.states, other.states),
            ("peak states", self.peak_states, other.peak_states),
        ] {
            if a != b {
                parts.push(format!("{what} {a}/{b}"));
            }
        }
        parts.join(", ")
    }
}

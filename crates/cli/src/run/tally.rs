//! Results of the inputs, counted while they run, so that memory use does not depend on the length
//! of the capture.

use super::effects::Effects;
use skep::runtime::Redirect;
use std::collections::BTreeMap;
use std::time::Duration;

/// Number of printed errors about single packets; further ones are counted.
const ERRORS_SHOWN: usize = 10;

/// Number of distinct results, and targets of redirects, that are counted separately.
const DISTINCT_MAX: usize = 4_096;

/// Result of one input.
pub(super) struct Run {
    pub(super) retval: u32,
    /// The whole register.
    pub(super) r0: u64,
    /// Insns of the last run, if they were counted.
    pub(super) insns: Option<u64>,
    /// Units of fuel of the last run, if it had any.
    pub(super) fuel: Option<u64>,
    /// The packet or the context, if requested.
    pub(super) packet: Vec<u8>,
    pub(super) redirect: Option<Redirect>,
    /// Other effects, if requested.
    pub(super) effects: Effects,
}

impl Run {
    /// The register has more bits than the result.
    pub(super) fn is_wide(&self) -> bool {
        self.r0 >> 32 != 0 && self.r0 >> 31 != 0x1_ffff_ffff
    }
}

/// The results of all inputs, or of those of one thread.
#[derive(Default)]
pub(super) struct Tally {
    /// The last run of the only input.
    pub(super) only: Option<Run>,
    /// Inputs that ran.
    pub(super) ran: u64,
    pub(super) retvals: Counts<u32>,
    pub(super) redirects: Counts<String>,
    pub(super) errors: Errors,
    /// Time in the program, all threads together.
    pub(super) time: Duration,
    /// Runs that this is the time of.
    pub(super) runs: u64,
}

impl Tally {
    /// Counts a packet that ran.
    pub(super) fn count(&mut self, run: &Run) {
        self.ran += 1;
        self.retvals.add(run.retval, 1);
        let target = match &run.redirect {
            Some(Redirect::Interface { ifindex, .. }) => format!("to interface {ifindex}"),
            Some(Redirect::Map { map_id, key, .. }) => format!("by map {map_id}, key {key}"),
            None => return,
        };
        self.redirects.add(target, 1);
    }

    /// Adds another thread's results.
    pub(super) fn add(&mut self, other: Tally) {
        self.ran += other.ran;
        self.time += other.time;
        self.runs += other.runs;
        self.retvals.merge(other.retvals);
        self.redirects.merge(other.redirects);
        self.errors.merge(other.errors);
        self.only = self.only.take().or(other.only);
    }
}

/// How often each key occurred.
#[derive(Default)]
pub(super) struct Counts<K> {
    pub(super) by_key: BTreeMap<K, u64>,
    /// Occurrences of further keys when the table was full.
    pub(super) others: u64,
}

impl<K: Ord> Counts<K> {
    fn add(&mut self, key: K, count: u64) {
        if let Some(place) = self.by_key.get_mut(&key) {
            *place += count;
        } else if self.by_key.len() < DISTINCT_MAX {
            self.by_key.insert(key, count);
        } else {
            self.others += count;
        }
    }

    fn merge(&mut self, other: Counts<K>) {
        other.by_key.into_iter().for_each(|(key, count)| self.add(key, count));
        self.others += other.others;
    }
}

/// The first errors, and the total number.
#[derive(Default)]
pub(super) struct Errors {
    /// Number of the input, from 1, and the error.
    pub(super) first: Vec<(u64, String)>,
    pub(super) count: u64,
}

impl Errors {
    /// Adds an error; errors come in the order of the inputs.
    pub(super) fn push(&mut self, number: u64, what: String) {
        self.count += 1;
        if self.first.len() < ERRORS_SHOWN {
            self.first.push((number, what));
        }
    }

    /// All of them are of one input.
    pub(super) fn keep_one(&mut self) {
        self.first.truncate(1);
        self.count = self.first.len() as u64;
    }

    fn merge(&mut self, other: Errors) {
        self.count += other.count;
        self.first.extend(other.first);
        self.first.sort();
        self.first.truncate(ERRORS_SHOWN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_and_what_is_counted_is_not() {
        let part = |from: u32| {
            let mut part = Tally::default();
            for retval in from..from + 3_000 {
                part.retvals.add(retval, 2);
                part.errors.push((from + retval).into(), "wrong".to_owned());
            }
            part
        };
        let mut all = part(2_000);
        all.add(part(0));
        let counted: u64 = all.retvals.by_key.values().sum();
        assert_eq!((all.retvals.by_key.len(), counted + all.retvals.others), (4_096, 12_000));
        assert_eq!(all.retvals.by_key[&2_500], 4);
        let first: Vec<u64> = all.errors.first.iter().map(|(number, _)| *number).collect();
        assert_eq!((first, all.errors.count), ((0..10).collect(), 6_000));
    }
}

//! On which releases that were not tested a rule is known to hold.

use super::{Behaviour, Shows, holds};
use crate::column::{COLUMNS, Column, Standing, UPDATES};

impl Behaviour {
    /// Whether it holds on a release, if that is known: for a tested kernel or another of its
    /// series, or one between others that agree.
    pub fn known_on(&self, release: &str) -> Option<bool> {
        let standing = Standing::of(release);
        let [here, there] = standing.columns().map(|at| holds(self.marks, at));
        let later = match standing {
            Standing::Mended([_, last]) => self.holds_if_mended(last),
            _ => there,
        };
        (here == there && there == later && !standing.is_beyond()).then_some(here)
    }

    /// Whether it holds on a kernel with the rules of this column, and what was mended later: what
    /// a later kernel refuses, and what updates of any series made as it is on the newest kernel.
    pub(super) fn holds_if_mended(&self, column: usize) -> bool {
        let refuses = match self.shows {
            Shows::Accepted => Some(false),
            Shows::Refused | Shows::Says(_) => Some(true),
            Shows::Insns(_) | Shows::Peak(_) => None,
        };
        let value = |at: usize| holds(self.marks, at);
        let [here, newest] = [column, COLUMNS.len() - 1].map(value);
        if refuses == Some(!here) && (column + 1..COLUMNS.len()).any(|at| value(at) != here) {
            return !here;
        }
        let was_updated = UPDATES.iter().any(|it| it.map(value) == [!newest, newest]);
        if was_updated { newest } else { here }
    }

    /// The tested kernels between which it began, or ceased, to hold after a release on which it
    /// does not, or does, as `here` says: the last one that is like it, and the next one.
    pub fn changed_after(&self, release: &str, here: bool) -> Option<[&'static str; 2]> {
        let [_, from] = Standing::of(release).columns();
        let is_like = |at: usize| holds(self.marks, at) == here;
        let mut after = COLUMNS.iter().enumerate().skip(from).filter(|_| is_like(from));
        let (next, to) = after.find(|(at, _)| !is_like(*at))?;
        let last = COLUMNS.get(next.checked_sub(1)?)?;
        Some([last, to].map(Column::exact_name))
    }
}

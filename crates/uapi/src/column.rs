//! The tested kernels, in order, and which of them represent another release.

use std::cmp::Ordering;
use std::sync::LazyLock;

/// A tested kernel.
pub(crate) struct Column {
    /// The prefix of its release.
    pub(crate) release: &'static str,
    pub(crate) name: &'static str,
    series: [u32; 2],
    /// Whose builds its release counts, if it does not give the patch level.
    counted_by: Option<Distribution>,
    /// The patch level of such a build, where it is known.
    patch: Option<u32>,
    /// Whether it is among the first of its series.
    is_early: bool,
}

/// A distribution that counts builds of one patch level: `5.10.0-46-amd64`. Only its own builds can
/// be put in order by that.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Distribution {
    Debian,
    Ubuntu,
}

/// The numbers that a release begins with.
type Numbers = [u32; 4];

const fn column(release: &'static str, name: &'static str, series: [u32; 2]) -> Column {
    Column { release, name, series, counted_by: None, patch: None, is_early: false }
}

impl Column {
    const fn debian(self, patch: u32) -> Column {
        Column { counted_by: Some(Distribution::Debian), patch: Some(patch), ..self }
    }

    const fn ubuntu(self) -> Column {
        Column { counted_by: Some(Distribution::Ubuntu), ..self }
    }

    const fn patch(self, patch: u32) -> Column {
        Column { patch: Some(patch), ..self }
    }

    const fn early(self) -> Column {
        Column { is_early: true, ..self }
    }

    /// `6.12.117`.
    pub(crate) fn exact_name(&self) -> &'static str {
        self.release.trim_end_matches(['-', '+'])
    }

    /// Whether the other one is a later build of the same series and distribution.
    fn is_updated_by(&self, other: &Column) -> bool {
        let is_later = self.build().compare(other.build()) == Some(Ordering::Less);
        self.series == other.series && self.counted_by == other.counted_by && is_later
    }

    /// Whether it has so many updates that it has fixes from after the next series began.
    fn is_late(&self) -> bool {
        self.build().patch.is_some_and(|patch| patch >= LATE)
    }

    fn build(&self) -> Build {
        let [_, _, patch, count] = numbers(self.release);
        Build {
            patch: self.patch.or((patch != 0).then_some(patch)),
            count: self.counted_by.map(|by| (by, count)),
            ..Build::default()
        }
    }
}

/// The patch level of a release, `117` of `6.12.117+deb12-amd64`, as far as its name or a test of
/// the kernel tells: Debian and Ubuntu count builds instead.
pub fn patch_level(release: &str) -> Option<u32> {
    let tested = COLUMNS.iter().find(|it| release.starts_with(it.release));
    tested.map_or_else(|| Build::of(release).patch, |it| it.build().patch)
}

/// The patch level from which builds of a series are late.
const LATE: u32 = 40;

/// How late in its series a release is, as far as its name tells.
#[derive(Clone, Copy, Default)]
struct Build {
    patch: Option<u32>,
    count: Option<(Distribution, u32)>,
    /// Whether its series was not yet released.
    is_candidate: bool,
}

impl Build {
    fn of(release: &str) -> Build {
        let [_, _, patch, count] = numbers(release);
        if patch != 0 {
            return Build { patch: Some(patch), ..Build::default() };
        }
        let is_upstream = release.bytes().all(|it| it.is_ascii_digit() || it == b'.');
        if is_upstream {
            let names_patch = release.bytes().filter(|it| *it == b'.').count() == 2;
            let patch = names_patch.then_some(0);
            return Build { patch, ..Build::default() };
        }
        // Flavours for clouds and devices, which Ubuntu counts from 1000, are counted on their own.
        let by = match release.rsplit('-').next() {
            Some("amd64" | "arm64") if count != 0 => Some(Distribution::Debian),
            Some("generic" | "lowlatency") if count < 1000 => Some(Distribution::Ubuntu),
            _ => None,
        };
        let is_candidate = ["-rc", ".rc"].iter().any(|it| release.contains(it));
        let count = by.filter(|_| !is_candidate).map(|by| (by, count));
        Build { patch: None, count, is_candidate }
    }

    /// Its order, if it is known.
    fn compare(self, other: Build) -> Option<Ordering> {
        if let (Some((by, count)), Some((by_too, other))) = (self.count, other.count)
            && by == by_too
        {
            return Some(count.cmp(&other));
        }
        Some(self.patch?.cmp(&other.patch?))
    }
}

/// The kernels, in the order of the rows' marks. Stable releases change rules: of most series there
/// are an early and a late one.
pub(crate) const COLUMNS: [Column; 36] = [
    column("5.10.0-30-", "5.10.0-30", [5, 10]).debian(218),
    column("5.10.0-46-", "5.10", [5, 10]).debian(262),
    column("5.13.0-52-", "5.13", [5, 13]).ubuntu(),
    column("5.15.0-25-", "5.15.0-25", [5, 15]).ubuntu().patch(30).early(),
    column("5.15.0-204-", "5.15", [5, 15]).ubuntu(),
    column("5.19.0-50-", "5.19", [5, 19]).ubuntu(),
    column("6.1.0-1012-", "6.1.0-1012", [6, 1]).patch(25).early(),
    column("6.1.0-47-", "6.1.0-47", [6, 1]).debian(170),
    column("6.1.0-56-", "6.1", [6, 1]).debian(192),
    column("6.2.0-39-", "6.2", [6, 2]).ubuntu(),
    column("6.5.0-45-", "6.5", [6, 5]).ubuntu(),
    column("6.8.0-31-", "6.8.0-31", [6, 8]).ubuntu().patch(1).early(),
    column("6.8.0-151-", "6.8", [6, 8]).ubuntu(),
    column("6.11.0-17-", "6.11.0-17", [6, 11]).ubuntu().patch(11),
    column("6.11.0-29-", "6.11", [6, 11]).ubuntu(),
    column("6.12.43+", "6.12.43", [6, 12]),
    column("6.12.90+", "6.12.90", [6, 12]),
    column("6.12.117+", "6.12", [6, 12]),
    column("6.14.0-37-", "6.14", [6, 14]).ubuntu(),
    column("6.16.12+", "6.16", [6, 16]),
    column("6.17.13+", "6.17", [6, 17]),
    column("6.17.0-42-", "6.17.0-42", [6, 17]).ubuntu(),
    column("6.18.5+", "6.18.5", [6, 18]).early(),
    column("6.18.15+", "6.18.15", [6, 18]),
    column("6.18.44", "6.18.44", [6, 18]),
    column("6.19.6+", "6.19.6", [6, 19]).early(),
    column("6.19.14+", "6.19", [6, 19]),
    column("7.0.0-14-", "7.0.0-14", [7, 0]).ubuntu().patch(0).early(),
    column("7.0.4+", "7.0.4", [7, 0]),
    column("7.0.13+", "7.0", [7, 0]),
    column("7.0.0-44-", "7.0.0-44", [7, 0]).ubuntu().patch(14),
    column("7.1.3+", "7.1.3", [7, 1]).early(),
    column("7.1.13+", "7.1", [7, 1]),
    column("7.2.6+", "7.2.6", [7, 2]).early(),
    column("7.2.12+", "7.2", [7, 2]),
    column("7.3.4+", "7.3", [7, 3]),
];

/// Pairs of columns, the second of which is a later build of the same series and distribution.
pub(crate) static UPDATES: LazyLock<Vec<[usize; 2]>> = LazyLock::new(|| {
    let all = || 0..COLUMNS.len();
    let pairs = all().flat_map(|one| all().map(move |other| [one, other]));
    pairs.filter(|[one, other]| COLUMNS[*one].is_updated_by(&COLUMNS[*other])).collect()
});

/// The column of 6.18.44, the reference for all other tables.
pub(crate) const REFERENCE: usize = 24;

/// How the tested kernels stand to a release, by their columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It was tested.
    Tested(usize),
    /// Another build of its patch level was, or there is none to compare it with.
    Series(usize),
    /// It lies between two, and has nothing that the second one lacks.
    Between([usize; 2]),
    /// The same, but it may have fixes from kernels after the second one.
    Mended([usize; 2]),
    /// It is older than the oldest.
    Older,
    /// It is newer than the newest.
    Newer,
}

impl Standing {
    pub(crate) fn of(release: &str) -> Standing {
        if let Some(at) = COLUMNS.iter().position(|it| release.starts_with(it.release)) {
            return Standing::Tested(at);
        }
        let [major, minor, ..] = numbers(release);
        let series = [major, minor];
        let Some(begun) = COLUMNS.iter().rposition(|it| it.series <= series) else {
            return Standing::Older;
        };
        if COLUMNS[begun].series != series {
            return match begun + 1 {
                newer if newer == COLUMNS.len() => Standing::Newer,
                after => Standing::Mended([at_least(begun), after]),
            };
        }
        let first = first_of(begun);
        let older = at_least(first.saturating_sub(1));
        let (its, last) = (Build::of(release), begun);
        let order = |at: &usize| its.compare(COLUMNS[*at].build());
        let before = (first..=last).rev().find(|at| order(at).is_some_and(Ordering::is_ge));
        let after = (first..=last).find(|at| order(at).is_some_and(Ordering::is_le));
        match (before, after) {
            (Some(before), Some(after)) if before == after => Standing::Series(before),
            (Some(before), Some(after)) => Standing::Between([before, after]),
            (Some(before), None) => Standing::Mended([before, last]),
            (None, Some(0)) => Standing::Older,
            (None, Some(after)) if COLUMNS[after].is_early => Standing::Series(after),
            (None, Some(after)) if COLUMNS[first].is_early => Standing::Between([first, after]),
            (None, Some(after)) => Standing::Between([older, after]),
            (None, None) if COLUMNS[first].is_early && !its.is_candidate => {
                Standing::Mended([first, last])
            }
            (None, None) => Standing::Mended([older, last]),
        }
    }

    /// The columns before and after it: the same one twice where there is only one.
    pub(crate) fn columns(self) -> [usize; 2] {
        match self {
            Standing::Tested(at) | Standing::Series(at) => [at; 2],
            Standing::Between(columns) | Standing::Mended(columns) => columns,
            Standing::Older => [0; 2],
            Standing::Newer => [COLUMNS.len() - 1; 2],
        }
    }

    /// Whether no tested kernel is as old, or as new.
    pub(crate) fn is_beyond(self) -> bool {
        matches!(self, Standing::Older | Standing::Newer)
    }
}

/// The column of the first tested kernel of its series.
fn first_of(at: usize) -> usize {
    let is_its_series = |it: &Column| it.series == COLUMNS[at].series;
    COLUMNS.iter().position(is_its_series).unwrap_or(at)
}

/// The column that represents the least that builds after this one have: late builds of a series
/// have fixes from after the next one began, so it is the first of a series, and an early one.
fn at_least(mut at: usize) -> usize {
    loop {
        at = first_of(at);
        if at == 0 || !COLUMNS[at].is_late() {
            return at;
        }
        at -= 1;
    }
}

/// The names of two columns: the exact ones if both are of one series, which has the name of the
/// last.
pub(crate) fn names(columns: [usize; 2]) -> [&'static str; 2] {
    let [one, other] = columns.map(|at| &COLUMNS[at]);
    match one.series == other.series {
        true => [one.exact_name(), other.exact_name()],
        false => [one.name, other.name],
    }
}

/// The column of the release, or of the one before it.
pub(crate) fn column_of(release: &str) -> usize {
    let [before, _] = Standing::of(release).columns();
    before
}

/// The column whose texts are used for the release: one of its series, or the one before it.
pub(crate) fn texts_of(release: &str) -> usize {
    let [before, after] = Standing::of(release).columns();
    let [major, minor, ..] = numbers(release);
    let is_own = |at: usize| COLUMNS[at].series == [major, minor];
    if !is_own(before) && is_own(after) { after } else { before }
}

/// The prefixes of the tested releases before and after this one: the same one twice if it was
/// tested itself or only one is on that side.
pub fn asked_around(release: &str) -> [&'static str; 2] {
    Standing::of(release).columns().map(|at| COLUMNS[at].release)
}

fn numbers(release: &str) -> Numbers {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    std::array::from_fn(|_| parts.next().and_then(|part| part.parse().ok()).unwrap_or(0))
}

/// The prefixes of the tested releases whose mends this one may have, too, as it may be a later
/// build than all that were tested of its series.
pub fn asked_later(release: &str) -> &'static [&'static str] {
    static RELEASES: LazyLock<Vec<&str>> =
        LazyLock::new(|| COLUMNS.iter().map(|it| it.release).collect());
    match Standing::of(release) {
        Standing::Mended([_, last]) => &RELEASES[last + 1..],
        _ => &[],
    }
}

/// The prefix of the tested release whose refused calls are used for `release`.
pub fn nearest_asked(release: &str) -> &'static str {
    asked_around(release)[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_calls_are_those_of_kernels_nearby() {
        let around = |name| asked_around(name);
        assert_eq!(around("6.3.0-31-generic"), ["6.2.0-39-", "6.5.0-45-"]);
        assert_eq!(around("6.5.0-45-generic"), ["6.5.0-45-"; 2]);
        assert_eq!(around("6.12.43+deb12-amd64"), ["6.12.43+"; 2]);
        assert_eq!(around("5.4"), ["5.10.0-30-"; 2]);
        assert_eq!(around("8.1.2"), ["7.3.4+"; 2]);
        let first_later = |name| asked_later(name).first().copied();
        assert_eq!(first_later("6.6.100"), Some("6.8.0-151-"));
        assert_eq!(first_later("6.18.50"), Some("6.19.6+"));
        assert_eq!(["6.1.180", "6.12.43", "8.1.2", "5.4"].map(first_later), [None; 4]);
        assert_eq!(["5.10.0-30-amd64", "6.5.0-27", "6.18.44"].map(texts_of), [0, 10, REFERENCE]);
        assert_eq!(
            ["6.3", "6.6", "7.4"].map(texts_of),
            ["6.2.0-39-", "6.5.0-45-", "7.3.4+"].map(column_of)
        );
    }

    #[test]
    fn columns_are_in_order() {
        assert!(COLUMNS.is_sorted_by(|one, other| {
            let order = one.build().compare(other.build());
            one.series < other.series
                || one.series == other.series && order != Some(Ordering::Greater)
        }));
        assert_eq!(COLUMNS[REFERENCE].release, "6.18.44");
        for it in &COLUMNS {
            assert_eq!(it.release.split('.').next(), it.name.split('.').next(), "{}", it.name);
            assert_eq!(numbers(it.release)[..2], it.series, "{}", it.name);
        }
    }
}

//! The tested kernels, in order, and which of them stand for another release.

/// A tested kernel: the prefix of its release, and the first numbers for which it stands.
pub(crate) struct Column {
    pub(crate) release: &'static str,
    name: &'static str,
    from: Numbers,
    asked: Asked,
}

/// What a tested kernel was asked about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Asked {
    /// Its texts are those of the last kernel of its series, or of the kernel after it.
    Rules,
    /// Its helpers are those of the last kernel of its series, or of both kernels around it.
    RulesAndTexts,
    Everything,
}

/// The numbers that a release begins with. Distributions that keep `5.10.0` count builds in the
/// fourth one.
type Numbers = [u32; 4];

const fn whole(release: &'static str, name: &'static str, from: Numbers) -> Column {
    Column { release, name, from, asked: Asked::Everything }
}

const fn texts(release: &'static str, name: &'static str, from: Numbers) -> Column {
    Column { release, name, from, asked: Asked::RulesAndTexts }
}

const fn rules(release: &'static str, name: &'static str, from: Numbers) -> Column {
    Column { release, name, from, asked: Asked::Rules }
}

impl Column {
    /// `6.12.117`.
    pub(crate) fn exact_name(&self) -> &'static str {
        self.release.trim_end_matches(['-', '+'])
    }

    fn series(&self) -> &[u32] {
        &self.from[..2]
    }
}

/// The kernels, in the order of the rows' marks. Stable releases change rules: of most series there
/// are an early and a late one.
pub(crate) const COLUMNS: [Column; 31] = [
    rules("5.10.0-30-", "5.10.0-30", [5, 10, 0, 0]),
    whole("5.10.0-46-", "5.10", [5, 10, 0, 46]),
    rules("5.13.0-52-", "5.13", [5, 13, 0, 0]),
    rules("5.15.0-25-", "5.15.0-25", [5, 15, 0, 0]),
    whole("5.15.0-204-", "5.15", [5, 15, 0, 204]),
    rules("5.19.0-50-", "5.19", [5, 19, 0, 0]),
    rules("6.1.0-47-", "6.1.0-47", [6, 1, 0, 0]),
    whole("6.1.0-56-", "6.1", [6, 1, 0, 56]),
    rules("6.2.0-39-", "6.2", [6, 2, 0, 0]),
    texts("6.5.0-45-", "6.5", [6, 5, 0, 0]),
    rules("6.8.0-31-", "6.8.0-31", [6, 8, 0, 0]),
    whole("6.8.0-151-", "6.8", [6, 8, 0, 151]),
    rules("6.11.0-29-", "6.11", [6, 11, 0, 0]),
    rules("6.12.43+", "6.12.43", [6, 12, 0, 0]),
    rules("6.12.90+", "6.12.90", [6, 12, 90, 0]),
    whole("6.12.117+", "6.12", [6, 12, 117, 0]),
    rules("6.14.0-37-", "6.14", [6, 14, 0, 0]),
    whole("6.16.12+", "6.16", [6, 16, 0, 0]),
    whole("6.17.13+", "6.17", [6, 17, 0, 0]),
    rules("6.18.5+", "6.18.5", [6, 18, 0, 0]),
    whole("6.18.15+", "6.18.15", [6, 18, 15, 0]),
    whole("6.18.44", "6.18.44", [6, 18, 44, 0]),
    rules("6.19.6+", "6.19.6", [6, 19, 0, 0]),
    whole("6.19.14+", "6.19", [6, 19, 14, 0]),
    rules("7.0.4+", "7.0.4", [7, 0, 0, 0]),
    whole("7.0.13+", "7.0", [7, 0, 13, 0]),
    rules("7.1.3+", "7.1.3", [7, 1, 0, 0]),
    whole("7.1.13+", "7.1", [7, 1, 13, 0]),
    rules("7.2.6+", "7.2.6", [7, 2, 0, 0]),
    whole("7.2.12+", "7.2", [7, 2, 12, 0]),
    whole("7.3.4+", "7.3", [7, 3, 0, 0]),
];

/// The column of 6.18.44, the reference for all other tables.
pub(crate) const REFERENCE: usize = 21;

/// How the tested kernels stand to a release, by their columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It was tested.
    Tested(usize),
    /// Another patch level of its series was.
    Series(usize),
    /// It lies between two.
    Between([usize; 2]),
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
        let its = numbers(release);
        let Some(before) = COLUMNS.iter().rposition(|it| it.from <= its) else {
            return Standing::Older;
        };
        let is_its_series = |it: &Column| *it.series() == its[..2];
        let (Some(first), Some(last)) =
            (COLUMNS.iter().position(is_its_series), COLUMNS.iter().rposition(is_its_series))
        else {
            // Late builds of a stable series have what was mended after the next one began: the
            // first stands for it.
            let first = COLUMNS.iter().position(|it| it.series() == COLUMNS[before].series());
            return match before + 1 {
                newer if newer == COLUMNS.len() => Standing::Newer,
                after => Standing::Between([first.unwrap_or(before), after]),
            };
        };
        // How a build of a distribution stands to the patch level of another one is not known.
        let counts_builds = |numbers: Numbers| numbers[2] == 0 && numbers[3] != 0;
        let is_comparable = counts_builds(its) == counts_builds(numbers(COLUMNS[first].release));
        if first != last && !is_comparable {
            return Standing::Between([first, last]);
        }
        let is_past = its > numbers(COLUMNS[before].release);
        match before < last && is_past {
            true => Standing::Between([before, before + 1]),
            false => Standing::Series(before),
        }
    }

    /// The columns before and after it: the same one twice where there is only one.
    pub(crate) fn columns(self) -> [usize; 2] {
        match self {
            Standing::Tested(at) | Standing::Series(at) => [at; 2],
            Standing::Between(columns) => columns,
            Standing::Older => [0; 2],
            Standing::Newer => [COLUMNS.len() - 1; 2],
        }
    }

    /// Whether no tested kernel is as old, or as new.
    pub(crate) fn is_beyond(self) -> bool {
        matches!(self, Standing::Older | Standing::Newer)
    }
}

/// Whose rules are used for a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulesOf {
    /// Its own: it was tested.
    Itself,
    /// Those of this tested release of the same series.
    Series(&'static str),
    /// Those of both of these tested kernels.
    Both([&'static str; 2]),
    /// Those of the oldest tested kernel, which is newer.
    Oldest(&'static str),
    /// Those of the newest tested kernel, which is older.
    Newest(&'static str),
}

impl RulesOf {
    /// By its `uname -r`.
    pub fn release(release: &str) -> RulesOf {
        let standing = Standing::of(release);
        let [before, after] = standing.columns().map(|at| &COLUMNS[at]);
        match standing {
            Standing::Tested(_) => RulesOf::Itself,
            Standing::Series(_) => RulesOf::Series(before.exact_name()),
            Standing::Between(columns) => RulesOf::Both(names(columns)),
            Standing::Older => RulesOf::Oldest(before.name),
            Standing::Newer => RulesOf::Newest(after.name),
        }
    }
}

/// The names of two columns: the exact ones if both are of one series, which has the name of the
/// last.
pub(crate) fn names(columns: [usize; 2]) -> [&'static str; 2] {
    let [one, other] = columns.map(|at| &COLUMNS[at]);
    match one.series() == other.series() {
        true => [one.exact_name(), other.exact_name()],
        false => [one.name, other.name],
    }
}

/// The column of the release, or of the one before it.
pub(crate) fn column_of(release: &str) -> usize {
    let [before, _] = Standing::of(release).columns();
    before
}

/// The kernels asked at least so much that stand for a column: one before and one after it, or
/// twice the same. The last of its series stands for all of them.
fn around(at: usize, least: Asked) -> [usize; 2] {
    let series = COLUMNS[at].series();
    let is_asked = |it: &Column| it.asked >= least;
    if is_asked(&COLUMNS[at]) {
        return [at; 2];
    }
    if let Some(same) = COLUMNS.iter().rposition(|it| is_asked(it) && it.series() == series) {
        return [same; 2];
    }
    let before = COLUMNS[..at].iter().rposition(is_asked);
    let after = COLUMNS[at..].iter().position(is_asked).map(|it| at + it);
    let one = before.or(after).unwrap_or(REFERENCE);
    [one, after.unwrap_or(one)]
}

/// Number of kernels asked for their texts before a column: the place of its mark in tables that
/// have only those.
pub(crate) const fn texts_before(at: usize) -> usize {
    let (mut count, mut column) = (0, 0);
    while column < at {
        count += (COLUMNS[column].asked as u8 >= Asked::RulesAndTexts as u8) as usize;
        column += 1;
    }
    count
}

/// The place of the release's mark in tables that have only the kernels asked for their texts. Of
/// two such kernels around another one, the later has more of its texts.
pub(crate) fn texts_of(release: &str) -> usize {
    texts_before(around(column_of(release), Asked::RulesAndTexts)[1])
}

/// The prefixes of the releases, asked about everything, before and after this one: the same one
/// twice if it was asked itself or only one is on that side.
pub fn asked_around(release: &str) -> [&'static str; 2] {
    let [before, after] = Standing::of(release).columns();
    [around(before, Asked::Everything)[0], around(after, Asked::Everything)[1]]
        .map(|at| COLUMNS[at].release)
}

fn numbers(release: &str) -> Numbers {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    std::array::from_fn(|_| parts.next().and_then(|part| part.parse().ok()).unwrap_or(0))
}

/// The prefix of the release, asked about everything, whose texts and helpers are used for
/// `release`.
pub fn nearest_asked(release: &str) -> &'static str {
    asked_around(release)[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_stands_with_its_series_or_between_two() {
        let told = [
            ("6.18.15+deb13-cloud-amd64", RulesOf::Itself),
            ("6.18.44-fc", RulesOf::Itself),
            ("6.12.43+deb12-amd64", RulesOf::Itself),
            ("6.18.50", RulesOf::Series("6.18.44")),
            ("6.18.0", RulesOf::Series("6.18.5")),
            ("6.18.20", RulesOf::Both(["6.18.15", "6.18.44"])),
            ("6.12.50", RulesOf::Both(["6.12.43", "6.12.90"])),
            ("6.12.10", RulesOf::Series("6.12.43")),
            ("6.12.200", RulesOf::Series("6.12.117")),
            ("5.10.0-35-amd64", RulesOf::Both(["5.10.0-30", "5.10.0-46"])),
            ("5.10.0-50-amd64", RulesOf::Series("5.10.0-46")),
            ("6.1.112", RulesOf::Both(["6.1.0-47", "6.1.0-56"])),
            ("6.1.112-1.amzn2023", RulesOf::Both(["6.1.0-47", "6.1.0-56"])),
            ("6.12.0-55.el10", RulesOf::Both(["6.12.43", "6.12.117"])),
            ("5.15.167", RulesOf::Both(["5.15.0-25", "5.15.0-204"])),
            ("6.8.0-100-generic", RulesOf::Both(["6.8.0-31", "6.8.0-151"])),
            ("6.3.0-31-generic", RulesOf::Both(["6.2", "6.5"])),
            ("6.13", RulesOf::Both(["6.12.43", "6.14"])),
            ("5.4", RulesOf::Oldest("5.10.0-30")),
            ("8.1.2", RulesOf::Newest("7.3")),
            ("7.3.9", RulesOf::Series("7.3.4")),
        ];
        for (release, rules) in told {
            assert_eq!(RulesOf::release(release), rules, "{release}");
        }
    }

    #[test]
    fn texts_and_calls_are_those_of_kernels_that_were_asked_for_them() {
        let around = |name| asked_around(name);
        assert_eq!(around("6.3.0-31-generic"), ["6.1.0-56-", "6.8.0-151-"]);
        assert_eq!(around("6.5.0-45-generic"), ["6.1.0-56-", "6.8.0-151-"]);
        assert_eq!(around("6.12.43+deb12-amd64"), ["6.12.117+"; 2]);
        assert_eq!(around("5.4"), ["5.10.0-46-"; 2]);
        assert_eq!(around("8.1.2"), ["7.3.4+"; 2]);
        assert_eq!(["5.10.0-30-amd64", "6.5.0-27", "6.18.44"].map(texts_of), [0, 3, 9]);
        assert_eq!(texts_before(COLUMNS.len()), 15);
    }

    #[test]
    fn columns_are_in_order_and_the_last_of_most_series_is_whole() {
        assert!(COLUMNS.is_sorted_by(|one, other| one.from < other.from));
        assert_eq!(COLUMNS[REFERENCE].release, "6.18.44");
        for it in &COLUMNS {
            assert_eq!(it.release.split('.').next(), it.name.split('.').next(), "{}", it.name);
            assert_eq!(numbers(it.release)[..2], *it.series(), "{}", it.name);
        }
    }
}

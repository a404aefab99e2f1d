//! The tested kernels, in order, and which of them stand for another release.

/// A tested kernel: the prefix of its release, and the first numbers for which it stands.
pub(crate) struct Column {
    pub(crate) release: &'static str,
    name: &'static str,
    from: [u32; 3],
}

const fn column(release: &'static str, name: &'static str, from: [u32; 3]) -> Column {
    Column { release, name, from }
}

impl Column {
    /// `6.12`, or with the patch level where two of a series were tested.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// `6.12.117`.
    pub(crate) fn exact_name(&self) -> &'static str {
        self.release.trim_end_matches(['-', '+'])
    }
}

/// The kernels, in the order of the rows' marks.
pub(crate) const COLUMNS: [Column; 14] = [
    column("5.10.0-46-", "5.10", [5, 10, 0]),
    column("5.15.0-204-", "5.15", [5, 15, 0]),
    column("6.1.0-56-", "6.1", [6, 1, 0]),
    column("6.8.0-151-", "6.8", [6, 8, 0]),
    column("6.12.117+", "6.12", [6, 12, 0]),
    column("6.16.12+", "6.16", [6, 16, 0]),
    column("6.17.13+", "6.17", [6, 17, 0]),
    column("6.18.15+", "6.18.15", [6, 18, 0]),
    column("6.18.44", "6.18.44", [6, 18, 44]),
    column("6.19.14+", "6.19", [6, 19, 0]),
    column("7.0.13+", "7.0", [7, 0, 0]),
    column("7.1.13+", "7.1", [7, 1, 0]),
    column("7.2.12+", "7.2", [7, 2, 0]),
    column("7.3.4+", "7.3", [7, 3, 0]),
];

/// The column of 6.18.44, the reference for all other tables.
pub(crate) const REFERENCE: usize = 8;

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
        let of_series = |it: &Column| it.from[..2] == its[..2];
        let Some(before) = COLUMNS.iter().rposition(|it| it.from <= its) else {
            return Standing::Older;
        };
        let Some(after) = COLUMNS.get(before + 1) else {
            return if of_series(&COLUMNS[before]) {
                Standing::Series(before)
            } else {
                Standing::Newer
            };
        };
        let is_past = its > numbers(COLUMNS[before].release);
        match (of_series(&COLUMNS[before]), of_series(after)) {
            (true, true) if is_past => Standing::Between([before, before + 1]),
            (true, _) => Standing::Series(before),
            _ => Standing::Between([before, before + 1]),
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
            Standing::Between(_) => RulesOf::Both([before.name, after.name]),
            Standing::Older => RulesOf::Oldest(before.name),
            Standing::Newer => RulesOf::Newest(after.name),
        }
    }
}

/// The column of the release, or of the one before it.
pub(crate) fn column_of(release: &str) -> usize {
    let [before, _] = Standing::of(release).columns();
    before
}

/// The prefixes of the tested releases before and after this one: the same one twice if it was
/// tested itself or only one is on that side.
pub fn asked_around(release: &str) -> [&'static str; 2] {
    Standing::of(release).columns().map(|at| COLUMNS[at].release)
}

fn numbers(release: &str) -> [u32; 3] {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    std::array::from_fn(|_| parts.next().and_then(|part| part.parse().ok()).unwrap_or(0))
}

/// The prefix of the tested release whose rules are used for `release`.
pub fn nearest_asked(release: &str) -> &'static str {
    COLUMNS[column_of(release)].release
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_stands_with_its_series_or_between_two() {
        let told = [
            ("6.18.15+deb13-cloud-amd64", RulesOf::Itself),
            ("6.18.44-fc", RulesOf::Itself),
            ("6.18.50", RulesOf::Series("6.18.44")),
            ("6.18.0", RulesOf::Series("6.18.15")),
            ("6.18.20", RulesOf::Both(["6.18.15", "6.18.44"])),
            ("6.12.50", RulesOf::Series("6.12.117")),
            ("6.12.200", RulesOf::Series("6.12.117")),
            ("5.10", RulesOf::Series("5.10.0-46")),
            ("6.8.0-31-generic", RulesOf::Series("6.8.0-151")),
            ("6.5.0-31-generic", RulesOf::Both(["6.1", "6.8"])),
            ("6.13", RulesOf::Both(["6.12", "6.16"])),
            ("5.4", RulesOf::Oldest("5.10")),
            ("8.1.2", RulesOf::Newest("7.3")),
            ("7.3.9", RulesOf::Series("7.3.4")),
        ];
        for (release, rules) in told {
            assert_eq!(RulesOf::release(release), rules, "{release}");
        }
    }

    #[test]
    fn texts_and_calls_are_those_of_the_one_before_it() {
        let nearest = |name| (nearest_asked(name), asked_around(name)[1]);
        assert_eq!(nearest("6.5.0-31-generic"), ("6.1.0-56-", "6.8.0-151-"));
        assert_eq!(nearest("5.4"), ("5.10.0-46-", "5.10.0-46-"));
        assert_eq!(nearest("8.1.2"), ("7.3.4+", "7.3.4+"));
    }
}

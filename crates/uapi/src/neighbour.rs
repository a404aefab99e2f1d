//! Whose rules are used for a release: its own, or those of the tested kernels near it.

use crate::behaviour::Behaviours;
use crate::column::{COLUMNS, Standing, names};

/// A tested kernel near a release, which may have its rules; or what later kernels may have left
/// of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// `6.12`, or `later kernels`.
    pub name: &'static str,
    /// Its rules.
    pub rules: Behaviours,
}

impl Neighbour {
    /// Those of a release, the last one with the rules of [`Behaviours::of_release`]; none if it
    /// was tested, or another build of its patch level, or is older or newer than all tested ones.
    pub fn of_release(release: &str) -> Vec<Neighbour> {
        let standing = Standing::of(release);
        let (Standing::Between(columns) | Standing::Mended(columns)) = standing else {
            return Vec::new();
        };
        let pairs = names(columns).into_iter().zip(columns.map(Behaviours::of_column));
        let mut all: Vec<_> = pairs.map(|(name, rules)| Neighbour { name, rules }).collect();
        if let [early, late] = columns.map(Behaviours::of_column)
            && late.marks_forgotten
            && !early.marks_forgotten
        {
            // The rule came last of several that came together: a build may have only the others.
            let rules = Behaviours { marks_forgotten: false, ..late };
            all.insert(1, Neighbour { name: HALFWAY, rules });
        }
        if let Standing::Mended([_, last]) = standing {
            all.insert(0, Neighbour { name: LATER, rules: Behaviours::mended(last) });
        }
        Neighbour::distinct(all)
    }

    /// Without those that have the rules of the one before; none if all have the same.
    pub fn distinct(mut all: Vec<Neighbour>) -> Vec<Neighbour> {
        all.dedup_by(|one, other| one.rules == other.rules);
        if all.len() == 1 { Vec::new() } else { all }
    }
}

/// Stands for kernels between two tested ones that have rules of both.
const HALFWAY: &str = "kernels between them";
/// Stands for the kernels after a tested one.
const LATER: &str = "later kernels";

/// Whose rules are used for a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RulesOf {
    /// Its own: it was tested.
    Itself,
    /// Those of this tested release of the same series.
    Series(&'static str),
    /// Those of all of these kernels.
    Several(Vec<&'static str>),
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
            Standing::Between(_) | Standing::Mended(_) => {
                let all = Neighbour::of_release(release);
                match all.is_empty() {
                    true => RulesOf::Series(after.exact_name()),
                    false => {
                        let mut names: Vec<&'static str> = all.iter().map(|it| it.name).collect();
                        names.sort_by_key(|name| [*name == LATER, *name == HALFWAY]);
                        RulesOf::Several(names)
                    }
                }
            }
            Standing::Older => RulesOf::Oldest(before.name),
            Standing::Newer => RulesOf::Newest(after.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_stands_with_its_series_or_between_two() {
        let several = |names: &[&'static str]| RulesOf::Several(names.to_vec());
        let told = [
            ("6.18.15+deb13-cloud-amd64", RulesOf::Itself),
            ("6.18.44-fc", RulesOf::Itself),
            ("6.12.43+deb12-amd64", RulesOf::Itself),
            ("6.12.117-1.fc41", RulesOf::Series("6.12.117")),
            ("6.18.0", RulesOf::Series("6.18.5")),
            ("6.18.20", several(&["6.18.15", "6.18.44"])),
            ("6.18.50", several(&["6.18.44", LATER])),
            ("6.12.50", several(&["6.12.43", "6.12.90"])),
            ("6.12.10", several(&["6.11.0-17", "6.12.43"])),
            ("6.12.200", several(&["6.12.117", LATER])),
            ("6.12.0-55.el10", several(&["6.11.0-17", "6.12", LATER])),
            ("5.10.0-29-amd64", RulesOf::Oldest("5.10.0-30")),
            ("5.10.0-35-amd64", several(&["5.10.0-30", "5.10.0-46"])),
            ("5.10.240", several(&["5.10.0-30", "5.10.0-46"])),
            ("5.10.0-50-amd64", several(&["5.10.0-46", LATER])),
            ("5.15.0-100-generic", several(&["5.15.0-25", "5.15.0-204", HALFWAY])),
            ("5.15.0-1028-aws", several(&["5.15.0-25", "5.15.0-204", HALFWAY, LATER])),
            ("5.15.167", several(&["5.15.0-25", "5.15.0-204", HALFWAY, LATER])),
            ("6.1.112-1.amzn2023", several(&["6.1.0-1012", "6.1.0-47", HALFWAY])),
            ("6.1.0-1004-oem", several(&["6.1.0-1012", "6.1.0-56", HALFWAY, LATER])),
            ("6.1.0-0.deb11.21-amd64", several(&["6.1.0-1012", "6.1.0-56", HALFWAY, LATER])),
            ("5.14.0-503.el9.x86_64", several(&["5.13", "5.15.0-25", LATER])),
            ("6.6.56+", several(&["6.5", "6.8.0-31", LATER])),
            ("6.5.0-1009-aws", several(&["6.2", "6.5", LATER])),
            ("7.0.0-rc3", several(&["6.19.6", "7.0.0-44", LATER])),
            ("6.18.0-0.rc3.fc43", several(&["6.17", "6.18.44", LATER])),
            ("6.1.0-50-amd64", several(&["6.1.0-47", "6.1.0-56"])),
            ("6.3.0-31-generic", several(&["6.2", "6.5", LATER])),
            ("6.6.87", several(&["6.5", "6.8.0-31", LATER])),
            ("6.8.0-31-generic", RulesOf::Itself),
            ("6.8.0-100-generic", several(&["6.8.0-31", "6.8.0-151"])),
            ("6.8.0-160-generic", several(&["6.8.0-151", LATER])),
            ("6.13", several(&["6.11.0-17", "6.14", LATER])),
            ("6.14.0-27-generic", several(&["6.11.0-17", "6.14"])),
            ("6.17.0-42-generic", RulesOf::Itself),
            ("6.17.0-22-generic", several(&["6.16", "6.17.0-42"])),
            ("6.17.0-1009-aws", several(&["6.16", "6.17.0-42", LATER])),
            ("6.17.8", several(&["6.16", "6.17"])),
            ("7.0.0-30-generic", several(&["7.0.0-14", "7.0.0-44"])),
            ("7.0.10", several(&["7.0.4", "7.0.13"])),
            ("7.0.20", several(&["7.0.0-44", LATER])),
            ("5.4", RulesOf::Oldest("5.10.0-30")),
            ("8.1.2", RulesOf::Newest("7.3")),
            ("7.3.9", RulesOf::Series("7.3.4")),
        ];
        for (release, rules) in told {
            assert_eq!(RulesOf::release(release), rules, "{release}");
        }
    }
}

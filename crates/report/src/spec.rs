//! Columns (`-e`) and order (`-s`), in veristat's notation.
//!
//! `insns^` sorts upwards, `insnsv` downwards; `insns_a`, `insns_b`, `insns_diff`, `insns_pct` name
//! one side of a comparison, their difference, or it in percent; `|insns_diff|` its size.

use crate::error::Error;
use crate::stat::Stat;

/// Which number of a compared statistic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// The first file's.
    A,
    /// The second file's.
    B,
    /// B minus A.
    Diff,
    /// B minus A, in percent of A.
    Pct,
}

/// Suffixes of a statistic's name in specifications, longest first.
const VARIANT_SUFFIXES: &[(&str, Variant)] = &[
    ("_base", Variant::A),
    ("_comp", Variant::B),
    ("_diff", Variant::Diff),
    ("_pct", Variant::Pct),
    ("_a", Variant::A),
    ("_b", Variant::B),
];

/// A statistic as written in a specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StatRef {
    pub(crate) stat: Stat,
    /// A if the name has no suffix.
    pub(crate) variant: Variant,
    /// Written `|name|`.
    pub(crate) absolute: bool,
}

impl StatRef {
    pub(crate) fn parse(text: &str) -> Option<StatRef> {
        let text = text.trim();
        let inner = text.strip_prefix('|').and_then(|rest| rest.strip_suffix('|'));
        let absolute = inner.is_some();
        let name = inner.unwrap_or(text).trim();
        if let Some(stat) = Stat::by_name(name) {
            return Some(StatRef { stat, variant: Variant::A, absolute });
        }
        VARIANT_SUFFIXES.iter().find_map(|&(suffix, variant)| {
            let cut = name.len().checked_sub(suffix.len())?;
            let tail = name.get(cut..)?;
            let stat = Stat::by_name(name.get(..cut)?)?;
            tail.eq_ignore_ascii_case(suffix).then_some(StatRef { stat, variant, absolute })
        })
    }
}

/// Columns to print, left to right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmitSpec {
    /// The columns.
    pub stats: Vec<Stat>,
}

impl EmitSpec {
    /// veristat's columns of a table.
    pub fn table_default() -> Self {
        EmitSpec { stats: Stat::TABLE_DEFAULT.to_vec() }
    }

    /// All of them: veristat's columns of a CSV file.
    pub fn csv_default() -> Self {
        EmitSpec { stats: Stat::CSV_DEFAULT.to_vec() }
    }

    /// Adds columns at the end, except those that are there.
    pub fn extend(&mut self, stats: &[Stat]) {
        for stat in stats {
            if !self.stats.contains(stat) {
                self.stats.push(*stat);
            }
        }
    }

    /// Reads a comma-separated list of statistics.
    ///
    /// # Errors
    ///
    /// A name that is no statistic, or no name at all.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut stats = Vec::new();
        for name in items(text) {
            let (name, _) = split_order(name);
            let found = StatRef::parse(name)
                .ok_or_else(|| Error::new(format!("unrecognized stat name '{name}'")))?;
            stats.push(found.stat);
        }
        match stats.is_empty() {
            true => Err(Error::new("no stat name in specification")),
            false => Ok(EmitSpec { stats }),
        }
    }
}

/// One key of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortKey {
    pub(crate) of: StatRef,
    pub(crate) ascending: bool,
}

/// Order of rows; ties are broken by file and program name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SortSpec {
    pub(crate) keys: Vec<SortKey>,
}

impl SortSpec {
    /// Reads a comma-separated list of statistics, each with an optional order sign.
    ///
    /// # Errors
    ///
    /// A name that is no statistic, or no name at all.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut keys = Vec::new();
        for item in items(text) {
            let (name, ascending) = split_order(item);
            let of = StatRef::parse(name)
                .ok_or_else(|| Error::new(format!("unrecognized stat name '{name}'")))?;
            keys.push(SortKey { of, ascending: ascending.unwrap_or(of.stat.def().ascending) });
        }
        match keys.is_empty() {
            true => Err(Error::new("no stat name in specification")),
            false => Ok(SortSpec { keys }),
        }
    }
}

fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

/// Removes the order sign: `^` ascending; `v`, `V`, `.`, `!`, `_` descending. A `v` counts only if
/// the name without it is a statistic.
fn split_order(item: &str) -> (&str, Option<bool>) {
    if let Some(name) = item.strip_suffix('^') {
        return (name, Some(true));
    }
    if StatRef::parse(item).is_some() {
        return (item, None);
    }
    match item.strip_suffix(['v', 'V', '.', '!', '_']) {
        Some(name) => (name, Some(false)),
        None => (item, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_signs() {
        let asc = |text: &str| SortSpec::parse(text).unwrap().keys[0].ascending;
        assert!(asc("file"));
        assert!(!asc("insns"), "numbers go down by default");
        assert!(asc("insns^"));
        for sign in ["v", "V", ".", "!", "_"] {
            assert!(!asc(&format!("prog{sign}")), "{sign}");
        }
    }

    #[test]
    fn variants_and_size() {
        let of = |text: &str| SortSpec::parse(text).unwrap().keys[0].of;
        let insns = |variant, absolute| StatRef { stat: Stat::TotalInsns, variant, absolute };
        assert_eq!(of("insns"), insns(Variant::A, false));
        assert_eq!(of("insns_comp"), insns(Variant::B, false));
        assert_eq!(of("total_insns_b"), insns(Variant::B, false));
        assert_eq!(of("|insns_diff|v"), insns(Variant::Diff, true));
        assert_eq!(of("INSNS_PCT^"), insns(Variant::Pct, false));
    }

    #[test]
    fn what_is_no_statistic_is_named() {
        let error = EmitSpec::parse("file,nope").unwrap_err();
        assert_eq!(error.to_string(), "unrecognized stat name 'nope'");
        assert!(EmitSpec::parse(" , ").is_err());
        assert!(SortSpec::parse("insns_c").is_err());
    }
}

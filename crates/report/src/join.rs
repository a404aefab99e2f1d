//! Two sets of rows joined on file and program name, for comparison.

use crate::row::{Row, number_of};
use crate::spec::{StatRef, Variant};
use std::cmp::Ordering;

/// One program in two result sets; at least one side exists.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JoinedRow<'a> {
    /// From the first set.
    pub base: Option<&'a Row>,
    /// From the second set.
    pub comp: Option<&'a Row>,
}

/// Joins by file and program; the result is in that order. Programs of the same name in one file
/// are paired in their order of appearance; those of several kernels by kernel, if both sets have
/// several.
pub fn join<'a>(base: &'a [Row], comp: &'a [Row]) -> Vec<JoinedRow<'a>> {
    let has_several = |rows: &[Row]| rows.windows(2).any(|pair| pair[0].kernel != pair[1].kernel);
    let by_kernel = has_several(base) && has_several(comp);
    let order = |a: &Row, b: &Row| match by_kernel {
        true => a.by_key(b).then_with(|| a.kernel.cmp(&b.kernel)),
        false => a.by_key(b),
    };
    let sorted = |rows: &'a [Row]| {
        let mut refs: Vec<&Row> = rows.iter().collect();
        refs.sort_by(|a, b| order(a, b));
        refs
    };
    let (base, comp) = (sorted(base), sorted(comp));
    let (mut b, mut c) = (base.iter().peekable(), comp.iter().peekable());
    let mut joined = Vec::new();
    loop {
        let order = match (b.peek(), c.peek()) {
            (None, None) => return joined,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(x), Some(y)) => order(x, y),
        };
        joined.push(JoinedRow {
            base: if order.is_le() { b.next().copied() } else { None },
            comp: if order.is_ge() { c.next().copied() } else { None },
        });
    }
}

impl<'a> JoinedRow<'a> {
    /// The side that gives the program's name.
    pub(crate) fn named(&self) -> Option<&'a Row> {
        self.base.or(self.comp)
    }

    /// The number for a key or filter; `None` if a side is missing or it is text.
    pub(crate) fn number(&self, of: StatRef) -> Option<f64> {
        let side = |row: Option<&Row>| row.and_then(|row| number_of(row, of.stat));
        let (a, b) = (side(self.base), side(self.comp));
        let value = match of.variant {
            Variant::A => a?,
            Variant::B => b?,
            // For a verdict, the difference is whether they match.
            Variant::Diff if of.stat.is_text() => f64::from(u8::from(a? == b?)),
            Variant::Diff => b? - a?,
            Variant::Pct => percent(a?, b?),
        };
        Some(if of.absolute { value.abs() } else { value })
    }
}

/// Growth from `a` to `b` in percent of `a`; from 0 it is 0 or 100 in its direction.
pub(crate) fn percent(a: f64, b: f64) -> f64 {
    match (a == 0.0, a == b) {
        (_, true) => 0.0,
        (true, false) => 100.0_f64.copysign(b),
        (false, false) => (b - a) * 100.0 / a,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::RowVerdict;

    #[test]
    fn joins_by_name_and_keeps_both_orphans() {
        let row = |file, prog| Row::new(file, prog, RowVerdict::Success);
        let (base, comp) = ([row("b", "x"), row("a", "x")], [row("a", "x"), row("c", "x")]);
        let joined = join(&base, &comp);
        let sides: Vec<(bool, bool)> =
            joined.iter().map(|j| (j.base.is_some(), j.comp.is_some())).collect();
        assert_eq!(sides, [(true, true), (true, false), (false, true)]);
    }

    /// Two kernels can be compared with each other, and lists of them kernel by kernel.
    #[test]
    fn several_kernels_are_paired_by_kernel() {
        let row = |kernel: &str| {
            let mut row = Row::new("a.o", "p", RowVerdict::Success);
            row.kernel = kernel.into();
            row
        };
        let pairs = |base: &[&str], comp: &[&str]| {
            let rows = |kernels: &[&str]| kernels.iter().map(|it| row(it)).collect::<Vec<_>>();
            let (base, comp) = (rows(base), rows(comp));
            let name = |row: Option<&Row>| row.map_or(String::new(), |row| row.kernel.clone());
            let joined = join(&base, &comp);
            joined.iter().map(|it| (name(it.base), name(it.comp))).collect::<Vec<_>>()
        };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(pairs(&["5.15"], &["6.6"]), [pair("5.15", "6.6")]);
        let crossed = pairs(&["5.10", "6.1"], &["6.6", "6.1"]);
        assert_eq!(crossed, [pair("5.10", ""), pair("6.1", "6.1"), pair("", "6.6")]);
    }

    #[test]
    fn percentages() {
        assert_eq!(percent(200.0, 150.0), -25.0);
        assert_eq!(
            (percent(0.0, 5.0), percent(0.0, -5.0), percent(0.0, 0.0)),
            (100.0, -100.0, 0.0)
        );
    }
}

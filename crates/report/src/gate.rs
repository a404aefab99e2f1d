//! The regression gate: which changes between two result sets are rejected.

use crate::error::Error;
use crate::filter::Filter;
use crate::join::{JoinedRow, percent};
use crate::row::RowVerdict;
use crate::row::number_of;
use crate::spec::{StatRef, Variant};
use crate::stat::Stat;

/// Conditions in the notation of filters (`insns_pct>10`). A name without suffix means the second
/// set: `insns>500000` limits what is new.
///
/// Independent of the conditions, a program that was accepted must still exist and be accepted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gate {
    conditions: Vec<Condition>,
}

#[derive(Debug, Clone, PartialEq)]
struct Condition {
    text: String,
    filter: Filter,
}

/// One program that does not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    /// Base name of the object file.
    pub file: String,
    /// Name of the program's function.
    pub prog: String,
    /// What is wrong with it, in one line.
    pub why: String,
}

impl Gate {
    /// Adds a condition.
    ///
    /// # Errors
    ///
    /// An unknown statistic, an invalid value, or no comparison.
    pub fn add(&mut self, text: &str) -> Result<(), Error> {
        let text = text.trim();
        let filter = match Filter::parse(text)? {
            Filter::Stat { of, op, operand } => {
                let name = text.split(['<', '>', '=', '!']).next().unwrap_or_default();
                let bare = Stat::by_name(name.trim().trim_matches('|').trim()).is_some();
                let of = if bare { StatRef { variant: Variant::B, ..of } } else { of };
                Filter::Stat { of, op, operand }
            }
            _ => {
                let form = "a condition compares a statistic with a number, such as insns_pct>10";
                return Err(Error::new(format!("'{text}': {form}")));
            }
        };
        self.conditions.push(Condition { text: text.to_owned(), filter });
        Ok(())
    }

    /// The failures, in the order of `rows`; a program may fail several conditions.
    pub fn breaches(&self, rows: &[JoinedRow<'_>]) -> Vec<Breach> {
        rows.iter().flat_map(|row| self.faults(row)).collect()
    }

    fn faults(&self, row: &JoinedRow<'_>) -> Vec<Breach> {
        let Some(named) = row.named() else { return Vec::new() };
        let met = |condition: &&Condition| {
            condition.filter.judges(&|of: StatRef| row.number(of)) == Some(true)
        };
        let conditions = self.conditions.iter().filter(met);
        lost(row)
            .into_iter()
            .chain(conditions.map(|it| it.figures(row)))
            .map(|why| Breach { file: named.file.clone(), prog: named.prog.clone(), why })
            .collect()
    }
}

/// The program is missing, or was accepted and no longer is.
fn lost(row: &JoinedRow<'_>) -> Option<String> {
    let base = row.base?;
    match row.comp {
        None => Some("the program is missing".to_owned()),
        Some(comp)
            if base.verdict == RowVerdict::Success && comp.verdict != RowVerdict::Success =>
        {
            let reason = comp.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            Some(format!("was accepted, now {}{reason}", comp.verdict.text()))
        }
        Some(_) => None,
    }
}

impl Condition {
    /// The condition with the numbers of both sides.
    fn figures(&self, row: &JoinedRow<'_>) -> String {
        let Filter::Stat { of, .. } = &self.filter else { return self.text.clone() };
        let side = |row| number_of(row, of.stat);
        match (row.base.and_then(side), row.comp.and_then(side)) {
            (Some(a), Some(b)) if !of.stat.is_text() => {
                format!("{}: {a} to {b} ({:+.2}%)", self.text, percent(a, b))
            }
            (None, Some(b)) if !of.stat.is_text() => format!("{}: {b}", self.text),
            _ => self.text.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::join;
    use crate::row::Row;

    fn row(prog: &str, verdict: RowVerdict, insns: i64) -> Row {
        Row::new("a.o", prog, verdict).with(Stat::TotalInsns, insns)
    }

    fn breaches(conditions: &[&str]) -> Vec<String> {
        let base = [
            row("gone", RowVerdict::Failure, 1),
            row("grown", RowVerdict::Success, 1000),
            row("lost", RowVerdict::Success, 10),
            row("refused", RowVerdict::Failure, 10),
            row("zero", RowVerdict::Success, 0),
        ];
        let comp = [
            row("grown", RowVerdict::Success, 1101),
            row("lost", RowVerdict::Failure, 10),
            row("new", RowVerdict::Success, 5000),
            row("refused", RowVerdict::Failure, 10),
            row("zero", RowVerdict::Success, 7),
        ];
        let mut gate = Gate::default();
        conditions.iter().for_each(|text| gate.add(text).unwrap());
        let found = gate.breaches(&join(&base, &comp));
        found.into_iter().map(|it| format!("{}: {}", it.prog, it.why)).collect()
    }

    #[test]
    fn what_is_lost_fails_without_conditions() {
        assert_eq!(
            breaches(&[]),
            ["gone: the program is missing", "lost: was accepted, now failure"]
        );
    }

    #[test]
    fn conditions_are_alternatives_and_show_both_numbers() {
        let lost = breaches(&[]);
        let more = |conditions: &[&str]| -> Vec<String> {
            breaches(conditions).into_iter().filter(|line| !lost.contains(line)).collect()
        };
        let grown = "grown: insns_pct>10: 1000 to 1101 (+10.10%)";
        assert_eq!(more(&["insns_pct>10"]), [grown, "zero: insns_pct>10: 0 to 7 (+100.00%)"]);
        assert_eq!(more(&["insns_pct > 10.5%"]), ["zero: insns_pct > 10.5%: 0 to 7 (+100.00%)"]);
        assert_eq!(more(&["insns_diff>100", "insns_diff>=101"]).len(), 2);
        assert_eq!(more(&["insns>4000"]), ["new: insns>4000: 5000"], "the second set");
        assert_eq!(more(&["insns_a>4000"]), [] as [&str; 0]);
    }

    #[test]
    fn what_is_no_comparison_is_said() {
        let mut gate = Gate::default();
        for bad in ["insns_pct", "a.o/p", "speed>1", "insns>many", ""] {
            assert!(gate.add(bad).is_err(), "{bad}");
        }
    }
}

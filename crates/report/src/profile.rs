//! The cost of a verification and where it arises, as tables and as JSON.

use crate::escape::{counted, printable};
use crate::json_text::{JsonForm, write_json_text};
use crate::layout::{Column, write_layout};
use crate::matrix::MatrixKernel;
use serde::Serialize;
use std::cmp::Ordering;
use std::io::{self, Write};
use std::ops::AddAssign;

/// Characters of a source line that a table shows.
const SOURCE_CHARS: usize = 60;

/// What was spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Spent {
    /// Insns walked.
    pub insns: u64,
    /// States kept.
    pub states: u64,
    /// Paths pruned because a saved state covers them.
    pub covered: u64,
    /// Comparisons with a saved state that does not cover the path.
    pub apart: u64,
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Spent) {
        self.insns += other.insns;
        self.states += other.states;
        self.covered += other.covered;
        self.apart += other.apart;
    }
}

/// A source location, or an insn without one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct ProfiledLine {
    /// `parse.c:12`, or `insn 7`.
    pub place: String,
    /// The line's text, or the insn's; only pages show its indentation.
    #[serde(serialize_with = "trimmed")]
    pub text: String,
}

/// By file, then line or insn: 2 is before 10.
impl Ord for ProfiledLine {
    fn cmp(&self, other: &ProfiledLine) -> Ordering {
        let parts = |line: &ProfiledLine| {
            let file = line.place.trim_end_matches(|c: char| c.is_ascii_digit());
            let number = line.place.get(file.len()..).and_then(|digits| digits.parse().ok());
            (file.to_owned(), number.unwrap_or(0u64))
        };
        let by_number = parts(self).cmp(&parts(other));
        by_number.then_with(|| (&self.place, &self.text).cmp(&(&other.place, &other.text)))
    }
}

impl PartialOrd for ProfiledLine {
    fn partial_cmp(&self, other: &ProfiledLine) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn trimmed<S: serde::Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text.trim())
}

/// A function of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FunctionCost {
    /// Its name.
    pub function: String,
    /// Spent in it.
    #[serde(flatten)]
    pub own: Spent,
    /// Insns including callees.
    pub insns_with_callees: u64,
}

/// A line of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineCost {
    /// Which.
    #[serde(flatten)]
    pub line: ProfiledLine,
    /// Spent there.
    #[serde(flatten)]
    pub spent: Spent,
}

/// Why states at a line were not pruned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApartReason {
    /// The insn with most of these comparisons.
    pub insn_idx: usize,
    /// Its line.
    pub at: ProfiledLine,
    /// What differs: `r6`, `fp-16`, or a description.
    pub what: String,
    /// Its value in a saved state; an example.
    pub saved: Option<String>,
    /// Its value on the path.
    pub current: Option<String>,
    /// The line that made the value precise.
    pub needed_by: Option<ProfiledLine>,
    /// Number of comparisons with this outcome.
    pub times: u64,
}

/// Insns that are walked one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FlowBlock {
    /// The place of the first: `parse.c:12`, or `insn 7`.
    pub at: String,
    /// The first.
    pub first_insn: usize,
    /// The last.
    pub last_insn: usize,
    /// How often a path came to the first.
    pub walked: u64,
    /// Paths that ended there, because a kept state covers them.
    pub covered: u64,
    /// Where it continues: after the last, and where that jumps to.
    pub next: Vec<String>,
}

/// What was spent on one stack of calls and lines, the outermost first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StackCost {
    /// Functions and lines.
    pub stack: Vec<String>,
    /// The cost at its last line.
    #[serde(flatten)]
    pub spent: Spent,
}

/// A program; each list has the most expensive first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProgProfile {
    /// The object's file.
    pub file: String,
    /// The program.
    pub prog: String,
    /// `success`, `failure` and so on.
    pub verdict: String,
    /// Why it is rejected.
    pub reason: Option<String>,
    /// The total cost.
    #[serde(flatten)]
    pub total: Spent,
    /// By function.
    pub functions: Vec<FunctionCost>,
    /// By line.
    pub lines: Vec<LineCost>,
    /// Why states were not pruned.
    pub kept_apart: Vec<ApartReason>,
    /// Its blocks, in the order of the program.
    pub flow: Vec<FlowBlock>,
    /// By call path.
    pub stacks: Vec<StackCost>,
}

/// `1 path was`, `2 paths were`.
fn counted_were(count: u64, what: &str) -> String {
    format!("{} {}", counted(count, what), if count == 1 { "was" } else { "were" })
}

/// Writes the tables of a program, each with at most `rows` rows.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_profile(out: &mut dyn Write, profile: &ProgProfile, rows: usize) -> io::Result<()> {
    let Spent { insns, states, covered, apart } = profile.total;
    let (prog, file) = (printable(&profile.prog), printable(&profile.file));
    let (insns, states) = (counted(insns, "insn"), counted(states, "state"));
    writeln!(out, "{prog} ({file}): {}, {insns}, {states};", profile.verdict)?;
    let paths = format!("{} pruned", counted_were(covered, "path"));
    let others = counted(apart, "comparison");
    writeln!(out, "{paths}, {others} with a saved state did not prune.")?;
    if let Some(reason) = profile.reason.as_ref().and_then(|reason| reason.lines().next()) {
        writeln!(out, "Rejected: {}", printable(reason))?;
    }
    writeln!(out)?;
    write_functions(out, profile, rows)?;
    writeln!(out)?;
    write_lines(out, profile, rows)?;
    if !profile.kept_apart.is_empty() {
        writeln!(out)?;
        write_reasons(out, profile, rows)?;
    }
    Ok(())
}

fn write_functions(out: &mut dyn Write, profile: &ProgProfile, rows: usize) -> io::Result<()> {
    let columns = ["Function", "Insns", "%", "With callees", "States", "Covered", "Apart"];
    let cells = profile.functions.iter().take(rows).map(|row| {
        let mut cells = vec![row.function.clone()];
        cells.extend(numbers(&row.own, &profile.total));
        cells.insert(3, row.insns_with_callees.to_string());
        cells
    });
    write_layout(out, &words_first(&columns, 1), &cells.collect::<Vec<_>>())
}

fn write_lines(out: &mut dyn Write, profile: &ProgProfile, rows: usize) -> io::Result<()> {
    let columns = ["Line", "Source", "Insns", "%", "States", "Covered", "Apart"];
    let cells = profile.lines.iter().take(rows).map(|row| {
        let mut cells = vec![row.line.place.clone(), shortened(&row.line.text)];
        cells.extend(numbers(&row.spent, &profile.total));
        cells
    });
    write_layout(out, &words_first(&columns, 2), &cells.collect::<Vec<_>>())
}

fn write_reasons(out: &mut dyn Write, profile: &ProgProfile, rows: usize) -> io::Result<()> {
    let columns = ["States saved at", "Difference", "Needed by", "Times", "%"];
    let cells = profile.kept_apart.iter().take(rows).map(|row| {
        let differs = match (&row.saved, &row.current) {
            (Some(saved), Some(current)) => format!("{}: {saved} / {current}", row.what),
            _ => row.what.clone(),
        };
        let needed_by = row
            .needed_by
            .as_ref()
            .map_or(String::new(), |line| format!("{} {}", line.place, shortened(&line.text)));
        let percent = percent(row.times, profile.total.apart);
        vec![row.at.place.clone(), shortened(&differs), needed_by, row.times.to_string(), percent]
    });
    write_layout(out, &words_first(&columns, 3), &cells.collect::<Vec<_>>())
}

/// Columns of which the first `words` are aligned left.
pub(crate) fn words_first(headings: &[&'static str], words: usize) -> Vec<Column> {
    let column = |(at, &heading)| match at < words {
        true => Column { header: heading, suffix: "", left_aligned: true },
        false => Column { header: "", suffix: heading, left_aligned: false },
    };
    headings.iter().enumerate().map(column).collect()
}

fn numbers(spent: &Spent, total: &Spent) -> [String; 5] {
    [
        spent.insns.to_string(),
        percent(spent.insns, total.insns),
        spent.states.to_string(),
        spent.covered.to_string(),
        spent.apart.to_string(),
    ]
}

/// A share with one decimal.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    let whole = u128::from(whole.max(1));
    let tenths = (u128::from(part) * 1000 + whole / 2) / whole;
    format!("{}.{}", tenths / 10, tenths % 10)
}

pub(crate) fn shortened(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(SOURCE_CHARS) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}

/// Writes all programs as JSON: `version`, which changes when a field is removed or changes its
/// meaning, and `programs`.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_profiles_json(
    out: &mut dyn Write,
    profiles: &[ProgProfile],
    kernel: Option<&MatrixKernel>,
) -> io::Result<()> {
    #[derive(Serialize)]
    struct Whole<'a> {
        version: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        kernel: Option<&'a MatrixKernel>,
        programs: &'a [ProgProfile],
    }
    write_json_text(out, &Whole { version: 1, kernel, programs: profiles }, JsonForm::Pretty)?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_in_the_order_of_their_numbers() {
        let line = |place: &str| ProfiledLine { place: place.into(), text: String::new() };
        let mut lines = ["insn 10", "a.c:9", "insn 2", "a.c:10", "a.c"].map(line);
        lines.sort();
        let places = lines.each_ref().map(|line| line.place.as_str());
        assert_eq!(places, ["a.c", "a.c:9", "a.c:10", "insn 2", "insn 10"]);
    }

    #[test]
    fn shares_are_rounded_and_long_lines_cut() {
        assert_eq!(percent(1, 3), "33.3");
        assert_eq!(percent(999, 1000), "99.9");
        assert_eq!(percent(12, 72), "16.7");
        assert_eq!(percent(0, 0), "0.0");
        assert_eq!(percent(u64::MAX, u64::MAX), "100.0");
        assert_eq!(shortened("\ta = b;"), "a = b;");
        assert_eq!(shortened(&"é".repeat(61)), format!("{}...", "é".repeat(60)));
    }
}

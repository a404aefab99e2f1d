//! The figures of a comparison.

use super::row::{Class, Row};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Reasons shown a class; the rest is in the CSV.
const REASONS_SHOWN: usize = 40;

/// The summary as text.
pub(super) fn of(rows: &[Row]) -> String {
    let count = |class: Class| rows.iter().filter(|row| row.class == class).count();
    let of = |classes: &[Class]| classes.iter().map(|&class| count(class)).sum::<usize>();
    let judged = rows.iter().filter(|row| !row.verdict_kernel.is_empty()).count();
    let verdict = of(&[Class::Log, Class::Counts, Class::Verdict]);
    let decided = verdict + of(&[Class::FalseAccept, Class::FalseReject]);
    let mut text = format!("programs {}\njudged by the kernel {judged}\n", rows.len());
    let mut share = |what: &str, part: usize, whole: usize| {
        let percent = if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 };
        let _ = writeln!(text, "{what:<44} {part:>6} of {whole:>6}  {percent:5.1} %");
    };
    share("verdict agrees, of judged", verdict, judged);
    share("verdict agrees, of those we decide", verdict, decided);
    let counts = of(&[Class::Log, Class::Counts]);
    share("insns and states equal, of verdict agrees", counts, verdict);
    share("log equal, of verdict agrees", count(Class::Log), verdict);
    let _ = writeln!(text, "{}", classes(rows));
    for class in [
        Class::NotJudged,
        Class::NotLoaded,
        Class::Unsupported,
        Class::FalseReject,
        Class::FalseAccept,
        Class::Bug,
    ] {
        reasons(rows, class, &mut text);
    }
    text
}

fn classes(rows: &[Row]) -> String {
    let of = |class: Class| rows.iter().filter(|row| row.class == class).count();
    Class::ALL.map(|class| format!("{} {}", class.name(), of(class))).join(", ")
}

fn reasons(rows: &[Row], class: Class, text: &mut String) {
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.class == class) {
        *counted.entry(row.reason.as_str()).or_default() += 1;
    }
    let mut sorted: Vec<_> = counted.into_iter().collect();
    sorted.sort_by_key(|&(reason, count)| (std::cmp::Reverse(count), reason));
    if !sorted.is_empty() {
        let _ = writeln!(text, "{}:", class.name());
    }
    for (reason, count) in sorted.iter().take(REASONS_SHOWN) {
        let _ = writeln!(text, "  {count:>5}  {reason}");
    }
    if sorted.len() > REASONS_SHOWN {
        let _ = writeln!(text, "         and {} more", sorted.len() - REASONS_SHOWN);
    }
}

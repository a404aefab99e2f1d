//! The totals of a comparison.

use super::row::{Class, Row};
use super::shape::shape;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Number of reasons shown per class; the rest is in the CSV.
const REASONS_SHOWN: usize = 30;

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
    let _ = writeln!(text, "{}", times(rows));
    slower(rows, &mut text);
    for class in [
        Class::NotJudged,
        Class::NotLoaded,
        Class::Unsupported,
        Class::FalseReject,
        Class::FalseAccept,
        Class::Bug,
    ] {
        let of_class = rows.iter().filter(|row| row.class == class);
        counted(class.name(), of_class.map(|row| row.reason.clone()), &mut text);
    }
    let differing = rows.iter().filter(|row| row.log_line != 0 && row.class.rank() > 0);
    counted("first differing log line", differing.map(difference), &mut text);
    text
}

/// Times of programs with both verdicts; ours is measured around the call, the kernel's is its own.
fn times(rows: &[Row]) -> String {
    let both = || rows.iter().filter(|row| row.class.rank() > 0);
    let ours: u64 = both().map(|row| row.time_ours_us).sum();
    let kernel: u64 = both().map(|row| row.time_kernel_us).sum();
    format!("time where the verdict agrees: ours {} ms, kernel {} ms", ours / 1000, kernel / 1000)
}

/// Programs that take skep longer than the kernel, worst first.
fn slower(rows: &[Row], text: &mut String) {
    let mut slow: Vec<&Row> = rows.iter().filter(|row| row.is_slow()).collect();
    let ratio = |row: &Row| row.time_ours_us * 1000 / row.time_kernel_us.max(1);
    slow.sort_by_key(|row| std::cmp::Reverse(ratio(row)));
    let _ = writeln!(text, "programs that took longer than in the kernel: {}", slow.len());
    for row in slow.iter().take(REASONS_SHOWN) {
        let (ours, kernel) = (row.time_ours_us, row.time_kernel_us);
        let _ =
            writeln!(text, "  {}:{} ours {ours} us, kernel {kernel} us", row.object, row.program);
    }
}

/// Both lines without their numbers, so that differences of the same kind are counted together.
fn difference(row: &Row) -> String {
    format!("- {}\n         + {}", shape(&row.log_ours), shape(&row.log_kernel))
}

fn classes(rows: &[Row]) -> String {
    let of = |class: Class| rows.iter().filter(|row| row.class == class).count();
    Class::ALL.map(|class| format!("{} {}", class.name(), of(class))).join(", ")
}

/// Reasons and their counts, most frequent first.
fn counted(title: &str, reasons: impl Iterator<Item = String>, text: &mut String) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for reason in reasons {
        *counts.entry(reason).or_default() += 1;
    }
    let mut sorted: Vec<_> = counts.into_iter().collect();
    sorted.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
    if !sorted.is_empty() {
        let _ = writeln!(text, "{title}:");
    }
    for (reason, count) in sorted.iter().take(REASONS_SHOWN) {
        let _ = writeln!(text, "  {count:>5}  {reason}");
    }
    if sorted.len() > REASONS_SHOWN {
        let _ = writeln!(text, "         and {} more", sorted.len() - REASONS_SHOWN);
    }
}

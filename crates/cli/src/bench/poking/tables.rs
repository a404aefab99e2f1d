//! The tables of `skep bench poke`, as Markdown.

use super::Answer;
use crate::bench::figures;
use crate::flags::BenchPokeFlags;
use crate::streams::Streams;
use skep_bench::Unit;
use skep_bench::poke::{Checked, Toggled};
use skep_report::Grid;
use std::io;

pub(super) fn print(
    flags: &BenchPokeFlags,
    answer: &Answer,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let mut parts = Vec::new();
    for &threads in &flags.threads {
        let rows: Vec<&Toggled> =
            answer.toggles.iter().filter(|row| row.threads == threads).collect();
        if !rows.is_empty() {
            parts.push(format!("{threads} running:\n\n{}", toggles(&rows)));
        }
    }
    if !answer.sharing.is_empty() {
        parts.push(sharing(flags, answer));
    }
    if !answer.controls.is_empty() {
        let mut grid = Grid::new(&["patched wrongly, in a process of its own", "it"], 2);
        for row in &answer.controls {
            grid.row([row.control.name().to_owned(), row.outcome.clone()]);
        }
        parts.push(grid.to_string());
    }
    parts.extend(answer.checked.as_ref().map(checked));
    writeln!(streams.out, "{}", parts.join("\n\n"))
}

fn us(us: f64) -> String {
    figures::value(us, Unit::Micros)
}

fn toggles(rows: &[&Toggled]) -> String {
    let headings = [
        "switching",
        "sites",
        "median us",
        "p99 us",
        "toggles",
        "throughput",
        "95 % interval",
        "executions",
        "wrong",
        "late",
        "traps a toggle",
    ];
    let mut grid = Grid::new(&headings, 1);
    for row in rows {
        let latency = row.latency_us.as_ref();
        let throughput = row.throughput.as_ref();
        grid.row([
            row.mechanism.name().to_owned(),
            figures::count(u64::from(row.sites)),
            latency.map_or_else(String::new, |latency| us(latency.median)),
            us(row.p99_us),
            latency.map_or_else(String::new, |latency| figures::count(latency.count as u64)),
            throughput.map_or_else(String::new, |ratio| figures::ratio(ratio.value)),
            throughput.map_or_else(String::new, figures::interval),
            figures::count(row.seen.executions),
            figures::count(row.seen.wrong),
            match row.mechanism.is_bound() {
                true => figures::count(row.seen.late),
                false => format!("({})", figures::count(row.seen.late)),
            },
            if row.traps > 0.0 { format!("{:.1}", row.traps) } else { "-".to_owned() },
        ]);
    }
    grid.to_string()
}

fn sharing(flags: &BenchPokeFlags, answer: &Answer) -> String {
    let mut headings = vec!["ns a count".to_owned()];
    headings.extend(flags.threads.iter().map(|threads| format!("{threads} running")));
    headings.extend(["the last to the first".to_owned(), "95 % interval".to_owned()]);
    let mut grid = Grid::new(&headings.iter().map(String::as_str).collect::<Vec<_>>(), 1);
    for row in &answer.sharing {
        let mut cells = vec![row.layout.name().to_owned()];
        let ns = |ns: &Option<skep_bench::Spread>| {
            ns.map_or_else(String::new, |ns| format!("{:.2}", ns.median))
        };
        cells.extend(row.ns.iter().map(ns));
        cells.push(row.ratio.as_ref().map_or_else(String::new, |r| figures::ratio(r.value)));
        cells.push(row.ratio.as_ref().map_or_else(String::new, figures::interval));
        grid.row(cells);
    }
    grid.to_string()
}

fn checked(row: &Checked) -> String {
    format!(
        "{} executions of {} sites by {} threads, switched {} times in {:.1} s: {} wrong, {} late.",
        figures::count(row.seen.executions),
        row.sites,
        row.threads,
        figures::count(row.toggles),
        row.elapsed_s,
        figures::count(row.seen.wrong),
        figures::count(row.seen.late),
    )
}

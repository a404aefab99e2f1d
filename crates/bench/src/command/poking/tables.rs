//! The tables of `skep-bench poke`, as Markdown.

use super::answer::Answer;
use crate::command::figures;
use crate::command::flags::PokeFlags;
use crate::poke::cost::Cost;
use crate::poke::estimate::Estimated;
use crate::poke::library::Library;
use crate::poke::off::{Off, off_means};
use crate::poke::{Checked, Toggled};
use crate::{Ratio, Unit};
use skep_cli::Streams;
use skep_report::Grid;
use std::io;

pub(super) fn print(
    flags: &PokeFlags,
    answer: &Answer,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let mut parts = Vec::new();
    let alike = |a: &Toggled, b: &Toggled| (a.threads, a.kind) == (b.threads, b.kind);
    for rows in answer.toggles.chunk_by(alike) {
        let (threads, kind) = (rows[0].threads, rows[0].kind.name());
        parts.push(format!("{kind}, {threads} running:\n\n{}", toggles(rows)));
    }
    for rows in answer.library.chunk_by(|a, b| a.threads == b.threads) {
        parts.push(format!("the library, {} running:\n\n{}", rows[0].threads, library(rows)));
    }
    if !answer.off.is_empty() {
        parts.push(off(&answer.off));
    }
    if !answer.costs.is_empty() {
        parts.push(costs(flags, &answer.costs));
    }
    if !answer.hops.is_empty() {
        let mut grid = Grid::new(&["statistics, ns per tail call", "", "above no sites"], 1);
        for row in &answer.hops {
            let ns = |ns: Option<f64>| ns.map_or_else(String::new, |ns| format!("{ns:.2}"));
            let above = row.above.map_or_else(String::new, |above| format!("{above:+.2}"));
            grid.row([row.setting.to_owned(), ns(row.ns), above]);
        }
        parts.push(grid.to_string());
    }
    if !answer.estimates.is_empty() {
        parts.push(estimates(&answer.estimates));
    }
    if !answer.sharing.is_empty() {
        parts.push(sharing(flags, answer));
    }
    if !answer.controls.is_empty() {
        let mut grid = Grid::new(&["negative control, in its own process", "outcome"], 2);
        for row in &answer.controls {
            grid.row([row.control.name().to_owned(), row.outcome.clone()]);
        }
        parts.push(grid.to_string());
    }
    parts.extend(answer.checked.iter().map(checked));
    writeln!(streams.out, "{}", parts.join("\n\n"))
}

fn us(us: f64) -> String {
    figures::value(us, Unit::Micros)
}

fn toggles(rows: &[Toggled]) -> String {
    let headings = [
        "method",
        "sites",
        "median us",
        "p99 us",
        "changes",
        "throughput",
        "95 % interval",
        "executions",
        "wrong",
        "late",
        "traps per change",
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

fn library(rows: &[Library]) -> String {
    let headings = ["call", "programs", "sites each", "median us", "p99 us", "calls"];
    let mut grid = Grid::new(&headings, 1);
    let mut notes = Vec::new();
    for row in rows {
        for call in &row.calls {
            let latency = call.latency_us.as_ref();
            grid.row([
                call.call.to_owned(),
                figures::count(u64::from(row.programs)),
                row.sites_each.to_string(),
                latency.map_or_else(String::new, |latency| us(latency.median)),
                us(call.p99_us),
                latency.map_or_else(String::new, |latency| figures::count(latency.count as u64)),
            ]);
        }
        let count = figures::count;
        notes.push(format!(
            "{} programs: {} runs ({} between two changes of the slot): {} wrong, {} late; {} counted, of {} to {}.",
            count(u64::from(row.programs)),
            count(row.seen.executions),
            count(row.seen.settled),
            count(row.seen.wrong),
            count(row.seen.late),
            count(row.run_cnt),
            count(row.counted_least),
            count(row.counted_most),
        ));
    }
    format!("{grid}\n\n{}", notes.join("\n"))
}

fn grid(headings: &[String]) -> Grid {
    Grid::new(&headings.iter().map(String::as_str).collect::<Vec<_>>(), 1)
}

/// `+3 % (1.021 to 1.034)`, or that there is no measurable difference.
fn said(ratio: Option<&Ratio>) -> String {
    ratio.map_or_else(String::new, |ratio| {
        format!("{} ({})", figures::conclusion(ratio), figures::interval(ratio))
    })
}

fn off(rows: &[Off]) -> String {
    let headings = [
        "off, ns per run",
        "no sites",
        "sites",
        "flags",
        "places",
        "sites against none",
        "flags against none",
    ];
    let mut grid = Grid::new(&headings, 1);
    for row in rows {
        let mut cells = vec![row.program.to_owned()];
        let ns = |ns: Option<f64>| ns.map_or_else(String::new, |ns| format!("{ns:.2}"));
        cells.extend(row.engines.iter().map(|engine| ns(engine.median())));
        cells.push(row.places.1.to_string());
        cells.extend([said(row.sites.as_ref()), said(row.flag.as_ref())]);
        grid.row(cells);
    }
    let mut cells = vec!["geometric mean".to_owned()];
    cells.extend([const { String::new() }; 4]);
    cells.extend(off_means(rows).iter().map(|mean| said(mean.as_ref())));
    grid.row(cells);
    grid.to_string()
}

fn costs(flags: &PokeFlags, rows: &[Cost]) -> String {
    let mut headings = vec!["statistics, ns per run".to_owned()];
    for threads in &flags.threads {
        headings.extend([format!("{threads} running"), "above no sites".to_owned()]);
    }
    headings.extend(["ratio, last to first".to_owned(), "runs".to_owned(), "counted".to_owned()]);
    let mut grid = grid(&headings);
    for row in rows {
        let mut cells = vec![row.setting.to_owned()];
        for (ns, above) in row.ns.iter().zip(&row.above) {
            cells.push(ns.map_or_else(String::new, |ns| format!("{:.2}", ns.median)));
            cells.push(above.map_or_else(String::new, |above| format!("{above:+.2}")));
        }
        cells.push(row.threads_ratio.as_ref().map_or_else(String::new, |ratio| {
            format!("{} ({})", figures::ratio(ratio.value), figures::interval(ratio))
        }));
        cells.extend([figures::count(row.runs), figures::count(row.run_cnt)]);
        grid.row(cells);
    }
    grid.to_string()
}

fn estimates(rows: &[Estimated]) -> String {
    let headings =
        ["run_time_ns per run", "every run timed", "1 in 64 timed", "estimate against exact"];
    let mut grid = Grid::new(&headings, 1);
    for row in rows {
        let ns = |ns: &Option<crate::Spread>| {
            ns.map_or_else(String::new, |ns| format!("{:.1}", ns.median))
        };
        grid.row([
            row.program.to_owned(),
            ns(&row.exact_ns),
            ns(&row.estimate_ns),
            said(row.ratio.as_ref()),
        ]);
    }
    grid.to_string()
}

fn sharing(flags: &PokeFlags, answer: &Answer) -> String {
    let mut headings = vec!["ns per count".to_owned()];
    headings.extend(flags.threads.iter().map(|threads| format!("{threads} running")));
    headings.extend(["ratio, last to first".to_owned(), "95 % interval".to_owned()]);
    let mut grid = grid(&headings);
    for row in &answer.sharing {
        let mut cells = vec![row.layout.name().to_owned()];
        let ns = |ns: &Option<crate::Spread>| {
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
        "{}: {} executions ({} of them between two changes) of {} sites by {} threads, changed {} times in {:.1} s: {} wrong, {} late.",
        row.kind.name(),
        figures::count(row.seen.executions),
        figures::count(row.seen.settled),
        row.sites,
        row.threads,
        figures::count(row.toggles),
        row.elapsed_s,
        figures::count(row.seen.wrong),
        figures::count(row.seen.late),
    )
}

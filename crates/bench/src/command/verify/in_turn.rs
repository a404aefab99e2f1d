//! Two settings in turn (or one alone): every metric with its spread, the ratio and its interval.

use super::settings::{Run, is_ended};
use super::sides::Side;
use super::subjects::{Subject, Subjects};
use super::worker;
use crate::command::figures::{self, NOT_COUNTED};
use crate::command::progress::{Outcome, Progress};
use crate::verification::{Counter, Counts, counters, counts, verify};
use crate::{Cost, METRICS, Meter, Metric, MetricDef, Ratio, Spread, geometric_mean, interleave};
use serde::Serialize;
use skep_cli::Error;
use skep_cli::Exit;
use skep_cli::Streams;
use skep_report::Grid;
use std::io;
use std::time::Instant;

/// Verifications of short programs are repeated for this long per sample.
const MEASUREMENT_US: f64 = 2_000.0;
const ITERATIONS_MAX: f64 = 1_000.0;

/// One verification.
struct Sample {
    cost: Cost,
    counts: Counts,
    counters: Vec<Counter>,
}

/// Results of one program.
#[derive(Serialize)]
struct Measured {
    program: String,
    rounds: usize,
    counts: Counts,
    metrics: Vec<Row>,
    /// By side; the same in every round.
    counters: Vec<Vec<Counter>>,
}

/// One metric.
#[derive(Serialize)]
struct Row {
    metric: &'static str,
    #[serde(skip)]
    def: &'static MetricDef,
    /// By side; `null` where the machine does not count it.
    sides: Vec<Option<Spread>>,
    /// B over A.
    ratio: Option<Ratio>,
}

/// All results, for JSON.
#[derive(Serialize)]
struct Answer<'a> {
    mode: &'static str,
    sides: &'a [Side],
    programs: Vec<Measured>,
    /// Of the CPU time, B over A.
    geometric_mean: Option<Ratio>,
}

pub(super) fn run(run: &Run<'_>, streams: &mut Streams<'_>) -> Outcome {
    let subjects = Subjects::find(run, streams)?;
    let mut exit = subjects.exit;
    let mut answer = Answer {
        mode: if run.flags.cold { "cold" } else { "warm" },
        sides: &run.sides,
        programs: Vec::new(),
        geometric_mean: None,
    };
    let progress = Progress::new(streams, subjects.len());
    for subject in subjects.iter().take(subjects.len()) {
        if is_ended(&mut exit) {
            break;
        }
        let tick = progress.program(answer.programs.len(), &subject.name);
        match measure(run, &subject, tick) {
            Err(message) => {
                streams.error(format!("{}: {message}", subject.name))?;
                exit.raise(Exit::Input);
            }
            Ok(Err(difference)) => {
                let name = &subject.name;
                streams.error(format!("{name}: A and B DO NOT COUNT THE SAME: {difference}"))?;
                exit.raise(Exit::Refused);
            }
            Ok(Ok(measured)) => {
                if !run.flags.json {
                    progress.bar.suspend(|| table(run, &measured, streams))?;
                    // The row is visible while the next program is measured.
                    streams.out.flush()?;
                }
                answer.programs.push(measured);
            }
        }
    }
    drop(progress);
    let cpu = |measured: &Measured| cpu_row(measured)?.ratio.clone();
    let ratios: Vec<Ratio> = answer.programs.iter().filter_map(cpu).collect();
    answer.geometric_mean = geometric_mean(&ratios);
    if run.flags.json {
        crate::command::progress::write_json(&answer, streams)?;
    } else if let (Some(mean), 2..) = (&answer.geometric_mean, answer.programs.len()) {
        summary(&answer.programs, mean, streams)?;
    }
    Ok(Ok(exit))
}

/// The row of the CPU time, which other load on the machine affects least.
fn cpu_row(measured: &Measured) -> Option<&Row> {
    measured.metrics.iter().find(|row| row.def.metric == Metric::Cpu)
}

/// The CPU time of all programs, where there are several.
fn summary(programs: &[Measured], mean: &Ratio, streams: &mut Streams<'_>) -> io::Result<()> {
    let headings =
        ["Program", "Insns", "A, us", "B, us", "B/A", "95 % interval", "B against A: CPU time"];
    let mut grid = Grid::new(&headings, 1);
    for measured in programs {
        let Some(row) = cpu_row(measured) else { continue };
        let us = |side: usize| {
            let spread = row.sides.get(side).and_then(Option::as_ref);
            spread.map_or_else(String::new, |spread| figures::spread(spread, row.def))
        };
        let mut cells =
            vec![measured.program.clone(), figures::count(measured.counts.insns), us(0), us(1)];
        cells.extend(ratio_cells(row.ratio.as_ref()));
        grid.row(cells);
    }
    let mut cells = vec!["geometric mean".to_owned(), String::new(), String::new(), String::new()];
    cells.extend(ratio_cells(Some(mean)));
    grid.row(cells);
    writeln!(streams.out, "{grid}")
}

fn ratio_cells(ratio: Option<&Ratio>) -> [String; 3] {
    ratio.map_or_else(Default::default, |ratio| {
        [figures::ratio(ratio.value), figures::interval(ratio), figures::conclusion(ratio)]
    })
}

/// The inner error says how the two sides differ in counts that must be equal.
fn measure(
    run: &Run<'_>,
    subject: &Subject,
    progress: impl FnMut(f64),
) -> Result<Result<Measured, String>, Error> {
    let samples = match run.flags.cold {
        true => cold(run, subject, progress),
        false => warm(run, subject, progress),
    }?;
    let counted = |side: &Vec<Sample>| side.first().map(|sample| sample.counts).unwrap_or_default();
    let first = counted(&samples[0]);
    if let Some(other) = samples.iter().map(counted).find(|other| *other != first) {
        return Ok(Err(first.difference(&other)));
    }
    Ok(Ok(Measured {
        program: subject.name.clone(),
        rounds: samples[0].len(),
        counts: first,
        metrics: METRICS.iter().map(|def| row(def, &samples)).collect(),
        counters: samples.iter().filter_map(|side| Some(side.first()?.counters.clone())).collect(),
    }))
}

/// In this process, repeatedly.
fn warm(
    run: &Run<'_>,
    subject: &Subject,
    progress: impl FnMut(f64),
) -> Result<Vec<Vec<Sample>>, Error> {
    let configs: Vec<_> = run.sides.iter().map(|side| run.config(side)).collect();
    let started = Instant::now();
    counts(&verify(&subject.program, &configs[0]))?;
    let once_us = started.elapsed().as_secs_f64() * 1e6;
    let iterations = (MEASUREMENT_US / once_us).ceil().clamp(1.0, ITERATIONS_MAX) as u64;
    let mut meter = Meter::new();
    let once = |side: usize| {
        let (outcome, cost) = meter.measure(|| {
            for _ in 1..iterations {
                verify(&subject.program, &configs[side]);
            }
            verify(&subject.program, &configs[side])
        });
        let (cost, counters) = (cost.per(iterations), counters(&outcome));
        Ok(Sample { cost, counts: counts(&outcome)?, counters })
    };
    interleave(run.rounds, configs.len(), once, progress)
}

/// Each time in a new process, which has never verified before.
fn cold(
    run: &Run<'_>,
    subject: &Subject,
    progress: impl FnMut(f64),
) -> Result<Vec<Vec<Sample>>, Error> {
    let once = |side: usize| {
        let mut command = worker::command(run, subject, &run.sides[side])?;
        let report = worker::report(command.arg("--repeat=1"))?;
        Ok(Sample { cost: report.cost, counts: report.counts, counters: report.counters })
    };
    interleave(run.rounds, run.sides.len(), once, progress)
}

fn row(def: &'static MetricDef, samples: &[Vec<Sample>]) -> Row {
    let of_side = |side: &Vec<Sample>| -> Vec<f64> {
        side.iter().filter_map(|sample| sample.cost.get(def.metric)).collect()
    };
    let values: Vec<Vec<f64>> = samples.iter().map(of_side).collect();
    let ratio = match values.as_slice() {
        [a, b] => Ratio::of_centres(b, a, def.centre),
        _ => None,
    };
    let sides = values.iter().map(|values| Spread::of(values)).collect();
    Row { metric: def.name, def, sides, ratio }
}

fn table(run: &Run<'_>, measured: &Measured, streams: &mut Streams<'_>) -> io::Result<()> {
    let counts = &measured.counts;
    writeln!(
        streams.out,
        "{}: {} insns, {} states, {}; {} rounds, {}",
        skep_report::printable(&measured.program),
        figures::count(counts.insns),
        figures::count(counts.states),
        if counts.accepted { "accepted" } else { "refused" },
        measured.rounds,
        if run.flags.cold { "each in a new process" } else { "warm" },
    )?;
    let titles: Vec<String> = run.sides.iter().map(Side::title).collect();
    let mut headings = vec!["Median ± half the interquartile range (mean where marked)"];
    headings.extend(titles.iter().map(String::as_str));
    if run.sides.len() == 2 {
        headings.extend(["B/A", "95 % interval", "B against A"]);
    }
    let mut grid = Grid::new(&headings, 1);
    for row in &measured.metrics {
        grid.row(cells(row, run.sides.len()));
    }
    writeln!(streams.out, "{grid}\n\n{}\n", counter_table(&titles, measured))
}

/// Other counts of a verification, which are the same in every round.
fn counter_table(titles: &[String], measured: &Measured) -> Grid {
    let mut headings = vec!["Counted in each verification"];
    headings.extend(titles.iter().map(String::as_str));
    let mut grid = Grid::new(&headings, 1);
    let names = measured.counters.first().into_iter().flatten();
    for (index, Counter { name, .. }) in names.enumerate() {
        let value = |side: &Vec<Counter>| {
            figures::count(side.get(index).map_or(0, |counter| counter.value))
        };
        grid.row(std::iter::once(name.clone()).chain(measured.counters.iter().map(value)));
    }
    grid
}

fn cells(row: &Row, sides: usize) -> Vec<String> {
    let def = row.def;
    let mut cells = vec![figures::metric(def)];
    for side in &row.sides {
        let shown = side.as_ref().map(|spread| figures::spread(spread, def));
        cells.push(shown.unwrap_or_else(|| NOT_COUNTED.to_owned()));
    }
    if sides == 2 {
        cells.extend(ratio_cells(row.ratio.as_ref()));
    }
    cells
}

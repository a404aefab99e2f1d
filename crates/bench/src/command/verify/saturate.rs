//! `--saturate N`: N processes verify the same program at once for a fixed time; totals and figures
//! per iteration, laid out as `perf stat` does.

use super::settings::{Run, is_ended};
use super::sides::Side;
use super::subjects::{Subject, Subjects};
use super::worker;
use crate::command::figures;
use crate::command::progress::{Outcome, Progress};
use crate::verification::Counts;
use crate::{Cost, METRICS, Metric, Ratio, Report, Rounds, Totals, Unit, interleave};
use serde::Serialize;
use skep_cli::Error;
use skep_cli::Exit;
use skep_cli::Streams;
use std::io;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// With two sides the time is cut into slices, which alternate.
const SLICES: u32 = 8;

#[derive(Serialize)]
struct Measured {
    program: String,
    counts: Counts,
    sides: Vec<Totalled>,
    /// B over A per iteration, slice by slice.
    wall_ratio: Option<Ratio>,
    cpu_ratio: Option<Ratio>,
}

/// One side.
#[derive(Serialize)]
struct Totalled {
    side: Side,
    /// Seconds that passed.
    elapsed_s: f64,
    #[serde(flatten)]
    totals: Totals,
    #[serde(skip)]
    per_slice: Vec<Cost>,
}

#[derive(Serialize)]
struct Answer {
    mode: &'static str,
    instances: u32,
    programs: Vec<Measured>,
}

/// Result of one slice of time.
type Slice = (Vec<Report>, Duration);

pub(super) fn run(run: &Run<'_>, streams: &mut Streams<'_>) -> Outcome {
    let instances = run.flags.saturate.unwrap_or(1);
    let subjects = Subjects::find(run, streams)?;
    let mut exit = subjects.exit;
    let mut answer = Answer { mode: "saturate", instances, programs: Vec::new() };
    let progress = Progress::new(streams, subjects.len());
    for subject in subjects.iter().take(subjects.len()) {
        if is_ended(&mut exit) {
            break;
        }
        let tick = progress.program(answer.programs.len(), &subject.name);
        match measure(run, &subject, instances, tick) {
            Ok(measured) => answer.programs.push(measured),
            Err(message) => {
                streams.error(format!("{}: {message}", subject.name))?;
                exit.raise(Exit::Input);
            }
        }
    }
    drop(progress);
    if run.flags.json {
        crate::command::progress::write_json(&answer, streams)?;
    } else {
        answer.programs.iter().try_for_each(|measured| print(measured, streams))?;
    }
    Ok(Ok(exit))
}

fn measure(
    run: &Run<'_>,
    subject: &Subject,
    instances: u32,
    progress: impl FnMut(f64),
) -> Result<Measured, Error> {
    let Rounds::Time(time) = run.rounds else { return Err("a time is needed".into()) };
    let slices = if run.sides.len() == 1 { 1 } else { SLICES };
    let slice = |side: usize| at_once(run, subject, &run.sides[side], instances, time / slices);
    let taken = interleave(Rounds::Repeat(slices), run.sides.len(), slice, progress)?;
    let sides: Vec<Totalled> =
        run.sides.iter().zip(&taken).map(|(side, slices)| totalled(side, slices)).collect();
    let counts = taken.iter().flatten().flat_map(|(reports, _)| reports).map(|r| r.counts);
    let counts: Vec<Counts> = counts.collect();
    let first = counts.first().copied().unwrap_or_default();
    if let Some(other) = counts.iter().find(|other| **other != first) {
        return Err(format!("COUNTS DIFFER: {}", first.difference(other)).into());
    }
    let [wall_ratio, cpu_ratio] = [Metric::Wall, Metric::Cpu].map(|metric| {
        let of = |side: &Totalled| -> Vec<f64> {
            side.per_slice.iter().filter_map(|cost| cost.get(metric)).collect()
        };
        match sides.as_slice() {
            [a, b] => Ratio::of(&of(b), &of(a)),
            _ => None,
        }
    });
    Ok(Measured { program: subject.name.clone(), counts: first, sides, wall_ratio, cpu_ratio })
}

/// Starts all processes and waits for them.
fn at_once(
    run: &Run<'_>,
    subject: &Subject,
    side: &Side,
    instances: u32,
    time: Duration,
) -> Result<Slice, Error> {
    let started = Instant::now();
    let start = |_| {
        let mut command = worker::command(run, subject, side)?;
        command.arg(format!("--time={}", time.as_secs_f64()));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().map_err(|e| Error::io("while starting a process", e))
    };
    let children = (0..instances).map(start).collect::<Result<Vec<_>, Error>>()?;
    let mut reports = Vec::new();
    for child in children {
        let output = child.wait_with_output().map_err(Error::caused)?;
        reports.push(worker::read(&output)?);
    }
    Ok((reports, started.elapsed()))
}

fn totalled(side: &Side, slices: &[Slice]) -> Totalled {
    let reports: Vec<Report> = slices.iter().flat_map(|(reports, _)| reports).cloned().collect();
    let per_slice = |(reports, _): &Slice| Totals::of(reports).per_iteration;
    Totalled {
        side: side.clone(),
        elapsed_s: slices.iter().map(|(_, elapsed)| elapsed.as_secs_f64()).sum(),
        totals: Totals::of(&reports),
        per_slice: slices.iter().map(per_slice).collect(),
    }
}

fn print(measured: &Measured, streams: &mut Streams<'_>) -> io::Result<()> {
    for side in &measured.sides {
        perf_stat(measured, side, streams)?;
    }
    let ratios = [("wall", &measured.wall_ratio), ("CPU", &measured.cpu_ratio)];
    for (what, ratio) in ratios {
        let Some(ratio) = ratio else { continue };
        writeln!(
            streams.out,
            " {what} time per iteration, B/A: {} ({}): {}",
            figures::ratio(ratio.value),
            figures::interval(ratio),
            figures::conclusion(ratio)
        )?;
    }
    Ok(())
}

/// The layout of `perf stat`, each figure followed by that per iteration.
fn perf_stat(measured: &Measured, side: &Totalled, streams: &mut Streams<'_>) -> io::Result<()> {
    let (totals, out) = (&side.totals, &mut streams.out);
    let name = skep_report::printable(&measured.program);
    writeln!(
        out,
        "\n Counter stats for {} processes, '{name}' ({}):\n",
        totals.instances,
        side.side.title()
    )?;
    let cpu_us = [Metric::User, Metric::System].map(|m| totals.total.get(m).unwrap_or(0.0));
    let cpu_ms = (cpu_us[0] + cpu_us[1]) / 1e3;
    let per = |value: f64| value / totals.iterations.max(1) as f64;
    let mut line = |value: String, what: &str, note: String| {
        let note = if note.is_empty() { note } else { format!(" # {note}") };
        writeln!(out, "{value:>20}      {what:<20}{note}")
    };
    let rate = totals.iterations as f64 / side.elapsed_s.max(f64::MIN_POSITIVE);
    line(figures::count(totals.iterations), "iterations", format!("{rate:.1} /sec"))?;
    let used = cpu_ms / 1e3 / side.elapsed_s.max(f64::MIN_POSITIVE);
    let each = figures::value(per(cpu_ms) * 1e3, Unit::Micros);
    let note = format!("{used:.3} CPUs utilized, {each} us per iteration");
    line(figures::value(cpu_ms, Unit::Count) + " msec", "task-clock", note)?;
    for def in METRICS.iter().filter(|def| def.unit == Unit::Count) {
        let (value, note) = match totals.total.get(def.metric) {
            Some(value) => {
                let each = figures::value(per(value), def.unit);
                (figures::value(value, def.unit), format!("{each} per iteration"))
            }
            None => (format!("<{}>", figures::NOT_COUNTED), String::new()),
        };
        line(value, def.name, note)?;
    }
    if let Some(peak) = totals.total.get(Metric::RssPeak) {
        let value = figures::value(peak, Unit::Bytes) + " KiB";
        line(value, "peak-rss", "largest of the processes".to_owned())?;
    }
    writeln!(out, "\n{:>20.6} seconds time elapsed\n", side.elapsed_s)?;
    writeln!(out, "{:>20.6} seconds user", cpu_us[0] / 1e6)?;
    writeln!(out, "{:>20.6} seconds sys\n", cpu_us[1] / 1e6)
}

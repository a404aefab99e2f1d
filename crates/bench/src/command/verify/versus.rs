//! skep and the host kernel in turn: equal counts, and the ratio of times.

use super::settings::{Run, is_ended};
use super::subjects::Subjects;
use crate::command::figures;
use crate::command::progress::{Outcome, Progress};
use crate::verification::Counts;
use crate::{KernelComparison, Ratio, Spread, Unit, geometric_mean};
use serde::Serialize;
use skep_cli::Error;
use skep_cli::Exit;
use skep_cli::Streams;
use skep_report::Grid;

/// One program.
#[derive(Serialize)]
struct Measured {
    program: String,
    kernel: Counts,
    skep: Counts,
    kernel_us: Spread,
    skep_us: Spread,
    /// How many times faster, by the best of each.
    best_ratio: f64,
    /// ... by the medians.
    median_ratio: Ratio,
}

#[derive(Serialize)]
struct Answer {
    mode: &'static str,
    programs: Vec<Measured>,
    /// Programs for which one of the two gives no verdict, and why.
    not_judged: Vec<(String, String)>,
    geometric_mean_best: Option<f64>,
    geometric_mean_median: Option<Ratio>,
}

pub(super) fn run(run: &Run<'_>, streams: &mut Streams<'_>) -> Outcome {
    if let Err(errno) = skep_kernel::bpf::available() {
        writeln!(streams.out, "skipped: the kernel is not accessible ({errno})")?;
        return Ok(Ok(Exit::Success));
    }
    let subjects = Subjects::find(run, streams)?;
    let Some(side) = run.sides.first() else { return Ok(Err("no settings".into())) };
    let config = run.config(side);
    let mut answer = Answer {
        mode: "kernel",
        programs: Vec::new(),
        not_judged: Vec::new(),
        geometric_mean_best: None,
        geometric_mean_median: None,
    };
    let mut exit = subjects.exit;
    let progress = Progress::new(streams, subjects.len());
    for subject in subjects.iter() {
        if answer.programs.len() == subjects.len() || is_ended(&mut exit) {
            break;
        }
        let tick = progress.program(answer.programs.len(), &subject.name);
        let measured = KernelComparison::run(&subject.program, &config, run.rounds, tick)
            .map_err(Error::caused)
            .and_then(|comparison| measured(&subject.name, &comparison));
        match measured {
            Ok(measured) => answer.programs.push(measured),
            Err(reason) => answer.not_judged.push((subject.name, reason.to_string())),
        }
    }
    drop(progress);
    let best = answer.programs.iter().map(|program| program.best_ratio.ln());
    let count = answer.programs.len();
    answer.geometric_mean_best = (count > 0).then(|| (best.sum::<f64>() / count as f64).exp());
    let ratios = answer.programs.iter().map(|program| program.median_ratio.clone());
    answer.geometric_mean_median = geometric_mean(&ratios.collect::<Vec<_>>());
    print(run, &answer, streams)?;
    for program in answer.programs.iter().filter(|program| program.skep != program.kernel) {
        let difference = program.skep.difference(&program.kernel);
        let name = &program.program;
        streams.error(format!("{name}: COUNTS DIFFER (skep/kernel): {difference}"))?;
        exit.raise(Exit::Refused);
    }
    if answer.programs.is_empty() && exit == Exit::Success {
        streams.error("no program was judged by both")?;
        exit.raise(Exit::Input);
    }
    Ok(Ok(exit))
}

fn measured(program: &str, comparison: &KernelComparison) -> Result<Measured, Error> {
    // The kernel counts whole microseconds; a walk of 0 has no ratio.
    let too_short = || Error::from("too short for the kernel's clock");
    let kernel_us = Spread::of(&comparison.kernel_us).ok_or_else(too_short)?;
    let skep_us = Spread::of(&comparison.skep_us).ok_or_else(too_short)?;
    if kernel_us.best == 0.0 {
        return Err(too_short());
    }
    Ok(Measured {
        program: program.to_owned(),
        kernel: comparison.kernel,
        skep: comparison.skep,
        kernel_us,
        skep_us,
        best_ratio: kernel_us.best / skep_us.best,
        median_ratio: Ratio::of(&comparison.kernel_us, &comparison.skep_us)
            .ok_or_else(too_short)?,
    })
}

fn print(run: &Run<'_>, answer: &Answer, streams: &mut Streams<'_>) -> std::io::Result<()> {
    if run.flags.json {
        return crate::command::progress::write_json(answer, streams);
    }
    let mut grid = Grid::new(
        &[
            "Program",
            "Insns",
            "States",
            "Counts",
            "Kernel us, best",
            "median",
            "skep us, best",
            "median",
            "Best/best",
            "Median/median",
            "95 % interval",
            "Rounds",
        ],
        1,
    );
    for row in &answer.programs {
        let us = |us: f64| figures::value(us, Unit::Micros);
        grid.row([
            row.program.clone(),
            figures::count(row.skep.insns),
            figures::count(row.skep.states),
            if row.skep == row.kernel { "equal" } else { "DIFFER" }.to_owned(),
            us(row.kernel_us.best),
            us(row.kernel_us.median),
            us(row.skep_us.best),
            us(row.skep_us.median),
            figures::ratio(row.best_ratio),
            figures::ratio(row.median_ratio.value),
            figures::interval(&row.median_ratio),
            figures::count(row.kernel_us.count as u64),
        ]);
    }
    writeln!(streams.out, "{grid}")?;
    if let (Some(best), Some(median)) = (answer.geometric_mean_best, &answer.geometric_mean_median)
    {
        writeln!(
            streams.out,
            "skep is faster by (geometric mean of {} programs): best/best {}, median/median {} ({})",
            answer.programs.len(),
            figures::ratio(best),
            figures::ratio(median.value),
            figures::interval(median),
        )?;
    }
    if run.flags.heaviest.is_some() && !answer.not_judged.is_empty() {
        return writeln!(streams.out, "{} skipped: not judged", answer.not_judged.len());
    }
    for (program, reason) in &answer.not_judged {
        writeln!(streams.out, "{}: {}", program, skep_report::printable(reason))?;
    }
    Ok(())
}

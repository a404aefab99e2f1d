//! `--callgrind`: instructions of one verification, the same in every run.

use super::settings::{Run, is_ended};
use super::sides::Side;
use super::subjects::Subjects;
use super::worker;
use crate::callgrind::{self, Counted};
use crate::command::figures;
use crate::command::progress::{Outcome, Progress};
use serde::Serialize;
use skep_cli::Error;
use skep_cli::Exit;
use skep_cli::Streams;
use skep_report::Grid;

#[derive(Serialize)]
struct Measured {
    program: String,
    /// By side.
    sides: Vec<Counted>,
}

#[derive(Serialize)]
struct Answer<'a> {
    mode: &'static str,
    sides: &'a [Side],
    programs: Vec<Measured>,
}

/// The name of a count, and its field.
type Event = (&'static str, fn(&Counted) -> u64);

const EVENTS: [Event; 3] = [
    ("instructions", |counted| counted.instructions),
    ("branches (conditional)", |counted| counted.branches),
    ("branch-misses (modelled)", |counted| counted.branch_misses),
];

pub(super) fn run(run: &Run<'_>, streams: &mut Streams<'_>) -> Outcome {
    if !callgrind::available() {
        writeln!(streams.out, "skipped: valgrind not found")?;
        return Ok(Ok(Exit::Success));
    }
    let subjects = Subjects::find(run, streams)?;
    let mut exit = subjects.exit;
    let mut answer = Answer { mode: "callgrind", sides: &run.sides, programs: Vec::new() };
    let progress = Progress::new(streams, subjects.len());
    for subject in subjects.iter().take(subjects.len()) {
        if is_ended(&mut exit) {
            break;
        }
        progress.program(answer.programs.len(), &subject.name)(0.0);
        let count = |side| {
            let mut command = worker::command(run, &subject, side)?;
            callgrind::count(command.arg("--repeat=1")).map_err(Error::caused)
        };
        match run.sides.iter().map(count).collect::<Result<Vec<_>, Error>>() {
            Ok(sides) => answer.programs.push(Measured { program: subject.name, sides }),
            Err(message) => {
                streams.error(format!("{}: {message}", subject.name))?;
                exit.raise(Exit::Input);
            }
        }
    }
    drop(progress);
    match run.flags.json {
        true => {
            crate::command::progress::write_json(&answer, streams)?;
        }
        false => writeln!(streams.out, "{}", table(&answer))?,
    }
    Ok(Ok(exit))
}

fn table(answer: &Answer<'_>) -> Grid {
    let titles: Vec<String> = answer.sides.iter().map(Side::title).collect();
    let mut headings = vec!["Program", "Event"];
    headings.extend(titles.iter().map(String::as_str));
    if answer.sides.len() == 2 {
        headings.push("B against A");
    }
    let mut grid = Grid::new(&headings, 2);
    for measured in &answer.programs {
        for (event, value) in EVENTS {
            let mut cells = vec![measured.program.clone(), event.to_owned()];
            cells.extend(measured.sides.iter().map(|side| figures::count(value(side))));
            if let [a, b] = measured.sides.as_slice() {
                let (a, b) = (value(a) as f64, value(b) as f64);
                cells.push(format!("{:+.2} %", (b / a.max(1.0) - 1.0) * 100.0));
            }
            grid.row(cells);
        }
    }
    grid
}

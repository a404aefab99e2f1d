//! `cargo xtask litmus`: two threads race through small programs, compiled with every set of passes
//! and interpreted. Counts the outcomes that `docs/memory-model.md` forbids, which must be 0.
//!
//! A run is one round of both threads: each executes its litmus program once, on memory that the
//! other one writes at the same time. Rounds run in batches, to amortize the calls.

mod batch;
mod race;
mod rows;

use race::{Outcomes, Race};
use rows::{ROWS, Row};
use skep_jit::{Passes, Tuning};
use skep_report::Grid;
use skep_runtime::{Engine, LoadOptions};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Number of runs, over all programs and engines.
    #[arg(long, default_value_t = 100_000_000)]
    runs: u64,
    /// Only programs whose name contains this.
    #[arg(long)]
    only: Option<String>,
}

/// The interpreter gets this much less of the runs.
const INTERPRETED_LESS: u64 = 50;

/// Every engine by name, and every set of passes: all, none, each one alone, and all but one.
fn engines() -> Vec<(String, LoadOptions)> {
    let jit = |passes| LoadOptions {
        engine: Engine::MachineCode,
        tuning: Tuning { passes, checked: true, ..Tuning::default() },
        fuel: None,
        ..LoadOptions::default()
    };
    let mut all = vec![
        ("all passes".to_owned(), jit(Passes::ALL)),
        ("no pass".to_owned(), jit(Passes::NONE)),
        ("interpreter".to_owned(), LoadOptions { engine: Engine::Interpreter, ..jit(Passes::ALL) }),
    ];
    for name in Passes::NAMES {
        let (mut off, mut on) = (Passes::ALL, Passes::NONE);
        if let (Some(off), Some(on)) = (off.by_name(name), on.by_name(name)) {
            (*off, *on) = (false, true);
        }
        all.push((format!("all but {name}"), jit(off)));
        all.push((format!("{name} alone"), jit(on)));
    }
    all
}

/// Runs a row on every engine; the forbidden outcomes, by engine.
fn race(
    row: &Row,
    engines: &[(String, LoadOptions)],
    runs: u64,
) -> Result<(Outcomes, Vec<(String, u64)>), String> {
    let programs = race::verified(row)?;
    let (mut sum, mut bad) = (Outcomes::default(), Vec::new());
    for (name, options) in engines {
        let less = if options.engine == Engine::Interpreter { INTERPRETED_LESS } else { 1 };
        let race = Race::new(row, &programs, options, runs / less)?;
        let out = race.run().map_err(|e| format!("{}, {name}: {e}", row.name))?;
        sum.rounds += out.rounds;
        sum.forbidden += out.forbidden;
        sum.seen += out.seen;
        if out.forbidden > 0 {
            bad.push((name.clone(), out.forbidden));
        }
    }
    Ok((sum, bad))
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let engines = engines();
    let wanted = |row: &&Row| args.only.as_ref().is_none_or(|only| row.name.contains(only));
    let rows: Vec<&Row> = ROWS.iter().filter(wanted).collect();
    // The interpreter's share goes to machine code.
    let each = args.runs.div_ceil((rows.len() * (engines.len() - 1)).max(1) as u64);
    let mut grid = Grid::new(&["litmus", "runs", "forbidden", "allowed, seen"], 1);
    let (mut all, mut notes) = (Outcomes::default(), Vec::new());
    for row in &rows {
        let (out, bad) = race(row, &engines, each)?;
        let counts = [out.rounds, out.forbidden, out.seen].map(|count| count.to_string());
        grid.row([vec![row.name.to_owned()], counts.to_vec()].concat());
        notes.extend(bad.into_iter().map(|(engine, n)| format!("{}: {n} with {engine}", row.name)));
        all.rounds += out.rounds;
        all.forbidden += out.forbidden;
    }
    println!("{grid}");
    notes.iter().for_each(|note| println!("{note}"));
    println!(
        "litmus: {} runs of {} programs on {} engines: {} forbidden",
        all.rounds,
        rows.len(),
        engines.len(),
        all.forbidden
    );
    Ok((all.forbidden == 0).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_litmus_shows_what_the_memory_model_forbids() {
        let engines = engines();
        for row in &ROWS {
            let (_, bad) = race(row, &engines, 2048).expect(row.name);
            assert!(bad.is_empty(), "{}: {bad:?}", row.name);
        }
    }
}

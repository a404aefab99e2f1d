//! The tables of `skep-bench run`, as Markdown.

use super::answer::Answer;
use super::cells::{grid, interval, mean, ns, ratio};
use super::families::{NATIVE, SKEP};
use crate::Ratio;
use crate::command::figures;
use crate::run::compute::Computed;
use crate::run::coverage::Covered;
use crate::run::engines::Timed;
use crate::run::maps::Operation;
use crate::run::passes::Pass;
use crate::run::tails::{Chained, Prologues};
use crate::run::whole_object::ProgTimes;
use skep_cli::Streams;
use skep_report::Grid;
use std::collections::BTreeMap;
use std::io;

pub(super) fn print(answer: &Answer, streams: &mut Streams<'_>) -> io::Result<()> {
    let mut parts = Vec::new();
    if !answer.compute.is_empty() {
        parts.extend(compute(&answer.compute, answer.compiler.as_deref()));
    }
    if !answer.families.is_empty() {
        parts.extend(super::families::print(&answer.families));
    }
    if !answer.prologues.is_empty() {
        parts.push(prologues(&answer.prologues));
    }
    if !answer.passes.is_empty() {
        parts.push(passes(&answer.passes));
    }
    if !answer.coverage.is_empty() {
        parts.push(coverage(&answer.coverage));
    }
    if !answer.tails.is_empty() {
        parts.push(tails(&answer.tails));
    }
    if !answer.maps.is_empty() {
        parts.push(maps(&answer.maps));
    }
    parts.extend(answer.given.iter().map(|(file, rows)| given(file, rows)));
    writeln!(streams.out, "{}", parts.join("\n\n"))
}

/// `+3 % (1.021 to 1.034)`, or that there is no measurable difference.
fn said(ratio: Option<&Ratio>) -> String {
    ratio.map_or_else(
        || "-".to_owned(),
        |ratio| format!("{} ({})", figures::conclusion(ratio), figures::interval(ratio)),
    )
}

/// Times and ratios to native code; skep against each engine; which engine does not run which
/// program.
fn compute(rows: &[Computed], compiler: Option<&str>) -> Vec<String> {
    let engines: Vec<&str> = rows
        .iter()
        .flat_map(|row| &row.engines)
        .take(rows[0].engines.len())
        .map(|e| &*e.engine)
        .collect();
    let mut parts = vec![times(rows, &engines), against(rows, &engines)];
    let behind: Vec<String> = rows.iter().flat_map(behind).collect();
    parts.push(match behind.is_empty() {
        true => "On no program is skep measurably slower than another engine.".to_owned(),
        false => format!("skep is measurably slower than: {}.", behind.join("; ")),
    });
    let mut compile_us: Vec<f64> = rows.iter().map(|row| row.compile_us).collect();
    compile_us.sort_by(f64::total_cmp);
    let median = compile_us[compile_us.len() / 2];
    parts.push(format!("Compile time of skep, all passes: median {} us.", ns(Some(median))));
    parts.extend(not_run(rows));
    parts.extend(compiler.map(|version| format!("Native code and bytecode: {version}.")));
    parts
}

fn times(rows: &[Computed], engines: &[&str]) -> String {
    let mut headings = vec!["ns per run".to_owned(), engines[NATIVE].to_owned()];
    for engine in &engines[SKEP..] {
        headings.extend([(*engine).to_owned(), "ratio".to_owned()]);
    }
    headings.push("compile time, us".to_owned());
    let mut table = grid(&headings);
    for row in rows {
        let native = &row.engines[NATIVE];
        let mut cells = vec![row.program.to_owned(), ns(native.median())];
        for engine in &row.engines[SKEP..] {
            cells.extend([ns(engine.median()), ratio(engine.over(native).as_ref())]);
        }
        cells.push(ns(Some(row.compile_us)));
        table.row(cells);
    }
    let mut cells = vec!["geometric mean".to_owned(), String::new()];
    for at in SKEP..engines.len() {
        cells.extend([String::new(), ratio(mean(rows, at, NATIVE).as_ref())]);
    }
    cells.push(String::new());
    table.row(cells);
    let mut cells = vec!["95 % interval".to_owned(), String::new()];
    for at in SKEP..engines.len() {
        cells.extend([String::new(), interval(mean(rows, at, NATIVE).as_ref())]);
    }
    cells.push(String::new());
    table.row(cells);
    table.to_string()
}

/// Engines that skep is compared with: all but itself.
fn rivals(engines: usize) -> impl Iterator<Item = usize> {
    (0..engines).filter(|at| *at != SKEP)
}

fn against(rows: &[Computed], engines: &[&str]) -> String {
    let mut headings = vec!["skep's time against".to_owned()];
    headings.extend(rivals(engines.len()).map(|at| engines[at].to_owned()));
    let mut table = grid(&headings);
    let rivals: Vec<usize> = rivals(engines.len()).collect();
    for row in rows {
        let skep = &row.engines[SKEP];
        let cell = |at: &usize| said(skep.over(&row.engines[*at]).as_ref());
        table.row(std::iter::once(row.program.to_owned()).chain(rivals.iter().map(cell)));
    }
    let cell = |at: &usize| said(mean(rows, SKEP, *at).as_ref());
    table.row(std::iter::once("geometric mean".to_owned()).chain(rivals.iter().map(cell)));
    table.to_string()
}

/// Engines other than native code that are measurably faster than skep.
fn behind(row: &Computed) -> Vec<String> {
    let skep = &row.engines[SKEP];
    let one = |engine: &Timed| {
        let ratio = skep.over(engine).filter(|ratio| ratio.low > 1.0)?;
        Some(format!("{} on {} ({})", engine.engine, row.program, figures::interval(&ratio)))
    };
    row.engines[SKEP + 1..].iter().filter_map(one).collect()
}

/// `not run by sbpf: REASON: calls, sha256`.
fn not_run(rows: &[Computed]) -> Vec<String> {
    let mut reasons: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for row in rows {
        for engine in &row.engines {
            if let Some(why) = &engine.not_run {
                reasons.entry((&engine.engine, why)).or_default().push(row.program);
            }
        }
    }
    let line = |((engine, why), programs): ((&str, &str), Vec<&str>)| {
        let programs =
            if programs.len() == rows.len() { "all".to_owned() } else { programs.join(", ") };
        format!("Not run by {engine}: {programs}: {}.", why.trim_end_matches('.'))
    };
    reasons.into_iter().map(line).collect()
}

fn prologues(rows: &[Prologues]) -> String {
    let headings = ["ns per run", "minimal prologue", "full", "full against minimal"];
    let mut table = Grid::new(&headings, 1);
    for row in rows {
        table.row([
            row.program.to_owned(),
            ns(row.engines[0].median()),
            ns(row.engines[1].median()),
            said(row.full_over_minimal.as_ref()),
        ]);
    }
    let ratios: Vec<Ratio> = rows.iter().filter_map(|row| row.full_over_minimal.clone()).collect();
    let mean = crate::geometric_mean(&ratios);
    table.row(["geometric mean".to_owned(), String::new(), String::new(), said(mean.as_ref())]);
    table.to_string()
}

/// The programs with the highest cost, except held-out ones, and the mean of all.
fn coverage(rows: &[Covered]) -> String {
    let mut table = Grid::new(&["ns per run", "plain", "counting", "factor", "with fuel"], 1);
    let value = |row: &&Covered| row.factor.as_ref().map_or(0.0, |factor| factor.value);
    let mut shown: Vec<&Covered> = rows.iter().filter(|row| !row.held).collect();
    shown.sort_by(|a, b| value(b).total_cmp(&value(a)));
    for row in &shown {
        let [plain, counting] = [0, 1].map(|at| ns(row.engines[at].median()));
        let [factor, with_fuel] = [&row.factor, &row.with_fuel].map(|it| ratio(it.as_ref()));
        table.row([row.program.to_owned(), plain, counting, factor, with_fuel]);
    }
    let (without, with) = (factors(rows, |row| &row.factor), factors(rows, |row| &row.with_fuel));
    table.row([
        format!("geometric mean of {}", rows.len()),
        String::new(),
        String::new(),
        without.0,
        with.0,
    ]);
    format!("{table}\n\n{}; with fuel: {}.", without.1, with.1)
}

/// The mean with its interval, and the highest.
fn factors(rows: &[Covered], of: impl Fn(&Covered) -> &Option<Ratio>) -> (String, String) {
    let all: Vec<Ratio> = rows.iter().filter_map(|row| of(row).clone()).collect();
    let mean = crate::geometric_mean(&all);
    let most = all.iter().map(|factor| factor.value).fold(0.0, f64::max);
    let twice = all.iter().filter(|factor| factor.value > 2.0).count();
    (
        format!("{} ({})", ratio(mean.as_ref()), interval(mean.as_ref())),
        format!("highest {}, {twice} of {} above 2", figures::ratio(most), rows.len()),
    )
}

fn passes(rows: &[Pass]) -> String {
    let headings = ["without", "time, geometric mean", "95 % interval", "", "most on", "least on"];
    let mut table = Grid::new(&headings, 1);
    let end = |end: Option<&(String, Ratio)>| {
        end.map_or_else(String::new, |(program, ratio)| {
            format!("{program} {}", figures::ratio(ratio.value))
        })
    };
    for row in rows {
        table.row([
            row.name.to_owned(),
            figures::ratio(row.without.value),
            figures::interval(&row.without),
            figures::conclusion(&row.without),
            end(row.most()),
            end(row.least()),
        ]);
    }
    table.to_string()
}

fn tails(rows: &[Chained]) -> String {
    let engines: Vec<&str> = rows[0].engines.iter().map(|engine| &*engine.engine).collect();
    let mut headings = vec!["ns per run".to_owned()];
    headings.extend(engines.iter().map(|engine| (*engine).to_owned()));
    headings.push("full against minimal".to_owned());
    headings.extend(engines.iter().map(|engine| format!("Mpps, {engine}")));
    let mut runs = grid(&headings);
    for row in rows {
        let mut cells = vec![row.about.to_owned()];
        cells.extend(row.engines.iter().map(|engine| ns(engine.median())));
        cells.push(said(row.full_over_minimal.as_ref()));
        let nothing = vec![None; row.engines.len()];
        cells.extend(row.mpps.as_ref().unwrap_or(&nothing).iter().copied().map(ns));
        runs.row(cells);
    }
    let mut headings = vec!["ns per tail call".to_owned()];
    headings.extend(engines.iter().map(|engine| (*engine).to_owned()));
    let mut hops = grid(&headings);
    for row in rows.iter().filter(|row| row.hops > 0) {
        let cells = row.hop_ns.iter().copied().map(ns);
        hops.row(std::iter::once(row.about.to_owned()).chain(cells));
    }
    let reasons = rows.iter().flat_map(|row| &row.engines).find_map(|engine| {
        engine.not_run.as_ref().map(|why| format!("\n\nNot run by {}: {why}.", engine.engine))
    });
    format!("{runs}\n\n{hops}{}", reasons.unwrap_or_default())
}

fn maps(rows: &[Operation]) -> String {
    let mut headings = vec!["ns per operation".to_owned()];
    headings.extend(rows[0].ns.iter().map(|(engine, _)| engine.clone()));
    let mut table = grid(&headings);
    for row in rows {
        let cell = |(_, ns): &(String, Option<(f64, f64)>)| {
            ns.map_or_else(|| "-".to_owned(), |(ns, half)| format!("{ns:.2} ±{half:.2}"))
        };
        table.row(std::iter::once(row.name.clone()).chain(row.ns.iter().map(cell)));
    }
    // Reasons of the first program, which does nothing: an engine that cannot run it runs none.
    let reasons =
        rows[0].not_run.iter().map(|(engine, why)| format!("\n\nNot run by {engine}: {why}."));
    format!("{table}{}", reasons.collect::<String>())
}

fn given(file: &str, rows: &[ProgTimes]) -> String {
    let Some(first) = rows.first() else { return format!("{file}: no programs") };
    let mut headings = vec![format!("{file}, ns per run")];
    headings.extend(first.engines.iter().map(|engine| engine.engine.clone()));
    headings.extend(["skep against the last".to_owned(), "Mpps".to_owned()]);
    let mut table = grid(&headings);
    let mut reasons = BTreeMap::new();
    for row in rows {
        let mut cells = vec![row.program.clone()];
        cells.extend(row.engines.iter().map(|engine| ns(engine.median())));
        let (skep, last) = (row.engines.first(), row.engines.last());
        cells.push(said(skep.zip(last).and_then(|(skep, last)| skep.over(last)).as_ref()));
        cells.push(ns(skep.and_then(Timed::median).map(|ns| 1e3 / ns)));
        table.row(cells);
        for engine in &row.engines {
            if let Some(why) = &engine.not_run {
                reasons
                    .insert(format!("Not run by {}: {}: {why}.", engine.engine, row.program), ());
            }
        }
    }
    let reasons: Vec<String> = reasons.into_keys().collect();
    format!("{table}\n\n{}", reasons.join("\n")).trim_end().to_owned()
}

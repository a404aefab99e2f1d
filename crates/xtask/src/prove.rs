//! `cargo xtask prove`: proves the functions of the domain at 64 bits, from their source.
//!
//! Tests enumerate small widths and can miss bugs that need more bits. The source that runs is
//! parsed with `syn` and interpreted over SMT-LIB terms; a solver searches for values that are in
//! the operands but missing in the result.
//!
//! Deliberately absent: products ([`table::EXCEPTIONS`]), precision (which is compared with the
//! kernel through recorded vectors), and a proof of the interpreter. Without z3 the command is
//! skipped.

mod arcs;
mod builtin;
mod contracts;
mod expr;
mod goals;
mod options;
mod run;
mod solver;
mod source;
mod spec;
mod table;
mod term;
#[cfg(test)]
mod tests;
mod value;
mod wrapped;

use crate::outcome::{Ended, Outcome};
use goals::{Goal, Goals};
use rayon::prelude::*;
use solver::{Answer, Question};
use source::Source;
use table::Done;

const PAGE: &str = "docs/proofs.md";
/// `--quick` proves the goals that once took at most this many seconds.
const QUICK: f64 = 0.25;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only goals whose name contains this; writes nothing.
    filter: Option<String>,
    /// Only compare the names in docs/proofs.md with the source.
    #[arg(long)]
    check: bool,
    /// Prove the goals marked as quick in docs/proofs.md; writes nothing.
    #[arg(long)]
    quick: bool,
    /// Time limit of the solver per goal, in seconds.
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// Number of solvers in parallel.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
}

/// Every goal.
fn all_goals() -> Vec<Goal> {
    let mut goals = Goals::default();
    goals::add(&mut goals);
    arcs::add(&mut goals);
    wrapped::add(&mut goals);
    goals.0
}

pub(crate) fn run(args: &Args) -> Outcome {
    let root = crate::root();
    let source = Source::parse(&source::files(&root.join("crates/domain/src"))?)?;
    let goals = all_goals();
    let page = std::fs::read_to_string(root.join(PAGE)).unwrap_or_default();
    if (args.check || args.quick) && !in_step(&source, &goals, &page) {
        return Ok(Ended::Failed);
    }
    if args.check {
        return Ok(Ended::Passed);
    }
    if !solver::is_there() {
        return Ok(Ended::Skipped("no z3".to_owned()));
    }
    let quick = table::quick(&page, QUICK);
    let chosen: Vec<&Goal> = goals
        .iter()
        .filter(|goal| !args.quick || quick.contains(&table::row(&source, goal)))
        .filter(|goal| args.filter.as_ref().is_none_or(|text| goal.name().contains(text)))
        .collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.jobs).build()?;
    let asked: Vec<_> = chosen.iter().map(|goal| Question::of(goal, &source)).collect();
    let answer = |(goal, asked): (&&Goal, &Question)| {
        let answer = asked.answer(args.seconds);
        println!("{}: {answer:?}", goal.name());
        answer
    };
    let both = chosen.par_iter().zip(&asked);
    let answers: Vec<Answer> = pool.install(|| both.map(answer).collect());
    let done = chosen.into_iter().zip(asked).zip(answers);
    let done: Vec<Done<'_>> = done.map(|((goal, asked), answer)| (goal, asked, answer)).collect();
    let count = |f: fn(&Answer) -> bool| done.iter().filter(|(.., answer)| f(answer)).count();
    let proved = count(|a| matches!(a, Answer::Proved(_)));
    let open = count(|a| matches!(a, Answer::Timeout(_)));
    println!("prove: {} goals, {proved} proved, {open} without an answer", done.len());
    if args.filter.is_none() && !args.quick {
        std::fs::write(root.join(PAGE), table::page(&source, &done))?;
    }
    Ok((proved + open == done.len() && (open == 0 || !args.quick)).into())
}

/// Whether the page has a row for each function and each goal, and no other.
fn in_step(source: &Source, goals: &[Goal], page: &str) -> bool {
    let walked: Vec<Done<'_>> =
        goals.iter().map(|goal| (goal, Question::of(goal, source), Answer::Vacuous)).collect();
    let broken = walked
        .iter()
        .filter_map(|(goal, asked, _)| Some(format!("{}: {}", goal.name(), asked.broken()?)));
    let mut wrong: Vec<String> = broken.collect();
    let forgotten = table::forgotten(source, &walked);
    wrong.extend(forgotten.iter().map(|name| format!("{name} has neither goal nor exception")));
    let (is, should) = (table::names(page), table::names(&table::page(source, &walked)));
    let missing = should.iter().filter(|row| !is.contains(row));
    wrong.extend(missing.map(|row| format!("{PAGE} lacks {row}")));
    let extra = is.iter().filter(|row| !should.contains(row));
    wrong.extend(extra.map(|row| format!("{PAGE} has {row}")));
    for line in &wrong {
        println!("{line}");
    }
    wrong.is_empty()
}

//! The SMT solver: z3 as a command.

use super::goals::Goal;
use super::run::Run;
use super::source::Source;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The answer for a goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Proved(Duration),
    /// There are values for which the claim is wrong.
    Refuted,
    Timeout(u64),
    /// No value satisfies the assumptions, so the claim is vacuous.
    Vacuous,
    /// The source uses something that the interpreter does not support, or the solver failed.
    Broken(String),
}

pub(super) fn is_there() -> bool {
    let mut z3 = Command::new("z3");
    z3.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    z3.status().is_ok_and(|status| status.success())
}

fn ask(script: &str, seconds: u64) -> std::io::Result<String> {
    let mut z3 = Command::new("z3");
    z3.arg("-in").arg(format!("-T:{seconds}"));
    let mut child = z3.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(script.as_bytes())?;
        // Bit-blasting is good at arithmetic; consequences of assumptions need the structure. Which
        // is better is not known in advance: both are tried with increasing time limits.
        let bits = "(then simplify propagate-values solve-eqs simplify max-bv-sharing bit-blast \
                    aig sat)";
        let structure = "(then simplify propagate-values smt)";
        let tries = [(bits, 10), (structure, 20), (bits, 80), (structure, 160), (bits, 400)];
        let tries = tries.map(|(how, share)| format!("(try-for {how} {})", seconds * share));
        writeln!(input, "(check-sat-using (or-else {} {structure}))", tries.join(" "))?;
    }
    let mut answer = String::new();
    if let Some(mut output) = child.stdout.take() {
        output.read_to_string(&mut answer)?;
    }
    child.wait()?;
    Ok(answer.lines().next().unwrap_or_default().to_owned())
}

/// The scripts for a goal.
pub(super) struct Question {
    /// Whether the assumptions are satisfiable, and whether the claim can fail.
    scripts: Result<(String, String), String>,
    /// The functions that were executed for it.
    pub(super) walked: BTreeSet<String>,
}

impl Question {
    /// Executes the source for a goal.
    pub(super) fn of(goal: &Goal, source: &Source) -> Question {
        let mut run = Run::new(source);
        let scripts = (goal.build)(&mut run).map(|claim| {
            let mut asserted = run.assumed.clone();
            let possible = run.t.script(&asserted);
            asserted.push(run.t.not(claim));
            (possible, run.t.script(&asserted))
        });
        // If its own contract was used, the claim would be circular.
        let scripts = match run.walked.contains(goal.of) {
            true => scripts,
            false => scripts.and(Err(format!("{} is not walked", goal.of))),
        };
        Question { scripts, walked: run.walked }
    }

    /// Why there is no script.
    pub(super) fn broken(&self) -> Option<&String> {
        self.scripts.as_ref().err()
    }

    pub(super) fn answer(&self, seconds: u64) -> Answer {
        match &self.scripts {
            Err(why) => Answer::Broken(why.clone()),
            Ok((possible, fails)) => judge(possible, fails, seconds)
                .unwrap_or_else(|error| Answer::Broken(error.to_string())),
        }
    }
}

fn judge(possible: &str, fails: &str, seconds: u64) -> std::io::Result<Answer> {
    let started = Instant::now();
    let answer = ask(fails, seconds)?;
    let took = started.elapsed();
    Ok(match answer.as_str() {
        "unsat" if ask(possible, seconds)? == "unsat" => Answer::Vacuous,
        "unsat" => Answer::Proved(took),
        "sat" => Answer::Refuted,
        "timeout" | "unknown" => Answer::Timeout(seconds),
        other => Answer::Broken(other.to_owned()),
    })
}

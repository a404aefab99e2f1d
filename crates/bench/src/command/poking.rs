//! `skep-bench poke`: measures patching of running code.

mod answer;
mod tables;

use crate::command::flags::{PokeFlags, PokeKind, PokeTable};
use crate::command::progress::{Outcome, Progress};
use crate::poke::control::{self, CONTROLS, Control};
use crate::poke::cost::{costs, hops};
use crate::poke::estimate::estimates;
use crate::poke::library::library;
use crate::poke::off::off;
use crate::poke::sharing::counted;
use crate::poke::{ALL_KINDS, Kind, Load, Mechanism, checked, toggled};
use crate::threads::pause;
use answer::{Answer, Controlled};
use clap::ValueEnum;
use skep::runtime::PokeMode;
use skep_cli::Error;
use skep_cli::Exit;
use skep_cli::Streams;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Sites and threads of the long run.
const CHECKED_SITES: u32 = 164;
const CHECKED_THREADS: u32 = 2;
/// Maximum number of threads that run a runtime's programs.
const THREADS: u32 = 254;
/// Time for a negative control to fail: immediate where threads run at the same time, longer where
/// many share few CPUs.
const CONTROL_TIME: Duration = Duration::from_secs(60);

/// Time after which a control is killed.
const CONTROL_PATIENCE: Duration = Duration::from_secs(180);

/// Runs the command.
pub(crate) fn run(flags: &PokeFlags, streams: &mut Streams<'_>) -> Outcome {
    if let Some(name) = &flags.control {
        return child(name, streams);
    }
    let wanted = match flags.only.is_empty() {
        true => PokeTable::value_variants().to_vec(),
        false => flags.only.clone(),
    };
    let tables = possible(&wanted, streams)?;
    let measured = match tables.is_empty() {
        true => Err("nothing that was asked for can be measured in flag mode".into()),
        false => measure(flags, &tables, streams),
    };
    let answer = match measured {
        Ok(answer) => answer,
        Err(message) => return Ok(Err(message)),
    };
    if flags.json {
        crate::command::progress::write_json(&answer, streams)?;
    } else {
        tables::print(flags, &answer, streams)?;
    }
    Ok(Ok(if answer.is_wrong() { Exit::Refused } else { Exit::Success }))
}

/// The tables that can be measured here: without patching only those of the library, which uses
/// flags then. Prints which are left out, and why.
fn possible(wanted: &[PokeTable], streams: &mut Streams<'_>) -> io::Result<Vec<PokeTable>> {
    let Some(why) = skep::runtime::poke::take_notice() else { return Ok(wanted.to_vec()) };
    let with_flags =
        [PokeTable::Library, PokeTable::Costs, PokeTable::Estimates, PokeTable::Sharing];
    let (possible, left): (Vec<_>, Vec<_>) =
        wanted.iter().partition(|table| with_flags.contains(table));
    streams.note(&format!("flag mode: {why}"))?;
    let name = |table: PokeTable| Some(table.to_possible_value()?.get_name().to_owned());
    let left: Vec<String> = left.into_iter().filter_map(name).collect();
    if !left.is_empty() {
        streams.note(&format!("not measured, since they patch code: {}", left.join(", ")))?;
    }
    Ok(possible)
}

fn measure(
    flags: &PokeFlags,
    tables: &[PokeTable],
    streams: &Streams<'_>,
) -> Result<Answer, Error> {
    let in_runtime = [PokeTable::Library, PokeTable::Costs].iter().any(|t| tables.contains(t));
    if let (true, Some(most)) = (in_runtime, flags.threads.iter().max().filter(|n| **n > THREADS)) {
        return Err(
            format!("--threads {most}: the maximum for library and costs is {THREADS}").into()
        );
    }
    let kinds = kinds(flags);
    let cases = cases(flags, &kinds);
    let mut steps = tables.len();
    steps += if tables.contains(&PokeTable::Toggles) { cases.len() } else { 0 };
    let shapes = flags.sites.len() * flags.threads.len();
    steps += if tables.contains(&PokeTable::Library) { shapes } else { 0 };
    steps += if tables.contains(&PokeTable::Checked) { kinds.len() } else { 0 };
    let progress = Progress::new(streams, steps);
    let mut answer = Answer::default();
    let mut at = 0;
    let mut next = |name: &str| {
        at += 1;
        progress.program(at - 1, name)
    };
    for table in tables {
        next("")(0.0);
        match table {
            PokeTable::Toggles => {
                let time = Duration::from_secs_f64(flags.time);
                for (kind, mechanism, load) in &cases {
                    next(mechanism.name())(0.0);
                    answer.toggles.push(toggled(*kind, *mechanism, *load, time)?);
                }
            }
            PokeTable::Library => {
                let time = Duration::from_secs_f64(flags.time);
                for &threads in &flags.threads {
                    for &sites in &flags.sites {
                        next("library")(0.0);
                        answer.library.push(library(sites, threads, time)?);
                    }
                }
            }
            PokeTable::Costs => {
                // It is about the placement of code, which is as for patched code.
                if skep::runtime::poke::mode() == PokeMode::Patch {
                    answer.off = off(flags.rounds)?;
                }
                answer.costs = costs(&flags.threads, flags.rounds)?;
                answer.hops = hops(flags.rounds)?;
            }
            PokeTable::Estimates => answer.estimates = estimates(flags.rounds)?,
            PokeTable::Sharing => answer.sharing = counted(&flags.threads, flags.rounds)?,
            PokeTable::Controls => {
                answer.controls = CONTROLS.into_iter().map(controlled).collect::<Result<_, _>>()?;
            }
            PokeTable::Checked => {
                let load = Load { sites: CHECKED_SITES, threads: CHECKED_THREADS };
                for &kind in &kinds {
                    let checked = checked(kind, flags.checked, load, next(kind.name()))?;
                    answer.checked.push(checked);
                }
            }
        }
    }
    Ok(answer)
}

fn kinds(flags: &PokeFlags) -> Vec<Kind> {
    let kind = |kind: &PokeKind| match kind {
        PokeKind::Switch => Kind::Switch,
        PokeKind::Insn => Kind::Insn,
        PokeKind::Retarget => Kind::Retarget,
        PokeKind::Mixed => Kind::Mixed,
    };
    let mut all: Vec<Kind> = flags.kind.iter().map(kind).collect();
    if all.is_empty() {
        all.extend(ALL_KINDS);
    }
    all
}

/// Kind, way, sites and threads.
fn cases(flags: &PokeFlags, kinds: &[Kind]) -> Vec<(Kind, Mechanism, Load)> {
    let mut cases = Vec::new();
    for &threads in &flags.threads {
        for &kind in kinds {
            for &sites in &flags.sites {
                let ways = kind.mechanisms().iter().filter(|way| way.takes(sites));
                cases.extend(ways.map(|way| (kind, *way, Load { sites, threads })));
            }
        }
    }
    cases
}

/// Runs a negative control in a child process.
fn controlled(control: Control) -> Result<Controlled, Error> {
    let binary =
        std::env::current_exe().map_err(|e| Error::io("while locating this executable", e))?;
    let mut command = Command::new(binary);
    command.args(["poke", "--control", control.name()]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let started = Instant::now();
    let wrong = |e: io::Error| format!("while running a process: {}", skep::io_text(&e));
    let mut child = command.spawn().map_err(wrong)?;
    let mut is_killed = false;
    while child.try_wait().map_err(wrong)?.is_none() {
        // A process that executes wrong code may also loop forever.
        if started.elapsed() > CONTROL_PATIENCE {
            is_killed = true;
            child.kill().map_err(wrong)?;
            break;
        }
        pause(Duration::from_millis(5));
    }
    let output = child.wait_with_output().map_err(wrong)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let (has_failed, outcome) = match (output.status.signal(), output.status.code()) {
        _ if is_killed => (false, "DID NOT END".to_owned()),
        (Some(signal), _) if CRASHES.contains(&signal) => {
            (true, format!("died of signal {signal}"))
        }
        // A control that could not run has not failed.
        (Some(signal), _) => (false, format!("COULD NOT RUN: signal {signal}")),
        (None, Some(0)) => (false, "NOTHING WENT WRONG".to_owned()),
        (None, Some(1)) => (true, text(&output.stdout)),
        (None, _) => (false, format!("COULD NOT RUN: {}", text(&output.stderr))),
    };
    Ok(Controlled { control, outcome, has_failed })
}

/// Signals that a thread may die of in partly written code: ILL, TRAP, BUS, FPE, SEGV.
const CRASHES: [i32; 5] = [4, 5, 7, 8, 11];

/// The child: exit code 1 if it saw wrong executions, 0 if not.
fn child(name: &str, streams: &mut Streams<'_>) -> Outcome {
    let Some(control) = CONTROLS.into_iter().find(|control| control.name() == name) else {
        return Ok(Err(format!("no control '{name}'").into()));
    };
    match control::run(control, CONTROL_TIME) {
        Ok((executions, wrong)) if wrong > 0 => {
            let (wrong, executions) =
                (crate::command::figures::count(wrong), crate::command::figures::count(executions));
            writeln!(streams.out, "saw {wrong} wrong of {executions} executions")?;
            Ok(Ok(Exit::Refused))
        }
        Ok(_) => Ok(Ok(Exit::Success)),
        Err(message) => Ok(Err(message)),
    }
}

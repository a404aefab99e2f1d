//! `skep-bench run`: how fast programs run. This file measures, `tables` prints.

mod answer;
mod cells;
mod families;
mod tables;

use crate::command::flags::{RunFlags, RunTable};
use crate::command::progress::{Outcome, Progress};
use crate::run::KINDS;
use crate::run::compute::{Others, compute};
use crate::run::coverage::covered;
use crate::run::families::{Half, Member, members};
use crate::run::maps::operations;
use crate::run::native::Clang;
use crate::run::objects::Opened;
use crate::run::passes::passes;
use crate::run::peer::Peer;
use crate::run::tails::{chains, prologues};
use crate::run::whole_object::measure;
use answer::Answer;
use clap::ValueEnum;
use skep_cli::Error;
use skep_cli::Exit;
use skep_cli::Streams;

/// Runs the command.
pub(crate) fn run(flags: &RunFlags, streams: &mut Streams<'_>) -> Outcome {
    let answer = match flags.files.is_empty() {
        true => own(flags, streams),
        false => of_files(flags, streams),
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(message) => return Ok(Err(message)),
    };
    if flags.json {
        crate::command::progress::write_json(&answer, streams)?;
    } else {
        tables::print(&answer, streams)?;
    }
    Ok(Ok(Exit::Success))
}

/// The tables of skep's own programs.
fn own(flags: &RunFlags, streams: &Streams<'_>) -> Result<Answer, Error> {
    let chosen = chosen(&flags.program)?;
    let first = if flags.program.is_empty() { KINDS.len() } else { chosen.len() };
    let all = RunTable::value_variants();
    let tables = if flags.only.is_empty() { all } else { &flags.only };
    let progress = Progress::new(streams, chosen.len() + tables.len());
    let (rounds, kernel) = (flags.rounds, !flags.no_kernel);
    let mut answer = Answer::default();
    for (at, table) in tables.iter().enumerate() {
        let tick = progress.program(at, "");
        match table {
            RunTable::Compute => {
                let others = others(flags)?;
                answer.compiler = others.clang.as_ref().ok().map(Clang::version);
                for (done, Member { kind, .. }) in chosen[..first].iter().enumerate() {
                    progress.program(at + done, kind.name)(0.0);
                    let tuning = skep::runtime::Tuning::default();
                    answer.compute.push(compute(kind, &others, &tuning, rounds)?);
                }
            }
            RunTable::Families => {
                let others = families::others(flags)?;
                for (done, member) in chosen.iter().enumerate() {
                    let shown = member.half == Half::Tuned || flags.held;
                    let name = if shown { member.kind.name } else { "one that is held" };
                    progress.program(at + done, name)(0.0);
                    let tuning = skep::runtime::Tuning::default();
                    let computed = compute(&member.kind, &others, &tuning, rounds)?;
                    answer.families.push(families::Row::new(member, computed, flags.held));
                }
            }
            RunTable::Prologues => answer.prologues = prologues(rounds)?,
            RunTable::Passes => answer.passes = passes(&chosen, rounds, tick)?,
            RunTable::Coverage => answer.coverage = covered(&chosen, rounds)?,
            RunTable::Tails => answer.tails = chains(rounds, kernel)?,
            RunTable::Maps => answer.maps = operations(rounds, kernel, &flags.native_flags)?,
        }
    }
    Ok(answer)
}

fn others(flags: &RunFlags) -> Result<Others, Error> {
    Ok(Others {
        clang: Clang::find(),
        natives: vec![("native", flags.native_flags.clone())],
        peers: flags.peer.iter().map(|text| Peer::start(text)).collect::<Result<_, _>>()?,
        kernel: !flags.no_kernel,
    })
}

/// The compute programs of these names, or all.
fn chosen(names: &[String]) -> Result<Vec<Member>, Error> {
    let members = members();
    if names.is_empty() {
        return Ok(members);
    }
    let find = |name: &String| {
        let found = members.iter().find(|member| member.kind.name == name).copied();
        found.ok_or_else(|| {
            let known: Vec<&str> = members.iter().map(|member| member.kind.name).collect();
            Error::from(format!("no program '{name}'; there are: {}", known.join(", ")))
        })
    };
    names.iter().map(find).collect()
}

/// The table of the objects named in arguments.
fn of_files(flags: &RunFlags, streams: &Streams<'_>) -> Result<Answer, Error> {
    let progress = Progress::new(streams, flags.files.len());
    let mut answer = Answer::default();
    for (at, path) in flags.files.iter().enumerate() {
        let name = path.display().to_string();
        progress.program(at, &name)(0.0);
        let bytes = std::fs::read(path)
            .map_err(|e| Error::caused(skep::Error::io(path, "reading the file", e)))?;
        let opened = Opened::new(&bytes).map_err(|e| Error::at(&name, e))?;
        let rows = measure(&opened, flags.rounds, !flags.no_kernel);
        answer.given.push((name.clone(), rows.map_err(|e| Error::at(&name, e))?));
    }
    Ok(answer)
}

//! `skep dump`: the verifier's input in readable form.

pub(crate) mod blocks;
mod dot;
#[cfg(all(feature = "run", target_os = "linux"))]
pub(crate) mod jited;
#[cfg(not(all(feature = "run", target_os = "linux")))]
#[path = "dump/no_machine_code.rs"]
pub(crate) mod jited;
#[cfg(all(feature = "run", target_os = "linux"))]
mod jited_json;
mod json;
mod json_source;
mod listing;
mod xlated;

use crate::Error;
use crate::exit::Exit;
use crate::flags::{DumpFlags, Stage};
use crate::judge_files::{Plan, exit_of_load, not_loaded};
use crate::kernels::{self, OfKernel};
use crate::streams::Streams;
use json::{Dumped, Marked, Named};
use skep::object::Object;
use skep::program::Program;
use skep::verifier::{VerifiedProgram, Xlated};
use skep::{Session, Verdict, VerifyOptions};
use skep_report::{JsonForm, write_json_text};
use std::io;
use std::sync::Arc;

/// Note for a program verified for another kernel.
const REWRITTEN_AS: &str = "rewrites and machine code are those of 6.18";

/// Runs the command.
///
/// # Errors
///
/// Only those of the streams.
pub(crate) fn run(flags: &DumpFlags, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let as_json = json_form(flags).is_some();
    if as_json && !matches!(flags.stage, Stage::Xlated | Stage::Jited) {
        streams.error("--json: only with --stage xlated or --stage jited")?;
        return Ok(Exit::Input);
    }
    let mut dumped = Vec::new();
    let (session, object) = match open(flags) {
        Ok(opened) => opened,
        Err(message) => {
            streams.error(&message)?;
            return Ok(Exit::Input);
        }
    };
    told_kernel(flags, &session, streams)?;
    if let Some(note) = &object.note {
        streams.note(&format!("{}: {note}", flags.file.display()))?;
    }
    let mut exit = Exit::Success;
    let mut found = false;
    for entry in &object.programs {
        if flags.prog.as_ref().is_some_and(|wanted| *wanted != entry.name) {
            continue;
        }
        found = true;
        match &entry.program {
            Ok(program) => match flags.stage {
                Stage::Elf | Stage::Relocated => listing::write(streams.out, program)?,
                Stage::Cfg => dot::write(streams.out, program)?,
                Stage::Xlated | Stage::Jited => {
                    let done = match as_json {
                        true => json_of(flags, program, &session).map(|insns| dumped.push(insns)),
                        false => rewritten(flags, streams, program, &session)?,
                    };
                    if let Err((refused, why)) = done {
                        let (file, prog) = (flags.file.display(), &entry.name);
                        let line = format!("{file}: program '{prog}': {why}");
                        streams.failure(&line, refused)?;
                        exit.raise(refused);
                    }
                }
            },
            Err(e) => {
                let (file, prog) = (flags.file.display(), &entry.name);
                streams.error(format!("{file}: program '{prog}': {}", not_loaded(e)))?;
                exit.raise(exit_of_load(e));
            }
        }
    }
    if !found {
        let what = match &flags.prog {
            Some(prog) => format!("no program '{prog}'"),
            None => "no programs".to_owned(),
        };
        streams.error(format!("{}: {what}", flags.file.display()))?;
        exit = Exit::Input;
    } else if as_json {
        print(flags, &dumped, OfKernel::untested(&session).as_ref(), streams)?;
    }
    Ok(exit)
}

/// What results for the kernel are worth: as a comment of the text if the kernel was not tested,
/// else on the error stream, like what is not that kernel's.
fn told_kernel(flags: &DumpFlags, session: &Session, streams: &mut Streams<'_>) -> io::Result<()> {
    let Some(kernel) = &session.kernel else { return Ok(()) };
    let is_verified = matches!(flags.stage, Stage::Xlated | Stage::Jited);
    let others = is_verified.then_some(REWRITTEN_AS);
    if kernel.is_tested() || json_form(flags).is_some() {
        return match is_verified {
            true => kernels::promise(session, others, streams),
            false => Ok(()),
        };
    }
    let comment = if flags.stage == Stage::Cfg { "//" } else { ";" };
    writeln!(streams.out, "{comment} {}", kernels::described(kernel).line())?;
    others.map_or(Ok(()), |others| streams.note(&format!("{}: {others}", kernels::label(kernel))))
}

/// The object named by the flags, opened for the requested stage.
fn open(flags: &DumpFlags) -> Result<(Session, Object), Error> {
    let session = match flags.stage {
        // The contents of the file, before anything depends on a host.
        Stage::Elf if !flags.against.kernel.is_empty() => {
            return Err(
                "--kernel cannot be used with --stage elf, which precedes relocation".into()
            );
        }
        Stage::Elf => Session::default(),
        Stage::Relocated | Stage::Cfg | Stage::Xlated | Stage::Jited => {
            Plan::session_against(&flags.against)?
        }
    };
    let bytes = session.read(&flags.file).map_err(Error::caused)?;
    let object = match flags.stage {
        Stage::Elf => session.open_as_in_file(&flags.file, &bytes),
        _ => session.open(&flags.file, &bytes),
    };
    Ok((session, object.map_err(Error::caused)?))
}

fn json_form(flags: &DumpFlags) -> Option<JsonForm> {
    flags.output_format.json_form(flags.json, flags.pretty)
}

/// With a program name, the output is that program's array, as in bpftool.
fn print(
    flags: &DumpFlags,
    dumped: &[Named<Dumped>],
    mark: Option<&OfKernel>,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let form = json_form(flags).unwrap_or_default();
    match (&flags.prog, dumped.first()) {
        (Some(_), None) => return Ok(()),
        (Some(_), Some(Named { insns: Dumped::Xlated(insns), .. })) => {
            write_json_text(streams.out, &marked(insns, mark), form)?;
        }
        (Some(_), Some(Named { insns: Dumped::Jited(functions), .. })) => {
            write_json_text(streams.out, &marked(functions, mark), form)?;
        }
        (None, _) => write_json_text(streams.out, &marked(dumped, mark), form)?,
    }
    writeln!(streams.out)
}

fn marked<'a, T>(items: &'a [T], mark: Option<&'a OfKernel>) -> Vec<Marked<'a, T>> {
    items.iter().map(|item| Marked { item, mark }).collect()
}

/// The output of the verifier, or of the JIT, for a program.
fn json_of(
    flags: &DumpFlags,
    program: &Program,
    session: &Session,
) -> Result<Named<Dumped>, (Exit, String)> {
    let (verified, insns) = verified(program, session)?;
    let insns = match flags.stage {
        Stage::Jited => Dumped::Jited(jited::json(&verified, &insns)?),
        _ => json::xlated(&verified, &insns),
    };
    Ok(Named { name: program.name.clone(), prog_type: program.prog_type.name(), insns })
}

/// Prints the output of the verifier, or of the JIT, for a program.
fn rewritten(
    flags: &DumpFlags,
    streams: &mut Streams<'_>,
    program: &Program,
    session: &Session,
) -> io::Result<Result<(), (Exit, String)>> {
    let (verified, insns) = match verified(program, session) {
        Ok(verified) => verified,
        Err(refused) => return Ok(Err(refused)),
    };
    if flags.stage == Stage::Jited {
        return jited::write(streams.out, &verified, &insns);
    }
    xlated::write(streams.out, &verified, &insns).map(Ok)
}

/// The program after its rewrites; or the exit code, and why.
fn verified(
    program: &Program,
    session: &Session,
) -> Result<(VerifiedProgram, Arc<Xlated>), (Exit, String)> {
    let verified = match session.verify(program, &VerifyOptions::default()).verdict {
        Verdict::Accepted(verified) => *verified,
        Verdict::Rejected(refusal) => return Err((Exit::Refused, refusal.message)),
        Verdict::Unsupported(what) => {
            return Err((Exit::Input, format!("not supported yet: {what}")));
        }
        Verdict::OutOfMemory => return Err((Exit::Input, "memory limit exceeded".to_owned())),
        Verdict::Bug(what) => return Err((Exit::Bug, what)),
    };
    match verified.xlated().cloned() {
        Ok(xlated) => Ok((verified, xlated)),
        Err(missing) => Err((Exit::Input, missing.to_string())),
    }
}

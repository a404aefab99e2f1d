//! The child process of a measurement: verifies one program and reports in one line of JSON.

use super::settings::Run;
use super::sides::Side;
use super::subjects::{Subject, load};
use crate::Report;
use crate::command::progress::Outcome;
use skep_cli::Error;
use skep_cli::Exit;
use skep_cli::Streams;
use skep_cli::inputs::Input;
use std::process::{Command, Stdio};

/// The command that measures `subject` with the settings of `side`.
///
/// # Errors
///
/// The path of this binary is unknown.
pub(super) fn command(run: &Run<'_>, subject: &Subject, side: &Side) -> Result<Command, Error> {
    let binary =
        std::env::current_exe().map_err(|e| Error::io("while locating this executable", e))?;
    let mut command = Command::new(binary);
    command.args(["verify", &subject.file, "--worker", &subject.name]);
    if let Some(btf) = &run.flags.input.btf {
        command.arg("--btf").arg(btf);
    }
    command.args(run.flags.input.scan.then_some("--scan"));
    command.args(side.settings.iter().map(|setting| format!("--a={setting}")));
    command.stdin(Stdio::null());
    Ok(command)
}

/// Runs a child and reads its report.
///
/// # Errors
///
/// It does not start, fails, or prints something else.
pub(super) fn report(command: &mut Command) -> Result<Report, Error> {
    let output = command.output().map_err(|e| Error::io("while starting a process", e))?;
    read(&output)
}

/// The report in a child's output.
///
/// # Errors
///
/// Its last error line.
pub(super) fn read(output: &std::process::Output) -> Result<Report, Error> {
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let line = text.lines().last().unwrap_or_default();
        return Err(format!("the measuring process failed: {line}").into());
    }
    serde_json::from_slice(&output.stdout).map_err(|e| Error::at("while reading a report", e))
}

/// The child.
pub(super) fn run(run: &Run<'_>, streams: &mut Streams<'_>) -> Outcome {
    let (Some(wanted), [file]) = (&run.flags.worker, run.flags.input.files.as_slice()) else {
        return Ok(Err("one file, one program".into()));
    };
    let Some(side) = run.sides.first() else { return Ok(Err("no settings".into())) };
    let input = Input { path: file.into(), named: true };
    let Some(subject) = load(run, &input, wanted) else {
        return Ok(Err(format!("{}: no program '{wanted}'", file.display()).into()));
    };
    match Report::of(&subject.program, &run.config(side), run.rounds) {
        Err(message) => Ok(Err(message)),
        Ok(report) => {
            serde_json::to_writer(&mut *streams.out, &report)?;
            writeln!(streams.out)?;
            Ok(Ok(Exit::Success))
        }
    }
}

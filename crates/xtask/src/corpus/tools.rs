//! Runs the compilers and package tools that build the corpus.

use std::process::{Command, Stdio};

/// The error says what failed.
pub(super) type Result<T = ()> = std::result::Result<T, String>;

/// Runs a command; the first line of its output that contains "error", or else the last line,
/// becomes the error.
pub(super) fn run_quietly(command: &mut Command) -> Result {
    output(command).map(drop)
}

pub(super) fn output(command: &mut Command) -> Result<Vec<u8>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let done = command.stdin(Stdio::null()).output().map_err(|e| format!("{program}: {e}"))?;
    if done.status.success() {
        return Ok(done.stdout);
    }
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    let error = text.lines().find(|l| l.contains("error: "));
    let line = error.or_else(|| text.lines().last()).unwrap_or("no message");
    Err(format!("{program}: {}: {line}", done.status))
}

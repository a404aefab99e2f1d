//! The tools that create packages.

use std::error::Error;
use std::process::Command;

pub(super) type Result<T> = std::result::Result<T, Box<dyn Error>>;

pub(super) fn is_there(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// The output of a command; if it fails, an error with its messages.
pub(super) fn answer(command: &mut Command) -> Result<Vec<u8>> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| format!("{name}: {e}"))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

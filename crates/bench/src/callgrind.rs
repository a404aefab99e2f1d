//! Instruction counts by valgrind's callgrind: deterministic, so one run is a measurement.
//!
//! Only insns executed inside [`verify`](crate::verification::verify) count, found by its name in
//! the binary; the process under valgrind must call it.

use serde::{Deserialize, Serialize};
use std::io;
use std::process::{Command, Stdio};

/// The counts of one process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Instructions.
    pub instructions: u64,
    /// Conditional branches.
    pub branches: u64,
    /// Of them, mispredicted by callgrind's model of a CPU.
    pub branch_misses: u64,
}

/// The function whose insns count, in callgrind's syntax.
const COUNTED: &str = "--toggle-collect=*skep_bench*verification*verify*";

/// Whether valgrind is installed.
pub fn available() -> bool {
    let mut command = Command::new("valgrind");
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Runs `command` under callgrind.
///
/// # Errors
///
/// valgrind does not start, or the command fails under it.
pub fn count(command: &Command) -> io::Result<Counted> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--branch-sim=yes"]);
    valgrind.arg(COUNTED).arg(command.get_program()).args(command.get_args());
    let output = valgrind.stdin(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        return Err(io::Error::other(format!("under valgrind: {line}")));
    }
    parse(&text).ok_or_else(|| io::Error::other("valgrind reported no counts"))
}

/// The lines `Events    : Ir Bc ...` and `Collected : 123 45 ...`.
fn parse(text: &str) -> Option<Counted> {
    let line = |key: &str| {
        let find = |line: &str| Some(line.split_once(key)?.1.split_once(':')?.1.to_owned());
        text.lines().find_map(find)
    };
    let (events, values) = (line("Events ")?, line("Collected ")?);
    let value = |event: &str| {
        let at = events.split_whitespace().position(|name| name == event)?;
        values.split_whitespace().nth(at)?.parse().ok()
    };
    let counted = Counted {
        instructions: value("Ir")?,
        branches: value("Bc")?,
        branch_misses: value("Bcm")?,
    };
    (counted.instructions > 0).then_some(counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_by_name() {
        let text = "==1== \n==1== Events    : Ir Bc Bcm Bi Bim\n\
                    ==1== Collected : 5000 700 70 12 3\n==1== \n";
        let expected = Counted { instructions: 5000, branches: 700, branch_misses: 70 };
        assert_eq!(parse(text), Some(expected));
        assert_eq!(parse("==1== Events : Ir Bc Bcm\n==1== Collected : 0 0 0\n"), None);
        assert_eq!(parse(""), None);
    }
}

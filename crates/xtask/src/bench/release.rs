//! Building the binaries that are measured: in release mode, or as the tests are built.

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// cargo, in the root of the repository.
pub(super) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(crate::root());
    command
}

/// The binary `skep`, built in release mode.
pub(super) fn skep_in_release() -> Result<PathBuf, Box<dyn std::error::Error>> {
    built("skep", &["build", "--release", "-p", "skep-cli"])
}

/// The binary `skep-bench`, built in release mode.
pub(super) fn skep_bench_in_release() -> Result<PathBuf, Box<dyn std::error::Error>> {
    built("skep-bench", &["build", "--release", "-p", "skep-bench"])
}

/// The binary `skep-bench`, as `cargo test` of the workspace has built it.
pub(super) fn skep_bench_of_tests() -> Result<PathBuf, Box<dyn std::error::Error>> {
    built("skep-bench", &["test", "--no-run", "--workspace"])
}

/// The binary of this name that cargo builds with these arguments.
fn built(name: &str, arguments: &[&str]) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let mut build = cargo();
    build.args(arguments).args(["--locked", "--message-format=json"]);
    // As in `.ci/run`: how a crate is divided to be compiled changes instruction counts.
    build.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_CODEGEN_UNITS", "1");
    let output = build.stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8(output.stdout)?;
    let executable = |line: &str| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_it = message["target"]["name"] == name && message["profile"]["test"] == false;
        message["executable"].as_str().filter(|_| is_it).map(PathBuf::from)
    };
    Ok(text.lines().rev().find_map(executable).ok_or("cargo built no binary")?)
}

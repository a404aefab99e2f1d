//! `cargo xtask targets`: checks docs/platforms.md: every platform compiles, the verifier runs as
//! WebAssembly under Node, and tests for 64-bit ARM run in qemu.
//!
//! Deliberately absent: running tests on macOS and Windows, which would need such machines. They
//! use the code of Linux without the feature `run`, which is compiled here, too.

#[path = "../../skep/examples/wasm/answers.rs"]
mod answers;

use crate::outcome::{Ended, Outcome};
use answers::answers;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only steps whose name contains this.
    #[arg(default_value = "")]
    only: String,
    /// Compile for one target of each operating system but Linux, and run the verifier as
    /// WebAssembly; leave out the other targets and the tests in qemu.
    #[arg(long)]
    quick: bool,
}

/// A compilation: targets, and arguments that select packages.
struct Check {
    targets: &'static [&'static str],
    /// With `--quick`, too.
    quick: bool,
    packages: &'static [&'static str],
}

const EVERYTHING: &[&str] = &["-pskep", "-pskep-cli", "-pskep-testkit"];
const CLI: &[&str] = &["-pskep", "-pskep-cli"];
const LIBRARY: &[&str] = &["-pskep", "--no-default-features", "--example=wasm"];
const WITHOUT_RUNTIME: &[&str] =
    &["-pskep", "-pskep-cli", "--no-default-features", "--all-targets"];

/// Target of static binaries.
pub(crate) const MUSL: &str = "x86_64-unknown-linux-musl";
const ARM: &str = "aarch64-unknown-linux-gnu";
const WASM: &str = "wasm32-unknown-unknown";

const CHECKS: [Check; 5] = [
    Check { targets: &["x86_64-unknown-linux-gnu"], quick: false, packages: WITHOUT_RUNTIME },
    Check {
        targets: &["aarch64-apple-darwin", "x86_64-pc-windows-msvc"],
        quick: true,
        packages: CLI,
    },
    Check { targets: &[WASM], quick: false, packages: LIBRARY },
    Check { targets: &[ARM], quick: false, packages: EVERYTHING },
    Check {
        targets: &["aarch64-unknown-linux-musl", MUSL, "x86_64-pc-windows-gnu"],
        quick: false,
        packages: CLI,
    },
];

/// Objects that the verifier in WebAssembly is tested with.
const OBJECTS: [&str; 4] = ["loops", "refused", "xdp_parse", "stress_parser"];

/// Packages whose tests run in qemu: those whose code differs between processors, and those that
/// read files and verify. They are compiled together, as one package alone would select other
/// features of what all of them need.
const ARM_PACKAGES: [&str; 10] = [
    "-pskep-insn",
    "-pskep-domain",
    "-pskep-mem",
    "-pskep-btf",
    "-pskep-uapi",
    "-pskep-program",
    "-pskep-object",
    "-pskep-verifier",
    "-pskep-runtime",
    "-pskep-testkit",
];
/// The tests of their libraries, and the cases of `tests/exec` with the interpreter.
const ARM_TESTS: [&[&str]; 2] = [&["--lib"], &["--test=exec", "--", "interp"]];
/// Linker and emulator.
const ARM_TOOLS: [&str; 2] = ["aarch64-linux-gnu-gcc", "qemu-aarch64"];
const ARM_LIBRARIES: &str = "/usr/aarch64-linux-gnu";

pub(crate) fn run(args: &Args) -> Outcome {
    let mut steps: Vec<(String, Box<dyn Fn() -> Outcome>)> = Vec::new();
    for check in CHECKS.iter().filter(|check| check.quick || !args.quick) {
        let chosen = |target: &&&str| format!("check {target}").contains(&args.only);
        let targets: Vec<&str> = check.targets.iter().filter(chosen).copied().collect();
        if !targets.is_empty() {
            let name = format!("check {}", targets.join(", "));
            steps.push((name, Box::new(move || compiles(&targets, check.packages))));
        }
    }
    steps.push(("verify in WebAssembly".to_owned(), Box::new(webassembly)));
    if !args.quick {
        let tests = || Ok(cargo(&["test"]).args(WITHOUT_RUNTIME).status()?.success().into());
        steps.push(("test without the runtime".to_owned(), Box::new(tests)));
        steps.push(("test on ARM in qemu".to_owned(), Box::new(arm_tests)));
    }
    let (mut failed, mut skipped) = (Vec::new(), Vec::new());
    for (name, step) in steps.into_iter().filter(|(name, _)| name.contains(&args.only)) {
        println!("targets: {name}");
        match step()? {
            Ended::Passed => {}
            Ended::Failed => failed.push(name),
            Ended::Skipped(why) => skipped.push(format!("{name} ({why})")),
        }
    }
    for name in &failed {
        println!("targets: failed: {name}");
    }
    Ok(match (failed.is_empty(), skipped.is_empty()) {
        (true, true) => Ended::Passed,
        (true, false) => Ended::Skipped(skipped.join(", ")),
        (false, _) => Ended::Failed,
    })
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).args(["--locked", "--quiet"]);
    command.current_dir(crate::root());
    command
}

/// Passes if it compiles without a warning. All targets are compiled in one invocation, which uses
/// the cores better.
fn compiles(targets: &[&str], packages: &[&str]) -> Outcome {
    let (mut check, mut missing) = (cargo(&["check"]), Vec::new());
    for target in targets {
        match is_missing(target) {
            None => drop(check.args(["--target", target])),
            Some(why) => missing.push(format!("{target}: {why}")),
        }
    }
    if missing.len() == targets.len() {
        return Ok(Ended::Skipped(missing.join(", ")));
    }
    Ok(match without_warnings(check.args(packages))? {
        false => Ended::Failed,
        true if missing.is_empty() => Ended::Passed,
        true => Ended::Skipped(missing.join(", ")),
    })
}

/// Whether a command of cargo succeeds and prints no warning.
fn without_warnings(command: &mut Command) -> std::io::Result<bool> {
    let done = command.output()?;
    let said = String::from_utf8_lossy(&done.stderr);
    print!("{said}");
    Ok(done.status.success() && !said.contains("warning:"))
}

/// Why the standard library of a target is missing and cannot be installed, if so.
pub(crate) fn is_missing(target: &str) -> Option<String> {
    let has = || {
        let sysroot = quietly(Command::new("rustc").args(["--print", "sysroot"]))?;
        let root = PathBuf::from(String::from_utf8_lossy(&sysroot.stdout).trim());
        Some(root.join("lib/rustlib").join(target).join("lib").is_dir())
    };
    if has() == Some(true) {
        return None;
    }
    // Not tried for the host: without rustup, the toolchain has only what it came with.
    let added = quietly(Command::new("rustup").args(["target", "add", target]));
    match added.is_some_and(|added| added.status.success()) && has() == Some(true) {
        true => None,
        false => Some("its standard library is not here and cannot be fetched".to_owned()),
    }
}

/// The output of a command; `None` if it does not exist.
fn quietly(command: &mut Command) -> Option<Output> {
    command.current_dir(crate::root()).stdin(Stdio::null()).output().ok()
}

fn is_there(tool: &str) -> bool {
    quietly(Command::new(tool).arg("--version")).is_some_and(|output| output.status.success())
}

/// cargo's target folder.
pub(crate) fn target_dir() -> PathBuf {
    let set = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    set.unwrap_or_else(|| crate::root().join("target"))
}

/// Compares the verifier as WebAssembly with the one here, counts and log included.
fn webassembly() -> Outcome {
    if let Some(why) = is_missing(WASM) {
        return Ok(Ended::Skipped(why));
    }
    // Compiled even where it cannot run: `--quick` has no other check of it.
    if !without_warnings(cargo(&["build", "--target", WASM]).args(LIBRARY))? {
        return Ok(Ended::Failed);
    }
    if !is_there("node") {
        return Ok(Ended::Skipped("no node here".to_owned()));
    }
    let module = target_dir().join(WASM).join("debug/examples/wasm.wasm");
    let script = crate::root().join("crates/skep/examples/wasm/wasm.mjs");
    let mut same = true;
    for name in OBJECTS {
        let object = crate::root().join(format!("tests/programs/{name}.bpf.o"));
        let node = Command::new("node").arg(&script).arg(&module).arg(&object).output()?;
        let theirs = String::from_utf8_lossy(&node.stdout);
        let ours = answers(&std::fs::read(&object)?);
        if !node.status.success() || theirs != ours {
            println!("{name}: in WebAssembly:\n{theirs}{}", String::from_utf8_lossy(&node.stderr));
            println!("{name}: here:\n{ours}");
            same = false;
        }
    }
    Ok(same.into())
}

/// Runs tests for 64-bit ARM in qemu's user mode.
fn arm_tests() -> Outcome {
    if let Some(tool) = ARM_TOOLS.iter().find(|tool| !is_there(tool)) {
        return Ok(Ended::Skipped(format!("no {tool} here")));
    }
    if let Some(why) = is_missing(ARM) {
        return Ok(Ended::Skipped(why));
    }
    let [linker, emulator] = ARM_TOOLS;
    let variable = |what: &str| format!("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_{what}");
    let mut passed = true;
    for tests in ARM_TESTS {
        let mut test = cargo(&["test", "--target", ARM]);
        test.args(ARM_PACKAGES).args(tests).env(variable("LINKER"), linker);
        test.env(variable("RUNNER"), format!("{emulator} -L {ARM_LIBRARIES}"));
        if !test.status()?.success() {
            println!("targets: failed on ARM: {}", tests[0]);
            passed = false;
        }
    }
    Ok(passed.into())
}

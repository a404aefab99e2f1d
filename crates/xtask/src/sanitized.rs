//! `cargo xtask miri` and `cargo xtask threads`: tests that need no machine code under Miri, and
//! tests under ThreadSanitizer.
//!
//! Both need a nightly toolchain with components (`miri`, `rust-src`); without them they are
//! skipped.
//!
//! Deliberately absent: machine code. Miri cannot run it, and ThreadSanitizer does not see its
//! accesses; litmus tests check its effects on shared memory.

use crate::outcome::{Ended, Outcome};
use std::path::Path;
use std::process::Command;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Packages with unsafe code, or whose tests use it, and arguments that select tests which Miri can
/// run: without machine code, `memfd`, and loops over all numbers.
const MIRI: [(&str, &[&str]); 3] = [
    ("skep-interp", &[]),
    (
        "skep-mem",
        &["--lib", "--", "answer::", "epoch::", "mem::tests", "region::", "registered::", "spin::"],
    ),
    (
        "skep-runtime",
        &[
            "--lib",
            "--",
            "ctx::",
            "error::",
            "helper::entry::",
            "helper::format::",
            "helper::string::",
            "helper::tests::",
            "map::lpm_nodes::",
            "objects::",
            "recorded::",
            "stats::clock::",
            "stats::requests::",
        ],
    ),
];

/// The same for ThreadSanitizer.
const THREADS: [(&str, &[&str]); 4] = [
    ("skep-mem", &["--lib"]),
    ("skep-runtime", &["--lib", "--test=threads", "--test=soundness", "--test=prog_array"]),
    // ThreadSanitizer takes memory of its own.
    ("skep-runtime", &["--test=many_threads", "--", "--skip=programs_take_no_memory"]),
    ("skep-testkit", &["--test=it", "--", "user_ringbuf::", "stopped::"]),
];

/// cargo of the nightly toolchain. Not `CARGO`, which is the stable toolchain's.
fn nightly(arguments: &[&str]) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.arg("+nightly").args(arguments).current_dir(crate::root());
    cargo.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
    cargo
}

fn works(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

fn all(tests: &[(&str, &[&str])], cargo: impl Fn(&str, &[&str]) -> Command) -> Outcome {
    let mut failed = Vec::new();
    for (package, arguments) in tests {
        println!("{package} {}", arguments.join(" "));
        if !cargo(package, arguments).status()?.success() {
            failed.push(*package);
        }
    }
    if !failed.is_empty() {
        println!("failed: {}", failed.join(", "));
    }
    Ok(failed.is_empty().into())
}

/// `cargo xtask miri`.
pub(crate) fn miri() -> Outcome {
    if !works(&mut nightly(&["miri", "--version"])) {
        return Ok(Ended::Skipped("no nightly toolchain with miri here".to_owned()));
    }
    all(&MIRI, |package, arguments| {
        let mut cargo = nightly(&["miri", "test", "--quiet", "--package", package]);
        cargo.args(arguments);
        // Programs treat addresses as numbers; Miri's emulation of weak memory aborts on accesses
        // of different sizes to the same bytes, which programs make. What is registered for the
        // process is never freed.
        let flags = "-Zmiri-permissive-provenance -Zmiri-disable-isolation \
                     -Zmiri-disable-weak-memory-emulation -Zmiri-ignore-leaks";
        cargo.env("MIRIFLAGS", flags);
        cargo
    })
}

/// `cargo xtask threads`.
pub(crate) fn threads() -> Outcome {
    let source = Command::new("rustc").args(["+nightly", "--print", "sysroot"]).output();
    let sysroot = source.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned());
    let library = |root: String| Path::new(&root).join("lib/rustlib/src/rust/library").is_dir();
    if !sysroot.is_ok_and(library) {
        return Ok(Ended::Skipped("no nightly toolchain with rust-src here".to_owned()));
    }
    all(&THREADS, |package, arguments| {
        let mut cargo = nightly(&["test", "--quiet", "-Zbuild-std", "--target", TARGET]);
        cargo.args(["--no-fail-fast", "--package", package]).args(arguments);
        cargo.env("RUSTFLAGS", "-Zsanitizer=thread");
        cargo
    })
}

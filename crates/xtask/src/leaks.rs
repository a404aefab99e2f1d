//! `cargo xtask leaks`: tests of running programs, including failure paths, under LeakSanitizer.
//!
//! It needs a nightly toolchain, because of a compiler flag. Resources that LeakSanitizer does not
//! track (pages, mappings, files) are counted by `crates/runtime/tests/leaks.rs` on every
//! toolchain.
//!
//! Deliberately absent: tests that fork or start a debugger, where it does not work, and
//! benchmarks.

use std::process::Command;

/// Packages, and arguments that select their tests.
const TESTS: [(&str, &[&str]); 6] = [
    // Memory with fixed addresses, slot numbers of exiting threads.
    ("skep-mem", &["--lib"]),
    // Panics in helpers, fuel, interruption, timers, statistics, patching while programs run.
    (
        "skep-runtime",
        &["--lib", "--test=leaks", "--test=programs", "--test=threads", "--test=stats"],
    ),
    // Every helper and map, on all engines.
    ("skep-testkit", &["--test=exec"]),
    ("skep-testkit", &["--test=it", "--", "tail_calls::", "objects::", "traced::", "borrowed::"]),
    // Broken captures, maps that do not fit, outputs that cannot be written.
    ("skep-cli", &["--test=transcripts"]),
    ("skep-cli", &["--test=it", "--", "run::"]),
];

pub(crate) fn run() -> crate::Outcome {
    let target = "x86_64-unknown-linux-gnu";
    let mut leaking = Vec::new();
    for (package, tests) in TESTS {
        println!("leaks: {package} {}", tests.join(" "));
        // Not `CARGO`, which is the stable toolchain's: rustup selects the other one.
        let mut cargo = Command::new("cargo");
        cargo.args(["+nightly", "test", "--quiet", "--no-fail-fast", "--target", target]);
        cargo.args(["--package", package]).args(tests).current_dir(crate::root());
        // Build scripts and macros of the host are not checked: they are built without `--target`.
        cargo.env("RUSTFLAGS", "-Zsanitizer=leak");
        cargo.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
        if !cargo.status()?.success() {
            leaking.push(package);
        }
    }
    match leaking.as_slice() {
        [] => println!("leaks: none"),
        leaking => println!("leaks, or tests that fail, in {}", leaking.join(", ")),
    }
    Ok(leaking.is_empty().into())
}

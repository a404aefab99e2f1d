//! `cargo xtask ci`: all checks, beyond the tests, that must pass before a change lands.
//!
//! A step that cannot run on this machine is neither passed nor failed: the last line names it.

use crate::outcome::{Ended, Outcome};
use std::io::{Read, Seek};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A step: its name, and the command that it runs.
struct Step {
    name: &'static str,
    runs: Runs,
}

enum Runs {
    /// cargo with these arguments, and optionally an environment variable.
    Cargo(&'static [&'static str], Option<(&'static str, &'static str)>),
    /// An xtask command.
    Own(&'static [&'static str]),
}

/// Steps that call cargo, cheapest first. cargo runs one at a time in a target directory, and its
/// last crates use one core: beside them runs what needs no cargo.
///
/// `tidy` is in neither lane: a test checks the same. Nor is what has a job of its own
/// (`.github/workflows/test.yml`): all platforms, and packages.
const WITH_CARGO: [Step; 9] = [
    Step { name: "format", runs: Runs::Cargo(&["fmt", "--all", "--", "--check"], None) },
    Step {
        name: "clippy",
        runs: Runs::Cargo(
            &["clippy", "--locked", "--workspace", "--all-targets", "--quiet", "--", "-Dwarnings"],
            None,
        ),
    },
    Step {
        name: "documents",
        runs: Runs::Cargo(
            &["doc", "--locked", "--workspace", "--no-deps", "--quiet"],
            Some(("RUSTDOCFLAGS", "-Dwarnings")),
        ),
    },
    Step { name: "platforms", runs: Runs::Own(&["targets", "--quick"]) },
    Step { name: "fuzz targets", runs: Runs::Own(&["neighbours", "fuzz"]) },
    Step { name: "peers", runs: Runs::Own(&["neighbours", "peers"]) },
    Step { name: "packages", runs: Runs::Own(&["package"]) },
    Step { name: "tests on other BTF ids", runs: Runs::Own(&["other-ids"]) },
    Step { name: "instruction counts", runs: Runs::Own(&["bench", "guard"]) },
];

/// Steps that need no cargo, cheapest first.
const WITHOUT_CARGO: [Step; 21] = [
    Step { name: "parity", runs: Runs::Own(&["parity", "--check"]) },
    Step { name: "refusals", runs: Runs::Own(&["refusals", "--check"]) },
    Step { name: "what came when", runs: Runs::Own(&["kernels", "page", "--check"]) },
    Step { name: "faults on purpose", runs: Runs::Own(&["faults", "--check"]) },
    Step { name: "public API", runs: Runs::Own(&["api", "--check"]) },
    Step { name: "pages in a browser", runs: Runs::Own(&["html"]) },
    Step { name: "proofs", runs: Runs::Own(&["prove", "--quick"]) },
    Step { name: "transcripts", runs: Runs::Own(&["bless", "--check"]) },
    Step {
        name: "agreement with the kernel",
        runs: Runs::Own(&[
            "kernel-diff",
            "--quiet",
            "--baseline=tests/baseline.csv",
            "--logged-insns=20000",
            "tests/programs",
        ]),
    },
    Step {
        name: "mutants",
        runs: Runs::Own(&["mutate", "--count=4000", "--no-minimise", "--fail-on=log"]),
    },
    Step {
        name: "loading as libbpf does",
        runs: Runs::Own(&["load-diff", "tests/programs", "tests/object"]),
    },
    Step { name: "runs inside the walk", runs: Runs::Own(&["embed", "--count=300", "--jobs=2"]) },
    Step {
        name: "real programs inside the walk",
        runs: Runs::Own(&["embed", "--jobs=2", "tests/programs"]),
    },
    Step {
        name: "mutants inside the walk",
        runs: Runs::Own(&[
            "embed",
            "--mutants=50",
            "--count=10",
            "--inputs=20",
            "--jobs=2",
            "tests/programs",
        ]),
    },
    Step {
        name: "runs survive",
        runs: Runs::Own(&["crash", "tests/programs", "tests/kernels/witnesses"]),
    },
    Step {
        name: "runs of mutants survive",
        runs: Runs::Own(&["crash", "--mutants=60", "--count=20", "tests/programs"]),
    },
    Step {
        name: "agreement with Linux 6.18.15",
        runs: Runs::Own(&[
            "kernel-diff",
            "--quiet",
            "--against=tests/kernels/6.18.15.csv.gz",
            "--kernel=target/kernels/6.18.15",
            "--baseline=tests/kernels/6.18.15.baseline.csv",
            "target/corpus",
        ]),
    },
    Step {
        name: "agreement with Linux 6.12.117",
        runs: Runs::Own(&[
            "kernel-diff",
            "--quiet",
            "--against=tests/kernels/6.12.117.csv.gz",
            "--kernel=target/kernels/6.12.117",
            "--baseline=tests/kernels/6.12.117.baseline.csv",
            "target/corpus",
        ]),
    },
    Step {
        name: "agreement with kernels that were asked",
        runs: Runs::Own(&["kernels", "agree", "--out=target/asked", "target/corpus"]),
    },
    Step {
        name: "shipped programs on kernels that were asked",
        runs: Runs::Own(&["kernels", "shipped"]),
    },
    Step {
        name: "settings of the engine",
        runs: Runs::Own(&["tunings", "--logged-insns=20000", "tests/programs"]),
    },
];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Continue after a step that fails.
    #[arg(long, short)]
    keep_going: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    // Paths in the steps are relative to the repository.
    std::env::set_current_dir(crate::root())?;
    let ended = Mutex::new(Vec::new());
    // Now: the file may be replaced while a step compiles.
    let xtask = std::env::current_exe()?;
    let stops = |how: &Ended| *how == Ended::Failed && !args.keep_going;
    std::thread::scope(|scope| {
        for lane in [&WITH_CARGO[..], &WITHOUT_CARGO[..]] {
            let (ended, xtask) = (&ended, &xtask);
            scope.spawn(move || {
                for step in lane {
                    if lock(ended).iter().any(|(_, how)| stops(how)) {
                        break;
                    }
                    println!("ci: {}: {}", step.name, step.runs.line());
                    let started = Instant::now();
                    let (how, said) =
                        step.runs.run(xtask).unwrap_or_else(|why| (Ended::Failed, why.to_string()));
                    let seconds = started.elapsed().as_secs();
                    // With the lock held, so that the lines of two steps do not mix.
                    let mut ended = lock(ended);
                    println!("ci: {}: took {seconds} s\n{}", step.name, said.trim_end());
                    ended.push((step.name, how));
                }
            });
        }
    });
    let ended = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("{}", last_line(&ended));
    Ok((!ended.iter().any(|(_, how)| *how == Ended::Failed)).into())
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Runs {
    fn line(&self) -> String {
        match self {
            Runs::Cargo(arguments, _) => format!("cargo {}", arguments.join(" ")),
            Runs::Own(arguments) => format!("cargo xtask {}", arguments.join(" ")),
        }
    }

    /// How it ended, and what it said.
    fn run(&self, xtask: &Path) -> std::io::Result<(Ended, String)> {
        let mut command = match self {
            Runs::Cargo(arguments, environment) => {
                let mut cargo =
                    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
                cargo.args(*arguments).envs(*environment);
                cargo
            }
            Runs::Own(arguments) => {
                let mut own = Command::new(xtask);
                own.args(*arguments);
                own
            }
        };
        // One file for both streams keeps their order.
        let mut file = tempfile::tempfile()?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file.try_clone()?);
        let status = command.status()?;
        file.rewind()?;
        let mut said = Vec::new();
        file.read_to_end(&mut said)?;
        let said = String::from_utf8_lossy(&said).into_owned();
        Ok((how_it_ended(status.success(), &said), said))
    }
}

/// How a command of xtask ended: one that was skipped says why on its last line.
fn how_it_ended(success: bool, said: &str) -> Ended {
    let why = said.lines().last().and_then(|line| line.strip_prefix(crate::SKIPPED));
    match (success, why) {
        (false, _) => Ended::Failed,
        (true, Some(why)) => Ended::Skipped(why.to_owned()),
        (true, None) => Ended::Passed,
    }
}

/// The names of the steps that failed and of those that were skipped, if any.
fn last_line(ended: &[(&str, Ended)]) -> String {
    let failed: Vec<&str> =
        ended.iter().filter(|(_, how)| *how == Ended::Failed).map(|(name, _)| *name).collect();
    let skipped: Vec<String> = ended
        .iter()
        .filter_map(|(name, how)| match how {
            Ended::Skipped(why) => Some(format!("{name} ({why})")),
            Ended::Passed | Ended::Failed => None,
        })
        .collect();
    let skipped = skipped.join(", ");
    match (failed.is_empty(), skipped.is_empty()) {
        (true, true) => "ci: all steps passed".to_owned(),
        (true, false) => format!("ci: what could be done passed; SKIPPED: {skipped}"),
        (false, true) => format!("ci: failed: {}", failed.join(", ")),
        (false, false) => format!("ci: failed: {}; SKIPPED: {skipped}", failed.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn a_step_that_was_skipped_says_so_on_its_last_line() {
        assert_eq!(
            how_it_ended(true, "a\nskipped: no kernel\n"),
            Ended::Skipped("no kernel".into())
        );
        assert_eq!(how_it_ended(true, "skipped: one of two\nb\n"), Ended::Passed);
        assert_eq!(how_it_ended(false, "skipped: no kernel\n"), Ended::Failed);
        assert_eq!(how_it_ended(true, ""), Ended::Passed);
    }

    #[test]
    fn what_was_skipped_is_not_said_to_have_passed() {
        let passed = ("a", Ended::Passed);
        let skipped = ("b", Ended::Skipped("no kernel".to_owned()));
        assert_eq!(last_line(std::slice::from_ref(&passed)), "ci: all steps passed");
        assert_eq!(
            last_line(&[passed, skipped.clone()]),
            "ci: what could be done passed; SKIPPED: b (no kernel)"
        );
        assert_eq!(
            last_line(&[("c", Ended::Failed), skipped]),
            "ci: failed: c; SKIPPED: b (no kernel)"
        );
    }

    #[test]
    fn every_step_of_our_own_is_a_command() {
        for step in WITH_CARGO.iter().chain(&WITHOUT_CARGO) {
            if let Runs::Own(arguments) = step.runs {
                let arguments = std::iter::once(&"xtask").chain(arguments);
                assert!(crate::Args::try_parse_from(arguments).is_ok(), "{}", step.name);
            }
        }
    }
}

//! `cargo xtask ci`: all checks, beyond the tests, that must pass before a change lands.
//!
//! A step that cannot run on this machine is neither passed nor failed: the last line names it.

use crate::outcome::{Ended, Outcome};
use clap::Parser;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::process::Command;
use std::time::Instant;

/// A step: its name, and the command that it runs.
struct Step {
    name: &'static str,
    runs: Runs,
}

enum Runs {
    /// cargo with these arguments, and optionally an environment variable.
    Cargo(&'static [&'static str], Option<(&'static str, &'static str)>),
    /// An xtask command, in this process; it reports whether it was skipped.
    Own(&'static [&'static str]),
}

/// The steps, cheapest first. `tidy` is not among them: a test checks the same. Nor is what has a
/// job of its own (`.github/workflows/test.yml`): all platforms, and packages.
const STEPS: [Step; 30] = [
    Step { name: "format", runs: Runs::Cargo(&["fmt", "--all", "--", "--check"], None) },
    Step { name: "parity", runs: Runs::Own(&["parity", "--check"]) },
    Step { name: "refusals", runs: Runs::Own(&["refusals", "--check"]) },
    Step { name: "what came when", runs: Runs::Own(&["kernels", "page", "--check"]) },
    Step { name: "faults on purpose", runs: Runs::Own(&["faults", "--check"]) },
    Step { name: "public API", runs: Runs::Own(&["api", "--check"]) },
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
    Step { name: "pages in a browser", runs: Runs::Own(&["html"]) },
    Step { name: "proofs", runs: Runs::Own(&["prove", "--quick"]) },
    Step { name: "transcripts", runs: Runs::Own(&["bless", "--check"]) },
    Step { name: "tests on other BTF ids", runs: Runs::Own(&["other-ids"]) },
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
    Step { name: "instruction counts", runs: Runs::Own(&["bench", "guard"]) },
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
    let mut ended = Vec::new();
    for step in STEPS {
        println!("ci: {}: {}", step.name, step.runs.line());
        let (started, cpu) = (Instant::now(), cpu_seconds());
        let how = step.runs.run().unwrap_or_else(|why| {
            println!("ci: {}: {why}", step.name);
            Ended::Failed
        });
        let (wall, cpu) = (started.elapsed().as_secs(), cpu_seconds() - cpu);
        println!("ci: {}: took {wall} s, {cpu} s of CPU time", step.name);
        ended.push((step.name, how));
        if matches!(ended.last(), Some((_, Ended::Failed))) && !args.keep_going {
            break;
        }
    }
    println!("{}", last_line(&ended));
    Ok((!ended.iter().any(|(_, how)| *how == Ended::Failed)).into())
}

/// CPU time used by this process and by the processes that it has waited for.
fn cpu_seconds() -> i64 {
    [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN]
        .into_iter()
        .filter_map(|who| getrusage(who).ok())
        .map(|usage| (usage.user_time() + usage.system_time()).num_seconds())
        .sum()
}

impl Runs {
    fn line(&self) -> String {
        match self {
            Runs::Cargo(arguments, _) => format!("cargo {}", arguments.join(" ")),
            Runs::Own(arguments) => format!("cargo xtask {}", arguments.join(" ")),
        }
    }

    fn run(&self) -> Outcome {
        match self {
            Runs::Cargo(arguments, environment) => {
                let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
                let mut command = Command::new(cargo);
                Ok(command.args(*arguments).envs(*environment).status()?.success().into())
            }
            Runs::Own(arguments) => {
                let arguments = std::iter::once(&"xtask").chain(*arguments);
                let command = crate::Args::try_parse_from(arguments)?.command;
                // A panic fails the step, not the whole run.
                skep::contain_panic(|| crate::run(command))?
            }
        }
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
        for step in STEPS {
            if let Runs::Own(arguments) = step.runs {
                let arguments = std::iter::once(&"xtask").chain(arguments);
                assert!(crate::Args::try_parse_from(arguments).is_ok(), "{}", step.name);
            }
        }
    }
}

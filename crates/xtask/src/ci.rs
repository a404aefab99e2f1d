//! `cargo xtask ci`: everything beyond the tests that must hold before a change lands.

use std::process::Command;

/// Name, cargo arguments, and what is set in the environment.
type Step = (&'static str, &'static [&'static str], Option<(&'static str, &'static str)>);

/// The steps after tidy, cheapest first.
const STEPS: [Step; 8] = [
    ("format", &["fmt", "--all", "--", "--check"], None),
    ("clippy", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-Dwarnings"], None),
    (
        "documents",
        &["doc", "--workspace", "--no-deps", "--quiet"],
        Some(("RUSTDOCFLAGS", "-Dwarnings")),
    ),
    ("parity", &["xtask", "parity", "--check"], None),
    ("transcripts", &["xtask", "bless", "--check"], None),
    (
        "agreement with the kernel",
        &["xtask", "kernel-diff", "--quiet", "--baseline", "tests/baseline.csv", "tests/programs"],
        None,
    ),
    ("settings of the engine", &["xtask", "tunings", "tests/programs"], None),
    ("instruction counts", &["xtask", "bench", "guard"], None),
];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Go on after a step that fails.
    #[arg(long, short)]
    keep_going: bool,
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let mut failed = Vec::new();
    let tidy = crate::tidy::run(&crate::tidy::Args::default())?;
    if !tidy {
        failed.push("tidy");
    }
    for (name, arguments, environment) in STEPS {
        if !failed.is_empty() && !args.keep_going {
            break;
        }
        println!("ci: {name}: cargo {}", arguments.join(" "));
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(arguments).envs(environment).current_dir(crate::root());
        if !command.status()?.success() {
            failed.push(name);
        }
    }
    match failed.as_slice() {
        [] => println!("ci: all steps passed"),
        failed => println!("ci: failed: {}", failed.join(", ")),
    }
    Ok(failed.is_empty())
}

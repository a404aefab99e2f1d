//! `cargo bless [FILE...]`: rewrites the transcripts of the suites from the host kernel's answers.

use crate::objects;
use crate::outcome::{self, Ended};
use skep::btf::Btf;
use skep_testkit::{exec, suite};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Suites; by default all of `tests/verifier` and `tests/exec`.
    files: Vec<PathBuf>,
    /// Change nothing; fail if something would change.
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    if let Err(why) = outcome::judge() {
        return Ok(Ended::without_kernel(&why));
    }
    let kernel_btf = objects::host()?.kernel_btf;
    let mut stale = false;
    for path in files(args)? {
        let text = fs::read_to_string(&path)?;
        let mut answer = |case: &suite::Case| {
            if case.options.unjudged.is_some() {
                return None;
            }
            if case.transcripts.iter().any(|part| part.kind == suite::TranscriptKind::Run) {
                return run_on_kernel(case, kernel_btf.as_ref(), &path);
            }
            let answer = suite::program(case, kernel_btf.as_ref())
                .and_then(|(program, _)| Ok((suite::on_kernel(case, &program)?.log, program)));
            match answer {
                Ok((log, program)) => Some((program.insns, log)),
                Err(error) => {
                    println!("{}:{}: {error}", path.display(), case.line);
                    None
                }
            }
        };
        let blessed = suite::bless(&text, &mut answer)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        if blessed != text {
            stale = true;
            println!("{}: {}", path.display(), if args.check { "stale" } else { "blessed" });
            if !args.check {
                fs::write(&path, blessed)?;
            }
        }
    }
    Ok((!(stale && args.check)).into())
}

/// The results of a case's runs.
fn run_on_kernel(case: &suite::Case, btf: Option<&Arc<Btf>>, path: &Path) -> suite::Answered {
    let text = suite::programs(case, btf).and_then(|programs| exec::on_kernel(case, &programs));
    match text {
        Ok(text) => Some((Vec::new(), text)),
        Err(error) => {
            println!("{}:{}: {error}", path.display(), case.line);
            None
        }
    }
}

fn files(args: &Args) -> std::io::Result<Vec<PathBuf>> {
    if args.files.is_empty() { suites(&crate::root()) } else { Ok(args.files.clone()) }
}

/// All suites of the repository, sorted by name.
pub(crate) fn suites(root: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in ["tests/verifier", "tests/exec"] {
        for entry in walkdir::WalkDir::new(root.join(folder)).sort_by_file_name() {
            let path = entry?.into_path();
            if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    Ok(found)
}

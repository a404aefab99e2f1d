//! `cargo bless [FILE...]`: rewrites the transcripts of the suites from the host kernel's answers.

use crate::objects;
use skep_testkit::suite;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Suites; all of `tests/verifier` if none is given.
    files: Vec<PathBuf>,
    /// Change nothing; fail if something would change.
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    if let Err(errno) = skep_kernel::bpf::available() {
        println!("bless: skipped: the kernel does not answer here ({errno})");
        return Ok(true);
    }
    let kernel_btf = objects::host()?.kernel_btf;
    let mut stale = false;
    for path in files(args)? {
        let text = fs::read_to_string(&path)?;
        let mut answer = |case: &suite::Case| {
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
    Ok(!(stale && args.check))
}

fn files(args: &Args) -> std::io::Result<Vec<PathBuf>> {
    if args.files.is_empty() { suites(&crate::root()) } else { Ok(args.files.clone()) }
}

/// All suites of the repository, in order of names.
pub(crate) fn suites(root: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in walkdir::WalkDir::new(root.join("tests/verifier")).sort_by_file_name() {
        let path = entry?.into_path();
        if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    Ok(found)
}

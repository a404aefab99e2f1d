//! The programs to measure: all that the arguments name, or the heaviest of them.

use super::settings::Run;
use skep::program::Program;
use skep_cli::Error;
use skep_cli::Exit;
use skep_cli::Streams;
use skep_cli::inputs::Input;
use skep_cli::judge_files::{Batch, Judged};
use skep_cli::over_limit;
use std::io;

/// A program to measure.
pub(super) struct Subject {
    /// Path of its file.
    pub(super) file: String,
    /// `FILE:PROG`, without folders.
    pub(super) name: String,
    /// The program, relocated.
    pub(super) program: Program,
}

/// A program found in the arguments, and its weight.
struct Candidate {
    input: usize,
    name: String,
    insns: u64,
}

/// The programs found.
pub(super) struct Subjects<'a> {
    run: &'a Run<'a>,
    batch: Batch,
    candidates: Vec<Candidate>,
    /// How the search ended: files that cannot be read make it [`Exit::Input`].
    pub(super) exit: Exit,
}

impl<'a> Subjects<'a> {
    /// Reads all files; programs that cannot be verified are reported as error lines. Programs are
    /// in the order of the arguments, or by weight, the heaviest first.
    pub(super) fn find(run: &'a Run<'a>, streams: &mut Streams<'_>) -> io::Result<Subjects<'a>> {
        let batch = Batch::new(&run.flags.input);
        let mut candidates = Vec::new();
        let mut at = 0;
        let mut troubles = Vec::new();
        let (_, exit) = batch.run(&run.plan, streams, candidate, |_, file| {
            for found in file.answers {
                match found.0 {
                    Ok((name, insns)) => candidates.push(Candidate { input: at, name, insns }),
                    Err(trouble) => troubles.push(trouble),
                }
            }
            at += 1;
            Ok(())
        })?;
        let mut subjects = Subjects { run, batch, candidates, exit };
        if run.flags.heaviest.is_some() {
            subjects.candidates.sort_by_key(|candidate| std::cmp::Reverse(candidate.insns));
        } else {
            for trouble in &troubles {
                streams.error(trouble)?;
                subjects.exit.raise(Exit::Input);
            }
        }
        if subjects.candidates.is_empty() && subjects.exit == Exit::Success {
            streams.error("no program to measure")?;
            subjects.exit.raise(Exit::Input);
        }
        Ok(subjects)
    }

    /// Number of programs that will be measured.
    pub(super) fn len(&self) -> usize {
        self.candidates.len().min(self.run.flags.heaviest.unwrap_or(usize::MAX))
    }

    /// The programs, each opened when it is measured. There may be more than [`Subjects::len`]: if
    /// one cannot be measured, the next heaviest takes its place.
    pub(super) fn iter(&self) -> impl Iterator<Item = Subject> {
        self.candidates.iter().filter_map(|candidate| {
            load(self.run, self.batch.inputs.files.get(candidate.input)?, &candidate.name)
        })
    }
}

/// `FILE:PROG` and insns, or why there is nothing to measure.
struct Found(Result<(String, u64), Error>);

impl skep_cli::Weigh for Found {}

fn candidate(judged: Judged<'_>) -> Found {
    let name = name(judged.file, &judged.entry.name);
    Found(match judged.result {
        Err(e) => Err(format!("{name}: {}", skep_cli::judge_files::not_loaded(&e)).into()),
        Ok((_, verification)) => match verification.verdict {
            skep::Verdict::Unsupported(what) => {
                Err(format!("{name}: not supported yet: {what}").into())
            }
            skep::Verdict::OutOfMemory => {
                Err(format!("{name}: {}", over_limit(&verification)).into())
            }
            skep::Verdict::Bug(what) => Err(format!("{name}: {what}").into()),
            _ => Ok((name, verification.counts.insns_processed)),
        },
    })
}

fn name(file: &str, prog: &str) -> String {
    format!("{}:{prog}", skep_cli::judge_files::base_name(file))
}

/// Opens the file again for one program.
pub(super) fn load(run: &Run<'_>, input: &Input, wanted: &str) -> Option<Subject> {
    let loaded = run.plan.load(input, &|loaded| {
        let name = name(loaded.file, &loaded.entry.name);
        let program = loaded.program.ok().filter(|_| name == wanted)?;
        Some(Subject { file: input.path.display().to_string(), name, program })
    });
    loaded.answers.into_iter().flatten().next()
}

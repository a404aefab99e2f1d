//! The child process of a comparison: reads requests, one JSON value per line, and answers with
//! events.

use super::row::{Class, Logging, Row};
use crate::child::answer;
use crate::outcome::Ended;
use crate::{answers, objects};
use serde::{Deserialize, Serialize};
use skep::{Host, Kernel};
use std::io::BufRead;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct WorkerArgs {
    #[arg(long)]
    level: u32,
    #[arg(long)]
    logged_insns: u64,
    #[arg(long)]
    filter: Option<String>,
    #[command(flatten)]
    other: OtherKernel,
}

/// Another kernel than the running one.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct OtherKernel {
    /// Compare with the answers in this table (`kernel-answers`), not with the running kernel.
    #[arg(long, requires = "kernel")]
    against: Option<PathBuf>,
    /// A folder with facts about that kernel (`tests/kernels`).
    #[arg(long, value_name = "DIR", requires = "against")]
    kernel: Option<PathBuf>,
    /// Write our log of each program that differs from the table to this folder.
    #[arg(long, value_name = "DIR", requires = "against")]
    logs: Option<PathBuf>,
}

impl OtherKernel {
    /// Whether another kernel is named, and which files of it, or of the objects, are missing.
    pub(crate) fn named(&self, objects: &[PathBuf]) -> Option<Result<(), String>> {
        let paths = [self.against.as_ref()?, self.kernel.as_ref()?];
        let missing = paths.into_iter().chain(objects).find(|path| !path.exists());
        Some(missing.map_or(Ok(()), |path| Err(format!("{} is not there", path.display()))))
    }

    pub(crate) fn args(&self) -> Vec<String> {
        let pair = |name: &str, path: &PathBuf| format!("--{name}={}", path.display());
        let against = self.against.iter().map(|path| pair("against", path));
        let kernel = self.kernel.iter().map(|path| pair("kernel", path));
        against.chain(kernel).chain(self.logs.iter().map(|path| pair("logs", path))).collect()
    }
}

/// The kernel to compare with, and its answers if they come from a table.
struct Judge {
    host: Host,
    answers: Option<(answers::Table, Kernel)>,
}

/// A request: compare the programs of a file, from index `skip`.
#[derive(Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) file: PathBuf,
    pub(super) skip: usize,
}

/// An event.
#[derive(Serialize, Deserialize)]
pub(super) enum Event {
    /// Starts with the program with this index and name.
    Start(usize, String),
    /// Its row, or the row of an object that could not be opened.
    Row(Box<Row>),
    /// The file is done.
    End,
}

/// Stack of the thread that verifies, bytes.
pub(crate) const STACK_SIZE: usize = 64 << 20;

pub(crate) fn worker(args: &WorkerArgs) -> crate::Outcome {
    let judge = match (&args.other.against, &args.other.kernel) {
        (Some(table), Some(dir)) => {
            let host = Host::read_folder(dir).map_err(|e| e.to_string())?;
            let release = std::fs::read_to_string(dir.join("release"))?;
            let kernel = Kernel::import(&dir.join("btf/vmlinux"), Some(release.trim()))?;
            Judge { host, answers: Some((answers::read(table)?, kernel)) }
        }
        _ => Judge { host: objects::host()?, answers: None },
    };
    skep_testkit::engine::record_panics();
    for line in std::io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(STACK_SIZE);
            let handle = thread.spawn_scoped(scope, || object(&request, args, &judge));
            handle.map(|h| h.join().unwrap_or(Ok(())))
        })??;
        answer(&Event::End)?;
    }
    Ok(Ended::Passed)
}

fn object(request: &Request, args: &WorkerArgs, judge: &Judge) -> std::io::Result<()> {
    let name = objects::short_name(&request.file);
    answer(&Event::Start(0, "(open)".to_owned()))?;
    let object = match objects::open(&request.file, &judge.host) {
        Ok(object) => object,
        Err(why) => return answer(&Event::Row(Box::new(not_loaded(&name, "", why)))),
    };
    let logging = Logging {
        level: args.level,
        insns_max: args.logged_insns,
        logs: args.other.logs.as_deref(),
    };
    for (i, entry) in object.programs.iter().enumerate().skip(request.skip) {
        let full = format!("{name}:{}", entry.name);
        if args.filter.as_ref().is_some_and(|filter| !full.contains(filter.as_str())) {
            continue;
        }
        let known = match &judge.answers {
            Some((table, kernel)) => match table.get(&(name.clone(), entry.name.clone())) {
                None => continue,
                Some(found) => Some((found, kernel)),
            },
            None => None,
        };
        answer(&Event::Start(i, entry.name.clone()))?;
        let row = match (&entry.program, known) {
            (Ok(program), Some((known, kernel))) => {
                Row::compare_with(known, program, &judge.host, kernel, logging)
            }
            (Ok(program), None) => Row::compare(&name, program, logging),
            (Err(_), Some((known, _))) if !known.is_judged() => {
                Row::without(&name, &entry.name, Class::NotJudged, known.message.clone())
            }
            (Err(why), _) => not_loaded(&name, &entry.name, why.to_string()),
        };
        answer(&Event::Row(Box::new(row)))?;
    }
    Ok(())
}

/// The reason is the cause, the last part of the error chain; the whole chain is in the column of
/// our log.
fn not_loaded(object: &str, program: &str, why: String) -> Row {
    let cause = why.rsplit(": ").next().unwrap_or_default().to_owned();
    Row { log_ours: why, ..Row::without(object, program, Class::NotLoaded, cause) }
}

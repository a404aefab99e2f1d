//! The child process of a comparison: reads requests, one JSON a line, and answers with events.

use super::row::{Class, Row};
use crate::child::answer;
use crate::objects;
use crate::outcome::Ended;
use serde::{Deserialize, Serialize};
use skep::Host;
use std::io::BufRead;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct WorkerArgs {
    #[arg(long)]
    level: u32,
    #[arg(long)]
    filter: Option<String>,
}

/// Compare the programs of a file, from the `skip`th on.
#[derive(Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) file: PathBuf,
    pub(super) skip: usize,
}

/// What the child says.
#[derive(Serialize, Deserialize)]
pub(super) enum Event {
    /// Work on the program of this number and name has begun.
    Start(usize, String),
    /// Its row, or that of an object which could not be opened.
    Row(Box<Row>),
    /// The file is done.
    End,
}

/// Stack of the thread that verifies, bytes.
pub(crate) const STACK_SIZE: usize = 64 << 20;

pub(crate) fn worker(args: &WorkerArgs) -> crate::Outcome {
    let host = objects::host()?;
    skep_testkit::engine::record_panics();
    for line in std::io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(STACK_SIZE);
            let handle = thread.spawn_scoped(scope, || object(&request, args, &host));
            handle.map(|h| h.join().unwrap_or(Ok(())))
        })??;
        answer(&Event::End)?;
    }
    Ok(Ended::Passed)
}

fn object(request: &Request, args: &WorkerArgs, host: &Host) -> std::io::Result<()> {
    let name = objects::short_name(&request.file);
    answer(&Event::Start(0, "(open)".to_owned()))?;
    let object = match objects::open(&request.file, host) {
        Ok(object) => object,
        Err(why) => return answer(&Event::Row(Box::new(not_loaded(&name, "", why)))),
    };
    for (i, entry) in object.programs.iter().enumerate().skip(request.skip) {
        let full = format!("{name}:{}", entry.name);
        if args.filter.as_ref().is_some_and(|filter| !full.contains(filter.as_str())) {
            continue;
        }
        answer(&Event::Start(i, entry.name.clone()))?;
        let row = match &entry.program {
            Ok(program) => Row::compare(&name, program, args.level),
            Err(why) => not_loaded(&name, &entry.name, why.to_string()),
        };
        answer(&Event::Row(Box::new(row)))?;
    }
    Ok(())
}

/// The reason is the cause, the last part of the chain; the whole chain is in the column of our
/// log.
fn not_loaded(object: &str, program: &str, why: String) -> Row {
    let cause = why.rsplit(": ").next().unwrap_or_default().to_owned();
    Row { log_ours: why, ..Row::without(object, program, (Class::NotLoaded, cause)) }
}

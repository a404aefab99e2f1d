//! The parent of a comparison: hands files to child processes, replaces those that die or hang.

use super::row::{Class, Row};
use super::worker::{Event, Request};
use crate::child::Child;
use crate::objects;
use indicatif::ProgressBar;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub(crate) struct Pool<'a> {
    pub(crate) files: &'a [PathBuf],
    pub(crate) jobs: usize,
    pub(crate) timeout: Duration,
    pub(crate) worker_args: Vec<String>,
}

impl Pool<'_> {
    /// All rows, in the order of files and programs.
    pub(crate) fn run(&self) -> io::Result<Vec<Row>> {
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<(usize, Vec<Row>)>> = Mutex::default();
        let progress = ProgressBar::new(self.files.len() as u64);
        std::thread::scope(|scope| {
            let jobs: Vec<_> = (0..self.jobs.min(self.files.len()))
                .map(|_| scope.spawn(|| self.job(&next, &done, &progress)))
                .collect();
            jobs.into_iter().try_for_each(|job| {
                job.join().unwrap_or_else(|_| Err(io::Error::other("a job panicked")))
            })
        })?;
        progress.finish_and_clear();
        let mut done = done.into_inner().unwrap_or_default();
        done.sort_by_key(|(i, _)| *i);
        Ok(done.into_iter().flat_map(|(_, rows)| rows).collect())
    }

    fn job(
        &self,
        next: &AtomicUsize,
        done: &Mutex<Vec<(usize, Vec<Row>)>>,
        progress: &ProgressBar,
    ) -> io::Result<()> {
        let mut worker = None;
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = self.files.get(i) else { break };
            let rows = self.file(file, &mut worker)?;
            if let Ok(mut done) = done.lock() {
                done.push((i, rows));
            }
            progress.inc(1);
        }
        Ok(())
    }

    /// All rows of a file; a worker that is lost is replaced, and goes on behind the program that
    /// it was lost at.
    fn file(&self, file: &Path, slot: &mut Option<Child<Event>>) -> io::Result<Vec<Row>> {
        let mut rows = Vec::new();
        let mut skip = 0;
        loop {
            let mut worker = match slot.take() {
                Some(worker) => worker,
                None => Child::start(&self.worker_args)?,
            };
            let request = Request { file: file.to_owned(), skip };
            match compare(&mut worker, &request, (&mut rows, self.timeout)) {
                Ok(()) => {
                    *slot = Some(worker);
                    return Ok(rows);
                }
                Err(lost) => {
                    let object = objects::short_name(file);
                    rows.push(Row::without(&object, &lost.program, (Class::Bug, lost.why)));
                    if lost.program == "(open)" {
                        return Ok(rows);
                    }
                    skip = lost.index + 1;
                }
            }
        }
    }
}

/// What a worker was doing when it was lost.
struct Lost {
    index: usize,
    program: String,
    why: String,
}

/// Has a worker compare the programs of a file.
fn compare(
    worker: &mut Child<Event>,
    request: &Request,
    (rows, timeout): (&mut Vec<Row>, Duration),
) -> Result<(), Lost> {
    let mut at = Lost { index: request.skip, program: "(open)".to_owned(), why: String::new() };
    if let Err(why) = worker.ask(request) {
        at.why = why;
        return Err(at);
    }
    loop {
        match worker.next(timeout) {
            Ok(Event::Start(index, program)) => (at.index, at.program) = (index, program),
            Ok(Event::Row(row)) => rows.push(*row),
            Ok(Event::End) => return Ok(()),
            Err(why) => {
                at.why = why;
                return Err(at);
            }
        }
    }
}

//! The parent of a comparison: distributes files to child processes, and replaces those that die or
//! hang.

use super::row::{Class, Row};
use super::worker::{Event, Request};
use crate::child::Child;
use crate::objects;
use indicatif::ProgressBar;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
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
        let mut rows = Vec::new();
        self.each(|done| {
            rows.extend(done);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Passes on the rows of each file as soon as those of all earlier files are known, so that an
    /// interruption does not lose them.
    pub(crate) fn each(&self, mut sink: impl FnMut(Vec<Row>) -> io::Result<()>) -> io::Result<()> {
        let next = AtomicUsize::new(0);
        let (sender, receiver) = mpsc::channel();
        let progress = ProgressBar::new(self.files.len() as u64);
        std::thread::scope(|scope| {
            let start = |sender: mpsc::Sender<_>| {
                let (next, progress) = (&next, &progress);
                let job = move || self.job(next, &sender, progress);
                std::thread::Builder::new().spawn_scoped(scope, job)
            };
            // Fewer if the host has no more; without any, there is an error.
            let mut jobs = Vec::new();
            while jobs.len() < self.jobs.min(self.files.len()) {
                match start(sender.clone()) {
                    Ok(job) => jobs.push(job),
                    Err(_) if !jobs.is_empty() => break,
                    Err(e) => return Err(e),
                }
            }
            drop(sender);
            in_turn(receiver, |rows| progress.suspend(|| sink(rows)))?;
            jobs.into_iter().try_for_each(|job| {
                job.join().unwrap_or_else(|_| Err(io::Error::other("a job panicked")))
            })
        })?;
        progress.finish_and_clear();
        Ok(())
    }

    fn job(
        &self,
        next: &AtomicUsize,
        done: &mpsc::Sender<(usize, Vec<Row>)>,
        progress: &ProgressBar,
    ) -> io::Result<()> {
        let mut worker = None;
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = self.files.get(i) else { break };
            let rows = self.file(file, &mut worker)?;
            // After an error nobody receives.
            if done.send((i, rows)).is_err() {
                break;
            }
            progress.inc(1);
        }
        Ok(())
    }

    /// All rows of a file. If a worker is lost, a new one continues after the program at which that
    /// happened.
    fn file(&self, file: &Path, slot: &mut Option<Child<Event>>) -> io::Result<Vec<Row>> {
        let mut rows = Vec::new();
        let mut skip = 0;
        loop {
            let mut worker = match slot.take() {
                Some(worker) => worker,
                None => Child::start(&self.worker_args)?,
            };
            let request = Request { file: file.to_owned(), skip };
            match compare(&mut worker, &request, &mut rows, self.timeout) {
                Ok(()) => {
                    *slot = Some(worker);
                    return Ok(rows);
                }
                Err(lost) => {
                    let object = objects::short_name(file);
                    rows.push(Row::without(&object, &lost.program, Class::Bug, lost.why));
                    if lost.program == "(open)" {
                        return Ok(rows);
                    }
                    skip = lost.index + 1;
                }
            }
        }
    }
}

/// Passes on numbered items, which may arrive in any order, in the order of their numbers.
fn in_turn<T>(
    numbered: impl IntoIterator<Item = (usize, T)>,
    mut sink: impl FnMut(T) -> io::Result<()>,
) -> io::Result<()> {
    let (mut early, mut wanted) = (BTreeMap::new(), 0);
    for (number, value) in numbered {
        early.insert(number, value);
        while let Some(value) = early.remove(&wanted) {
            wanted += 1;
            sink(value)?;
        }
    }
    Ok(())
}

/// What a worker was doing when it died.
struct Lost {
    index: usize,
    program: String,
    why: String,
}

/// Has a worker compare the programs of a file.
fn compare(
    worker: &mut Child<Event>,
    request: &Request,
    rows: &mut Vec<Row>,
    timeout: Duration,
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn rows_come_in_turn_and_early() {
        let seen = RefCell::new(Vec::new());
        let seen_before = |number: usize| {
            let wanted: &[usize] = [&[][..], &[], &[0, 1], &[0, 1]][number];
            assert_eq!(*seen.borrow(), wanted);
            number
        };
        let numbered = [1, 0, 3, 2].into_iter().enumerate();
        let numbered = numbered.map(|(at, number)| (number, (seen_before(at), number).1));
        let keep = |number| {
            seen.borrow_mut().push(number);
            Ok(())
        };
        in_turn(numbered, keep).expect("no error");
        assert_eq!(*seen.borrow(), [0, 1, 2, 3]);
    }
}

//! The parent of a comparison: hands files to child processes, replaces those that die or hang.

use super::row::{Class, Row};
use super::worker::{Event, Request};
use crate::objects;
use indicatif::ProgressBar;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

pub(super) struct Pool<'a> {
    pub(super) files: &'a [PathBuf],
    pub(super) jobs: usize,
    pub(super) timeout: Duration,
    pub(super) worker_args: Vec<String>,
}

impl Pool<'_> {
    /// All rows, in the order of files and programs.
    pub(super) fn run(&self) -> io::Result<Vec<Row>> {
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
    fn file(&self, file: &Path, slot: &mut Option<Worker>) -> io::Result<Vec<Row>> {
        let mut rows = Vec::new();
        let mut skip = 0;
        loop {
            let mut worker = match slot.take() {
                Some(worker) => worker,
                None => Worker::start(&self.worker_args)?,
            };
            match worker
                .compare(&Request { file: file.to_owned(), skip }, (&mut rows, self.timeout))
            {
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

/// Starts the command with at most 10 GiB of memory: a walk that explodes fails before the machine.
const LIMITED: &str = "ulimit -v 10485760; exec \"$0\" \"$@\"";

/// What a worker was doing when it was lost.
struct Lost {
    index: usize,
    program: String,
    why: String,
}

/// A child process; killed and waited for on drop.
struct Worker {
    child: Child,
    stdin: Option<ChildStdin>,
    events: Receiver<Event>,
}

impl Worker {
    fn start(args: &[String]) -> io::Result<Worker> {
        let mut child = Command::new("sh")
            .args(["-c", LIMITED])
            .arg(std::env::current_exe()?)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let stdin = child.stdin.take();
        let (sender, events) = channel();
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    let Ok(event) = serde_json::from_str(&line) else { continue };
                    if sender.send(event).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Worker { child, stdin, events })
    }

    fn compare(
        &mut self,
        request: &Request,
        (rows, timeout): (&mut Vec<Row>, Duration),
    ) -> Result<(), Lost> {
        let mut at = Lost { index: request.skip, program: "(open)".to_owned(), why: String::new() };
        let sent = serde_json::to_string(request).ok().and_then(|text| {
            let stdin = self.stdin.as_mut()?;
            writeln!(stdin, "{text}").and_then(|()| stdin.flush()).ok()
        });
        if sent.is_none() {
            at.why = "worker does not listen".to_owned();
            return Err(at);
        }
        loop {
            match self.events.recv_timeout(timeout) {
                Ok(Event::Start(index, program)) => (at.index, at.program) = (index, program),
                Ok(Event::Row(row)) => rows.push(*row),
                Ok(Event::End) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {
                    at.why = format!("no answer within {} s", timeout.as_secs());
                    return Err(at);
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status =
                        self.child.wait().map_or_else(|e| e.to_string(), |s| s.to_string());
                    at.why = format!("crash: {status}");
                    return Err(at);
                }
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! The runs: inputs are distributed to threads, which count the results.

use super::capture::{Capture, Chunk};
use super::capture_out::CaptureOut;
use super::effects::Effects;
use super::input::{Inputs, Kind};
use super::interrupt;
use super::summary::passes;
use super::tally::{Run, Tally};
use crate::Error;
use crate::flags::run::RunFlags;
use crate::threads;
use skep::runtime::{Ctx, Engine, Instance, Interrupter, RunResult, takes_packet};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// Runs of one input between two checks for Ctrl-C.
const REPEATS: u32 = 1 << 12;

/// How often to check whether the runs have ended, and the interval of updates.
const LOOK: Duration = Duration::from_millis(5);
const REFRESH: Duration = Duration::from_secs(1);

/// Results of all inputs.
pub(super) struct Done {
    pub(super) tally: Tally,
    /// The user interrupted the runs.
    pub(super) is_interrupted: bool,
    /// Not all threads could be started.
    pub(super) too_few_threads: Option<String>,
}

/// Parameters of the runs.
#[derive(Clone, Copy)]
pub(super) struct Work<'a> {
    pub(super) flags: &'a RunFlags,
    pub(super) instance: &'a Instance,
    pub(super) inputs: &'a Inputs,
    pub(super) out: Option<&'a CaptureOut>,
}

/// Runs the program on every input.
///
/// # Errors
///
/// Those of the periodic work.
pub(super) fn run(work: Work<'_>, mut watch: Option<Watch<'_>>) -> io::Result<Done> {
    let threads = work.flags.threads.get();
    let (chunks, running) = (Mutex::new(0), Mutex::default());
    let worker = Worker { work, chunks: &chunks, running: &running, ctx: None };
    // Another thread stops runs that are in progress.
    let stoppable = work.flags.engine() == Engine::Interpreter || work.flags.fuel.is_some();
    let _guard = interrupt::Guard::new();
    let mut too_few_threads = None;
    let mut tally = match (threads, &watch) {
        (1, None) if !stoppable => worker.work(),
        _ => thread::scope(|scope| {
            let (handles, missing) = start(scope, threads, &worker);
            too_few_threads = missing;
            let is_done = || {
                if interrupt::is_asked() {
                    stop(&running);
                }
                handles.iter().all(|handle| handle.is_finished())
            };
            look_on(&mut watch, is_done)?;
            let mut all = match handles.is_empty() {
                // This thread is the only one.
                true => Worker { ctx: None, ..worker }.work(),
                false => Tally::default(),
            };
            for handle in handles {
                all.add(handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            Ok::<_, io::Error>(all)
        })?,
    };
    watch.map_or(Ok(()), |refresh| refresh())?;
    if let Kind::One(_) = &work.inputs.kind {
        // It is one input, however many threads have run it.
        tally.errors.keep_one();
        if let (Some(out), Some(run)) = (work.out, &tally.only)
            && let Some(kept) = passes(work.instance.prog_type(), run)
        {
            let mut record = Vec::new();
            out.put(&mut record, Duration::ZERO, kept);
            out.turn(0).write(&record);
        }
    }
    Ok(Done { tally, is_interrupted: interrupt::is_asked(), too_few_threads })
}

/// Starts the threads; if the host cannot create some of them, the others do the work.
fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    wanted: u32,
    worker: &Worker<'scope>,
) -> (Vec<ScopedJoinHandle<'scope, Tally>>, Option<String>) {
    let mut handles = Vec::new();
    for _ in 0..wanted {
        let worker = Worker { ctx: None, ..*worker };
        match threads::room()
            .and_then(|()| Builder::new().spawn_scoped(scope, move || worker.work()))
        {
            Ok(handle) => handles.push(handle),
            Err(e) => {
                // Without any, the calling thread does the work.
                let count = handles.len().max(1);
                let why = skep::io_text(&e);
                let missing = format!("only {count} of {wanted} threads started: {why}");
                return (handles, (count < wanted as usize).then_some(missing));
            }
        }
    }
    (handles, None)
}

/// Ends the runs of all threads.
fn stop(running: &Mutex<Vec<Interrupter>>) {
    locked(running).iter().for_each(Interrupter::interrupt);
}

/// Work done each second during the runs, and once after them.
pub(super) type Watch<'a> = &'a mut dyn FnMut() -> io::Result<()>;

fn look_on(watch: &mut Option<Watch<'_>>, is_done: impl Fn() -> bool) -> io::Result<()> {
    let mut next = Instant::now() + REFRESH;
    while !is_done() {
        threads::pause(LOOK.min(next.saturating_duration_since(Instant::now())));
        if Instant::now() >= next {
            next += REFRESH;
            watch.as_mut().map_or(Ok(()), |refresh| refresh())?;
        }
    }
    Ok(())
}

struct Worker<'a> {
    work: Work<'a>,
    /// Chunks of the capture that were taken.
    chunks: &'a Mutex<u64>,
    /// What stops the runs of all threads.
    running: &'a Mutex<Vec<Interrupter>>,
    /// Created for the first input and used for all.
    ctx: Option<Ctx>,
}

impl Worker<'_> {
    fn work(mut self) -> Tally {
        let mut tally = Tally::default();
        match &self.work.inputs.kind {
            // A single input is run by every thread; several are distributed.
            Kind::One(bytes) => match self.one(bytes, &mut tally) {
                Ok(run) => {
                    tally.count(&run);
                    tally.only = Some(run);
                }
                Err(what) => tally.errors.push(1, what.into()),
            },
            Kind::Capture(capture) => self.packets(capture, &mut tally),
        }
        tally
    }

    fn packets(&mut self, capture: &Mutex<Capture>, tally: &mut Tally) {
        let (mut chunk, mut records) = (Chunk::default(), Vec::new());
        while let Some(number) = self.take(capture, &mut chunk) {
            let turn = self.work.out.map(|out| (out, out.turn(number)));
            records.clear();
            let mut errors = std::mem::take(&mut chunk.bad);
            for (number, time, bytes) in chunk.packets() {
                if interrupt::is_asked() {
                    break;
                }
                match self.one(bytes, tally) {
                    Ok(run) => {
                        tally.count(&run);
                        let kept = passes(self.work.instance.prog_type(), &run);
                        if let (Some((out, _)), Some(kept)) = (&turn, kept) {
                            out.put(&mut records, time, kept);
                        }
                    }
                    Err(what) => errors.push((number, format!("packet {number}: {what}"))),
                }
            }
            errors.sort();
            errors.into_iter().for_each(|(number, what)| tally.errors.push(number, what));
            if let Some((_, turn)) = turn {
                turn.write(&records);
            }
        }
    }

    /// Takes the next packets, and their chunk number.
    fn take(&self, capture: &Mutex<Capture>, chunk: &mut Chunk) -> Option<u64> {
        let mut capture = locked(capture);
        if interrupt::is_asked() || !capture.fill(chunk) {
            return None;
        }
        let mut chunks = locked(self.chunks);
        *chunks += 1;
        Some(*chunks - 1)
    }

    fn one(&mut self, bytes: &[u8], tally: &mut Tally) -> Result<Run, Error> {
        let Work { flags, instance, inputs, out } = self.work;
        let ctx = match &mut self.ctx {
            Some(ctx) => {
                ctx.set_packet(bytes).map_err(Error::caused)?;
                ctx
            }
            none => {
                let ctx = inputs.ctx(instance, bytes)?;
                locked(self.running).push(ctx.interrupter());
                none.insert(ctx)
            }
        };
        let is_shown = matches!(inputs.kind, Kind::One(_));
        let before = if is_shown { ctx.fields() } else { Vec::new() };
        let mut left = flags.repeat.get();
        let result = loop {
            let done = instance.test_run(ctx, left.min(REPEATS)).map_err(Error::caused)?;
            tally.time += done.mean * done.runs;
            tally.runs += u64::from(done.runs);
            left -= done.runs;
            if left == 0 || interrupt::is_asked() {
                break done.result;
            }
        };
        let packet = match (is_shown || out.is_some(), takes_packet(instance.prog_type())) {
            (false, _) => Vec::new(),
            (true, true) => ctx.packet_bytes(),
            (true, false) => ctx.raw_bytes(),
        };
        let redirect = ctx.redirect();
        let effects = if is_shown { Effects::new(&before, ctx) } else { Effects::default() };
        let RunResult { retval, r0, insns, fuel } = result;
        Ok(Run { retval, r0, insns, fuel, packet, redirect, effects })
    }
}

/// A thread that panicked has left consistent data.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

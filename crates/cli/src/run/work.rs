//! The runs: inputs are shared out to threads, results come back in order.

use super::input::{Inputs, Item};
use super::interrupt;
use crate::flags::RunFlags;
use skep::runtime::{Ctx, Instance, Interrupter, Redirect, RunResult};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Inputs that a thread takes at a time.
const CHUNK: usize = 256;

/// Runs of one input between two looks whether the user wants them to end.
const REPEATS: u32 = 1 << 12;

/// How often one looks whether the runs have ended, and how often what is watched is shown.
const LOOK: Duration = Duration::from_millis(5);
const REFRESH: Duration = Duration::from_secs(1);

/// What became of one input.
pub(super) struct Run {
    pub(super) retval: u32,
    /// All of the register.
    pub(super) r0: u64,
    /// Insns of the last run, if they were counted.
    pub(super) insns: Option<u64>,
    /// Units of fuel of the last run, if it had any.
    pub(super) fuel: Option<u64>,
    /// The packet or the context, if someone wants it.
    pub(super) packet: Vec<u8>,
    pub(super) redirect: Option<Redirect>,
}

/// What became of all inputs.
#[derive(Default)]
pub(super) struct Done {
    /// In the order of the inputs; `None` where it could not be run.
    pub(super) runs: Vec<Option<Run>>,
    /// Number of the input, from 1, and what was wrong.
    pub(super) errors: Vec<(usize, String)>,
    /// Time in the program, all threads together.
    pub(super) time: Duration,
    /// Runs that this is the time of.
    pub(super) count: u64,
    /// The user ended the runs.
    pub(super) is_interrupted: bool,
}

/// Runs the program on every input.
///
/// # Errors
///
/// One line, if the first input says that nothing can be run at all: the context has no such
/// field.
pub(super) fn run(
    flags: &RunFlags,
    instance: &Instance,
    (inputs, mut watch): (&Inputs, Option<Watch<'_>>),
) -> io::Result<Result<Done, String>> {
    if let Err(message) = check_fields(instance, inputs) {
        return Ok(Err(message));
    }
    let threads = flags.threads.get() as usize;
    let next = AtomicUsize::new(0);
    // One input is run by every thread; many are shared out.
    let alone = inputs.items.len() == 1;
    let running = Mutex::default();
    let worker =
        || Worker { flags, instance, inputs, running: &running, ctx: None }.work(&next, alone);
    // Whoever stops runs in the middle is another thread.
    let stoppable = flags.interp || flags.fuel.is_some();
    let _guard = interrupt::Guard::new();
    let parts: Vec<Part> = match (threads, &watch) {
        (1, None) if !stoppable => vec![worker()],
        _ => std::thread::scope(|scope| {
            let handles: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
            let is_done = || {
                if interrupt::is_asked() {
                    stop(&running);
                }
                handles.iter().all(|handle| handle.is_finished())
            };
            look_on(&mut watch, is_done)?;
            let parts = handles.into_iter().map(|handle| handle.join().unwrap_or_default());
            Ok::<_, io::Error>(parts.collect())
        })?,
    };
    watch.map_or(Ok(()), |refresh| refresh())?;
    let done = collect(parts, inputs.items.len());
    Ok(Ok(Done { is_interrupted: interrupt::is_asked(), ..done }))
}

/// Ends the runs of all threads.
fn stop(running: &Mutex<Vec<Interrupter>>) {
    let running = running.lock().unwrap_or_else(PoisonError::into_inner);
    running.iter().for_each(Interrupter::interrupt);
}

/// What is done each second while the runs go on, and once when they have ended.
pub(super) type Watch<'a> = &'a mut dyn FnMut() -> io::Result<()>;

fn look_on(watch: &mut Option<Watch<'_>>, is_done: impl Fn() -> bool) -> io::Result<()> {
    let mut next = Instant::now() + REFRESH;
    while !is_done() {
        std::thread::sleep(LOOK.min(next.saturating_duration_since(Instant::now())));
        if Instant::now() >= next {
            next += REFRESH;
            watch.as_mut().map_or(Ok(()), |refresh| refresh())?;
        }
    }
    Ok(())
}

/// The context has all the fields that are named.
fn check_fields(instance: &Instance, inputs: &Inputs) -> Result<(), String> {
    if let (Some(first), false) = (inputs.items.first(), inputs.fields.is_empty()) {
        let made = inputs.ctx(instance, first);
        made.map(drop)
            .map_err(|e| if e.starts_with("--ctx-json") { e } else { String::new() })
            .or_else(|e| if e.is_empty() { Ok(()) } else { Err(e) })?;
    }
    Ok(())
}

fn collect(parts: Vec<Part>, count: usize) -> Done {
    let mut done = Done::default();
    done.runs.resize_with(count, || None);
    for part in parts {
        done.time += part.time;
        done.count += part.count;
        for (at, result) in part.results {
            match result {
                Ok(run) => done.runs[at] = Some(run),
                Err(e) => done.errors.push((at + 1, e)),
            }
        }
    }
    done.errors.sort();
    done.errors.dedup();
    done
}

/// What one thread did.
#[derive(Default)]
struct Part {
    results: Vec<(usize, Result<Run, String>)>,
    time: Duration,
    count: u64,
}

struct Worker<'a> {
    flags: &'a RunFlags,
    instance: &'a Instance,
    inputs: &'a Inputs,
    /// What stops the runs of all threads.
    running: &'a Mutex<Vec<Interrupter>>,
    /// Made for the first input and used for all.
    ctx: Option<Ctx>,
}

impl Worker<'_> {
    fn work(mut self, next: &AtomicUsize, alone: bool) -> Part {
        let mut part = Part::default();
        let items = &self.inputs.items;
        if alone {
            let result = self.one(&items[0], &mut part);
            part.results.push((0, result));
            return part;
        }
        loop {
            let from = next.fetch_add(CHUNK, Ordering::Relaxed);
            if from >= items.len() {
                return part;
            }
            for (at, item) in items.iter().enumerate().skip(from).take(CHUNK) {
                if interrupt::is_asked() {
                    return part;
                }
                let result = self.one(item, &mut part);
                part.results.push((at, result));
            }
        }
    }

    fn one(&mut self, item: &Item, part: &mut Part) -> Result<Run, String> {
        let ctx = match &mut self.ctx {
            Some(ctx) => {
                ctx.set_packet(&item.bytes).map_err(|e| e.to_string())?;
                ctx
            }
            none => {
                let ctx = self.inputs.ctx(self.instance, item)?;
                let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
                running.push(ctx.interrupter());
                none.insert(ctx)
            }
        };
        let mut left = self.flags.repeat.get();
        let result = loop {
            let repeat = left.min(REPEATS);
            let (result, mean) = self.instance.test_run(ctx, repeat).map_err(|e| e.to_string())?;
            part.time += mean * repeat;
            part.count += u64::from(repeat);
            left -= repeat;
            if left == 0 || interrupt::is_asked() {
                break result;
            }
        };
        let wanted = self.flags.pcap_out.is_some() || !self.inputs.is_capture;
        let packet = match (wanted, skep::runtime::takes_packet(self.instance.prog_type())) {
            (false, _) => Vec::new(),
            (true, true) => ctx.packet_bytes(),
            (true, false) => ctx.raw_bytes(),
        };
        let redirect = ctx.redirect();
        let RunResult { retval, r0, insns, fuel } = result;
        Ok(Run { retval, r0, insns, fuel, packet, redirect })
    }
}

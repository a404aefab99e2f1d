//! Calls of the library under load: statistics of many programs switched on and off, and a prog
//! array slot that all of them call filled, replaced and emptied; for comparison, the raw batch of
//! the same sites.
//!
//! Threads run all programs in turn and check them: a program returns the target that it called,
//! and a run that began while statistics were on has to be counted.

use super::code::stats_switches;
use super::load::{Apart, Seen, percentile};
use crate::Spread;
use crate::run::objects::verify;
use crate::run::udp_packet;
use crate::threads::{beside, pause};
use serde::Serialize;
use skep_cli::Error;
use skep_insn::asm::assemble;
use skep_program::{MapDef, Program};
use skep_runtime::map::{MapHandle, UpdateFlags};
use skep_runtime::poke::Batch;
use skep_runtime::{Ctx, Instance, LoadOptions, Options, Runtime, StatsOptions, placed_code};
use skep_uapi::{MapType, ProgType};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Maximum number of statistics sites in a program: its entry, and each tail call.
const SITES_EACH: u32 = 4;
/// Time between two calls.
const PAUSE: Duration = Duration::from_micros(200);
/// Runs between two checks of the sequence numbers.
const CHUNK: usize = 8;
/// States of the slot: empty, and three targets.
const SLOT_STATES: u32 = 4;

/// A call of the library, or of the raw batch.
#[derive(Debug, Clone, Serialize)]
pub struct Called {
    /// Its name.
    pub call: &'static str,
    /// Its latency, us.
    pub latency_us: Option<Spread>,
    /// 99th percentile, us.
    pub p99_us: f64,
}

/// All calls for this many programs.
#[derive(Debug, Clone, Serialize)]
pub struct Library {
    /// Programs.
    pub programs: u32,
    /// Statistics sites in each.
    pub sites_each: u32,
    /// Threads that run them.
    pub threads: u32,
    /// The calls.
    pub calls: Vec<Called>,
    /// Results of the programs; `settled` are those between two changes of the slot.
    pub seen: Seen,
    /// Runs that began and ended while statistics were on: all have to be counted.
    pub counted_least: u64,
    /// Those and all that overlapped a switch.
    pub counted_most: u64,
    /// The number of counted runs.
    pub run_cnt: u64,
}

impl Library {
    /// Whether a run was wrong, late, or not counted although it had to be.
    pub fn is_wrong(&self) -> bool {
        self.seen.wrong + self.seen.late > 0
            || !(self.counted_least..=self.counted_most).contains(&self.run_cnt)
    }
}

/// Programs in a runtime, and the array that they call through.
struct Loaded {
    runtime: Runtime,
    callers: Vec<Instance>,
    targets: Vec<Instance>,
    slots: MapHandle,
    /// The statistics sites of all callers, on and off.
    raw: [Batch; 2],
}

/// Returns `value` if no tail call of `0..calls` happens.
fn program(name: &str, calls: u32, value: u32) -> Result<Program, Error> {
    let call = |index| format!("r1 = r6\nr2 = map[slots]\nr3 = {index}\ncall 12\n");
    let calls: String = (0..calls).map(call).collect();
    let text = format!("r6 = r1\n{calls}r0 = {value}\nexit\n");
    let assembly = assemble(&text, &|_| None).map_err(Error::caused)?;
    let slots = MapDef {
        name: "slots".to_owned(),
        map_type: MapType::ProgArray,
        key_size: 4,
        value_size: 4,
        max_entries: SITES_EACH,
        autocreate: true,
        ..MapDef::default()
    };
    Ok(Program {
        name: name.to_owned(),
        prog_type: ProgType::Xdp,
        license: "GPL".to_owned(),
        // The map is the first, whose index is already in the insn.
        insns: assembly.insns,
        maps: Arc::new([slots]),
        ..Program::default()
    })
}

impl Loaded {
    fn new(programs: u32, sites_each: u32, threads: u32) -> Result<Loaded, Error> {
        let options = Options { cpus: threads + 2, ..Options::default() };
        let runtime = Runtime::new(options).map_err(Error::caused)?;
        let caller = program("caller", sites_each - 1, 0)?;
        let maps = runtime.create_maps(&caller.maps, None);
        let load = |program: &Program, count: u32| {
            let verified = verify(program)?;
            let one =
                |_| runtime.load(&verified, &maps, &LoadOptions::default()).map_err(Error::caused);
            (0..count).map(one).collect::<Result<Vec<_>, _>>()
        };
        let callers = load(&caller, programs)?;
        let target = |state| Ok(load(&program("target", 0, state)?, 1)?.remove(0));
        let targets = (1..SLOT_STATES).map(target).collect::<Result<_, Error>>()?;
        let raw = [false, true].map(|on| {
            let mut batch = Batch::new();
            for code in callers.iter().filter_map(placed_code) {
                let (entry, calls) = stats_switches(code);
                entry.iter().chain(&calls).for_each(|switch| batch.add(switch, on));
            }
            batch
        });
        let slots = maps.get("slots").map_err(Error::caused)?.clone();
        Ok(Loaded { runtime, callers, targets, slots, raw })
    }
}

fn calls_tail(caller: &Instance) -> bool {
    placed_code(caller).is_some_and(|code| !code.tail_call_sites().is_empty())
}

/// State shared by the threads and the caller. A sequence number is odd during a change.
#[derive(Default)]
struct Shared {
    /// The slot's; half of it is the state.
    slot: Apart<AtomicU64>,
    /// Of statistics; on if half of it is odd.
    stats: Apart<AtomicU64>,
    done: Apart<AtomicBool>,
}

/// What a thread saw: results, and the runs that must and may be counted.
#[derive(Default)]
struct Ran {
    seen: Seen,
    least: u64,
    most: u64,
}

/// Runs all programs until the end is signalled.
fn run_programs(callers: &[Instance], shared: &Shared) -> Result<Ran, Error> {
    let mut ran = Ran::default();
    let mut ctx = Ctx::packet(ProgType::Xdp, &udp_packet()).map_err(Error::caused)?;
    while !shared.done.0.load(Ordering::Relaxed) {
        for chunk in callers.chunks(CHUNK) {
            let numbers =
                || [&shared.slot, &shared.stats].map(|number| number.0.load(Ordering::SeqCst));
            let before = numbers();
            let state = (before[0] / 2) as u32 % SLOT_STATES;
            let (mut wrong, mut others) = (0, 0);
            for caller in chunk {
                let found = caller.run(&mut ctx).map_err(Error::caused)?.retval;
                wrong += u64::from(found >= SLOT_STATES);
                others += u64::from(found != state);
            }
            let (after, count) = (numbers(), chunk.len() as u64);
            let settled = |at: usize| before[at] == after[at] && before[at].is_multiple_of(2);
            ran.seen.executions += count;
            ran.seen.wrong += wrong;
            if settled(0) {
                ran.seen.settled += count;
                ran.seen.late += others - wrong;
            }
            match (settled(1), before[1] / 2 % 2 == 1) {
                (true, true) => {
                    ran.least += count;
                    ran.most += count;
                }
                (true, false) => {}
                (false, _) => ran.most += count,
            }
        }
    }
    Ok(ran)
}

const CALLS: [&str; 7] = [
    "enable_stats",
    "drop of its guard",
    "batch of the same sites, on",
    "batch of the same sites, off",
    "prog array, install",
    "prog array, replace",
    "prog array, remove",
];

/// Times one change, with its sequence number before and after; us.
fn timed<T>(
    number: &AtomicU64,
    call: impl FnOnce() -> Result<T, Error>,
) -> Result<(T, f64), Error> {
    pause(PAUSE);
    number.fetch_add(1, Ordering::SeqCst);
    let started = Instant::now();
    let made = call();
    let us = started.elapsed().as_nanos() as f64 / 1e3;
    number.fetch_add(1, Ordering::SeqCst);
    Ok((made?, us))
}

/// All calls once, in the order of [`CALLS`]; us.
fn round(loaded: &mut Loaded, shared: &Shared) -> Result<Vec<f64>, Error> {
    // Sites that are still on are switched off, so that all are written again.
    loaded.runtime.programs();
    let mut all = Vec::new();
    let (runtime, stats) = (&loaded.runtime, &shared.stats.0);
    let enable = || runtime.enable_stats(StatsOptions::default()).map_err(Error::caused);
    let (guard, us) = timed(stats, enable)?;
    all.push(us);
    let leave = || {
        drop(guard);
        Ok(())
    };
    all.push(timed(stats, leave)?.1);
    runtime.programs();
    for batch in loaded.raw.iter_mut().rev() {
        all.push(timed(stats, || batch.commit().map_err(Error::caused))?.1);
    }
    if loaded.callers.iter().all(|caller| !calls_tail(caller)) {
        return Ok(all);
    }
    let (slots, number) = (&loaded.slots, &shared.slot.0);
    let mut fill = Vec::new();
    for target in &loaded.targets {
        let id = target.id().to_ne_bytes();
        let call = || slots.update(&[0; 4], &id, UpdateFlags::Any);
        fill.push(timed(number, || call().map_err(Error::caused))?.1);
    }
    let remove = || slots.delete(&[0; 4]).map_err(Error::caused);
    // One of the two replacements.
    all.extend([fill[0], fill[1], timed(number, remove)?.1]);
    Ok(all)
}

/// Measures all calls for about this long, on programs with `sites` sites in total.
///
/// # Errors
///
/// Programs do not run here.
pub fn library(sites: u32, threads: u32, time: Duration) -> Result<Library, Error> {
    let sites_each = if sites < SITES_EACH { 1 } else { SITES_EACH };
    let programs = (sites / sites_each).max(1);
    let mut loaded = Loaded::new(programs, sites_each, threads)?;
    let callers = loaded.callers.clone();
    let shared = Shared::default();
    let run = || run_programs(&callers, &shared);
    let (mut by_call, runs) = beside(threads, &shared.done.0, run, || {
        let started = Instant::now();
        let mut by_call = vec![Vec::new(); CALLS.len()];
        while by_call[0].is_empty() || started.elapsed() < time {
            let round = round(&mut loaded, &shared)?;
            by_call.iter_mut().zip(round).for_each(|(all, us)| all.push(us));
        }
        Ok(by_call)
    })?;
    let mut ran = Ran::default();
    for one in runs {
        let one = one?;
        ran.seen.add(&one.seen);
        ran.least += one.least;
        ran.most += one.most;
    }
    // Calls that do not apply without a tail call.
    by_call.retain(|all| !all.is_empty());
    let called = |(call, us): (&&'static str, &Vec<f64>)| Called {
        call,
        latency_us: Spread::of(us),
        p99_us: percentile(us, 0.99),
    };
    Ok(Library {
        programs,
        sites_each,
        threads,
        calls: CALLS.iter().zip(&by_call).map(called).collect(),
        seen: ran.seen,
        counted_least: ran.least,
        counted_most: ran.most,
        run_cnt: callers.iter().map(|caller| caller.stats().run_cnt).sum(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_counted_and_go_where_the_slot_says() {
        for sites in [1, 16] {
            let made = library(sites, 2, Duration::from_millis(60)).unwrap();
            assert!(!made.is_wrong(), "{made:?}");
            assert!(made.seen.settled > 0 && made.counted_least > 0, "{made:?}");
            assert_eq!(made.calls.len(), if sites == 1 { 4 } else { 7 });
            let wrong = Library { run_cnt: made.counted_least - 1, ..made };
            assert!(wrong.is_wrong());
        }
    }
}

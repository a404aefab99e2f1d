//! The child's half: runs programs, and writes what happens to a file that outlives it.

use crate::embed::{kind_of, packet};
use crate::exec_diff::generate::number;
use skep::program::Program;
use skep::uapi::{KernelProfile, MapType};
use skep_runtime::map::{MapHandle, UpdateFlags};
use skep_runtime::{Ctx, Engine, ErrorKind, Instance, Interrupter, LoadOptions, ObjectMaps};
use skep_runtime::{Options, Runtime, takes_packet};
use skep_testkit::rng::Rng;
use skep_verifier::{Config, Privileges, Verdict};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Programs with longer walks are not run.
const WALK_MAX: u32 = 100_000;
/// Fuel of a run.
const FUEL: u64 = 20_000;
/// After this many seconds a run is interrupted; after twice as many, the child is aborted.
const SECONDS_MAX: u64 = 8;
/// Larger keys and values are not changed.
const CHANGED_MAX: usize = 1 << 16;

/// The file, one line per event.
pub(super) struct Log {
    file: File,
}

/// The contents of a log.
#[derive(Default)]
pub(super) struct Events {
    pub(super) counts: BTreeMap<String, u64>,
    pub(super) findings: Vec<(usize, String)>,
    /// The last program that began.
    pub(super) last: Option<usize>,
    /// What was done last with it.
    pub(super) doing: String,
    /// The program's first panic.
    panic: String,
}

impl Log {
    pub(super) fn new() -> std::io::Result<Log> {
        tempfile::tempfile().map(|file| Log { file })
    }

    fn line(&self, kind: char, text: &str) {
        let text = format!("{kind}{}\n", text.replace('\n', "; "));
        let _ = (&self.file).write_all(text.as_bytes());
    }

    /// The program with this number is next.
    pub(super) fn begins(&self, at: usize) {
        RUNS.fetch_add(1, Relaxed);
        self.line('@', &at.to_string());
    }

    fn count(&self, what: &str) {
        self.line('#', what);
    }

    fn doing(&self, what: &str) {
        self.line('.', what);
    }

    fn finding(&self, what: &str) {
        self.line('!', what);
    }

    /// Everything since its creation.
    pub(super) fn read(&self) -> Events {
        let (mut text, mut events) = (String::new(), Events::default());
        let mut file = &self.file;
        if file.rewind().and_then(|()| file.read_to_string(&mut text)).is_err() {
            return events;
        }
        for line in text.lines().filter(|line| line.is_char_boundary(1)) {
            let (kind, text) = line.split_at(1);
            match kind {
                "@" => {
                    events.last = text.parse().ok();
                    events.panic.clear();
                }
                "." => events.doing = text.to_owned(),
                "#" => *events.counts.entry(text.to_owned()).or_default() += 1,
                "*" if events.panic.is_empty() => events.panic = text.to_owned(),
                "*" => {}
                _ => {
                    let at = events.last.unwrap_or_default();
                    // One for each program.
                    if events.findings.last().is_none_or(|(last, _)| *last != at) {
                        let panicked = text.contains("panic").then_some(&*events.panic);
                        events
                            .findings
                            .push((at, format!("{text}{}", panicked.unwrap_or_default())));
                    }
                }
            }
        }
        events
    }
}

/// Whether the current run has fuel: without, it may take very long.
static HAS_FUEL: AtomicBool = AtomicBool::new(true);
/// How the child ends if a run without fuel takes too long.
pub(super) const TOO_LONG: i32 = 3;
/// Counts programs and runs, so that one that does not end is noticed.
static RUNS: AtomicU64 = AtomicU64::new(0);
/// Stops the current run.
static INTERRUPTER: Mutex<Option<Interrupter>> = Mutex::new(None);

/// Starts a thread that interrupts runs that take too long, and aborts the process if that does not
/// help.
pub(super) fn watch(log: &Log) {
    let copy = || log.file.try_clone().map(|file| Log { file });
    if let Ok(log) = copy() {
        std::panic::set_hook(Box::new(move |info| {
            log.line('*', &format!(": {info}"));
        }));
    }
    let Ok(log) = copy() else { return };
    std::thread::spawn(move || {
        let (mut seen, mut seconds) = (0, 0);
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let runs = RUNS.load(Relaxed);
            seconds = if runs == seen { seconds + 1 } else { 0 };
            seen = runs;
            if seconds == SECONDS_MAX && !HAS_FUEL.load(Relaxed) {
                log.count("too long without fuel");
                std::process::exit(TOO_LONG);
            }
            if seconds == SECONDS_MAX {
                let interrupter = INTERRUPTER.lock().unwrap_or_else(|it| it.into_inner());
                interrupter.iter().for_each(Interrupter::interrupt);
            }
            if seconds == 2 * SECONDS_MAX {
                log.finding("hangs");
                std::process::abort();
            }
        }
    });
}

/// Runs a program if it is accepted and loaded, by both engines.
pub(super) fn run_program(
    program: &Program,
    privileges: Privileges,
    seed: u64,
    inputs: u64,
    log: &Log,
) {
    log.doing("in the verifier");
    HAS_FUEL.store(true, Relaxed);
    let config = Config {
        nr_cpu_ids: skep::possible_cpus(),
        profile: KernelProfile { insns_max: WALK_MAX, ..KernelProfile::v6_18() },
        privileges,
        ..Config::privileged(KernelProfile::v6_18())
    };
    let verdict = skep::contain_panic(|| skep_verifier::verify(program, &config).verdict);
    let verified = match verdict {
        Ok(Verdict::Accepted(verified)) => verified,
        Ok(_) => return log.count("not accepted"),
        Err(why) => return log.finding(&format!("the verifier: {why}")),
    };
    let rng = &mut Rng::new(seed ^ 0xc4a5);
    let ways = [
        Way { name: "machine code", engine: Engine::MachineCode, fuel: Some(FUEL) },
        Way { name: "interpreter", engine: Engine::Interpreter, fuel: Some(FUEL) },
        Way { name: "machine code without fuel", engine: Engine::MachineCode, fuel: None },
    ];
    let mut ends = true;
    for way in ways {
        // It may take very long.
        if way.fuel.is_none() && !ends {
            continue;
        }
        log.doing(&format!("by {}", way.name));
        HAS_FUEL.store(way.fuel.is_some(), Relaxed);
        match skep::contain_panic(|| one_way(&verified, &way, rng, inputs, log)) {
            Ok(Ok(ended)) => {
                ends &= ended;
                log.count(&format!("ran by {}", way.name));
            }
            Ok(Err(why)) => log.count(&format!("{}: {}", way.name, kind_of(&why))),
            Err(why) => log.finding(&format!("{}: {why}", way.name)),
        }
    }
}

/// How a program is run.
struct Way {
    name: &'static str,
    engine: Engine,
    fuel: Option<u64>,
}

/// Returns whether no run was out of fuel.
fn one_way(
    verified: &skep_verifier::VerifiedProgram,
    way: &Way,
    rng: &mut Rng,
    inputs: u64,
    log: &Log,
) -> Result<bool, String> {
    let program = verified.program();
    let runtime = Runtime::new(Options { cpus: skep::possible_cpus(), ..Options::default() });
    let runtime = runtime.map_err(|e| e.to_string())?;
    let maps = runtime.create_maps(&program.maps, program.btf.as_ref());
    let options =
        LoadOptions { engine: way.engine.clone(), fuel: way.fuel, ..LoadOptions::default() };
    let instance = match runtime.load(verified, &maps, &options) {
        Ok(instance) => instance,
        Err(why) if why.kind() == ErrorKind::Bug => {
            log.finding(&format!("{}: load: {why}", way.name));
            return Ok(true);
        }
        Err(why) => return Err(without_name(&why.to_string())),
    };
    fill(&maps, &instance, rng);
    let mut ended = true;
    for _ in 0..inputs {
        let mut ctx = context(&instance, rng)?;
        for _ in 0..2 {
            ended &= run_once(&instance, &mut ctx, log, way.name);
            change(&maps, rng);
        }
    }
    if way.engine == Engine::MachineCode {
        log.doing(&format!("by {}, two threads", way.name));
        two_threads(&instance, &maps, rng, log);
    }
    log.doing(&format!("by {}, at its end", way.name));
    Ok(ended)
}

fn without_name(why: &str) -> String {
    why.rsplit_once("': ").map_or(why, |(_, rest)| rest).to_owned()
}

/// Returns whether the run was not out of fuel.
fn run_once(instance: &Instance, ctx: &mut Ctx, log: &Log, by: &str) -> bool {
    RUNS.fetch_add(1, Relaxed);
    *INTERRUPTER.lock().unwrap_or_else(|it| it.into_inner()) = Some(ctx.interrupter());
    let Err(why) = instance.run(ctx) else { return true };
    let text = without_name(&why.to_string());
    match why.kind() {
        ErrorKind::Bug => log.finding(&format!("{by}: {text}")),
        ErrorKind::Stopped if text.contains("interrupted") => {
            log.finding(&format!("{by}: did not end: {text}"));
        }
        _ => log.count(&format!("run: {}", kind_of(&text))),
    }
    why.kind() != ErrorKind::Stopped
}

/// Two threads run it while the maps change.
fn two_threads(instance: &Instance, maps: &ObjectMaps, rng: &mut Rng, log: &Log) {
    let seeds = [rng.word(), rng.word()];
    std::thread::scope(|scope| {
        for seed in seeds {
            scope.spawn(move || {
                let mut rng = Rng::new(seed);
                let Ok(mut ctx) = context(instance, &mut rng) else { return };
                for _ in 0..20 {
                    run_once(instance, &mut ctx, log, "two threads");
                }
            });
        }
        (0..5).for_each(|_| change(maps, rng));
    });
}

/// Initial contents: programs that can be tail called, and some entries.
fn fill(maps: &ObjectMaps, instance: &Instance, rng: &mut Rng) {
    for map in maps.all().iter().flatten() {
        if map.map().map_type() == MapType::ProgArray {
            let slots = map.map().shape().max_entries.min(64);
            (0..slots).for_each(|slot| drop(map.set_program(slot, instance)));
        }
    }
    change(maps, rng);
}

/// Random changes, as user space makes them.
fn change(maps: &ObjectMaps, rng: &mut Rng) {
    for map in maps.all().iter().flatten() {
        let (key, value) = (map.map().shape().key_size as usize, map.value_len());
        if key > CHANGED_MAX || value > CHANGED_MAX {
            continue;
        }
        for _ in 0..3 {
            change_one(map, key, value, rng);
        }
    }
}

fn change_one(map: &MapHandle, key: usize, value: usize, rng: &mut Rng) {
    let entries = u64::from(map.map().shape().max_entries).clamp(1, 4);
    let mut key = vec![0; key];
    if let Some(first) = key.first_mut() {
        *first = rng.below(entries) as u8;
    }
    match rng.below(8) {
        0..5 => {
            let small = rng.chance(50);
            let mut byte = || if small { rng.below(3) as u8 } else { rng.below(256) as u8 };
            let value: Vec<u8> = (0..value).map(|_| byte()).collect();
            let _ = map.update(&key, &value, UpdateFlags::Any);
        }
        5 => drop(map.delete(&key)),
        6 => drop(map.pop()),
        _ => {
            let len = rng.below(100) as usize;
            let _ = map.user_ringbuf_write(&vec![7; len]);
            let _ = map.consume(|_| true);
        }
    }
}

/// A random context, as short as the program allows.
fn context(instance: &Instance, rng: &mut Rng) -> Result<Ctx, String> {
    let prog_type = instance.prog_type();
    if takes_packet(prog_type) {
        let mut ctx = Ctx::packet(prog_type, &packet(rng)).map_err(|e| e.to_string())?;
        for (name, _) in ctx.fields() {
            if rng.chance(20) {
                let _ = ctx.set_field(&name, number(rng) & 0xffff_ffff);
            }
        }
        return Ok(ctx);
    }
    let words = instance.ctx_bytes().div_ceil(8).max(1);
    let bytes: Vec<u8> = (0..words).flat_map(|_| number(rng).to_le_bytes()).collect();
    let mut ctx = Ctx::raw(prog_type, &bytes).map_err(|e| e.to_string())?;
    if rng.chance(50) {
        lend(&mut ctx, words, rng);
    }
    Ok(ctx)
}

/// Some words become pointers to memory.
fn lend(ctx: &mut Ctx, words: usize, rng: &mut Rng) {
    let bytes: Vec<u8> = (0..512).map(|_| rng.below(256) as u8).collect();
    let Ok(lent) = ctx.lend(&bytes) else { return };
    for _ in 0..8 {
        let _ = ctx.link(lent, 8 * rng.below(64) as usize, lent);
    }
    for index in 0..words {
        if rng.chance(70) {
            let _ = ctx.set_pointer(index, lent);
        }
    }
}

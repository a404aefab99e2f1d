//! The operations of a thread, with their weights.

use super::maps;
use super::random::Random;
use super::world::{RuntimeAndMaps, World, keep, lock, share};
use skep::runtime::{ClockSource, CpuFeatures, Ctx, Engine, HostClock, LoadOptions, Options};
use skep::runtime::{Passes, PokeMode, Prologue, Runtime, StatsOptions, Tuning};
use skep::runtime::{supported_helpers, supported_kfuncs, takes_packet};
use skep::uapi::ProgType;
use skep_testkit::forked::forked;
use std::cell::RefCell;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Name, weight, function.
pub(super) type Operation = (&'static str, usize, fn(&mut World<'_>));

pub(super) const OPERATIONS: &[Operation] = &[
    ("run", 400, |world| world.run_any()),
    ("change a map", 200, maps::change),
    ("look at a map", 160, maps::look),
    ("typed", 30, maps::typed),
    ("consume", 30, maps::consume),
    ("slots", 60, maps::slots),
    ("runtime", 6, new_runtime),
    ("map", 20, new_map),
    ("maps", 12, new_maps),
    ("load", 30, load),
    ("drop", 40, drop_something),
    ("statistics", 30, statistics),
    ("ask", 30, ask),
    ("context", 60, change_context),
    ("interrupt", 20, interrupt),
    ("thread", 3, thread),
    ("thread that ends in a run", 2, ending_thread),
    ("fork", 1, fork),
];

/// A clock that may go anywhere.
extern "C" fn clock() -> u64 {
    static NOW: AtomicU64 = AtomicU64::new(0);
    NOW.fetch_add(7, Ordering::Relaxed)
}

fn new_runtime(world: &mut World<'_>) {
    let random = &mut world.random;
    let cpus = match random.below(10) {
        0 => random.number() as u32,
        1 => 4096,
        _ => 1 + random.below(4) as u32,
    };
    let memory_bytes_max = match random.below(8) {
        0 => random.number() as usize % (64 << 20),
        1 => 4096,
        _ => 64 << 20,
    };
    let clock = match random.below(4) {
        0 => ClockSource::Host(HostClock(clock)),
        1 => ClockSource::Monotonic,
        _ => ClockSource::Auto,
    };
    let Ok(runtime) = Runtime::new(Options { cpus, memory_bytes_max, clock, mtu: 1500 }) else {
        return;
    };
    let runtime = Arc::new(runtime);
    share(random, &world.shared.runtimes, runtime.clone());
    keep(random, &mut world.runtimes, runtime);
}

fn new_map(world: &mut World<'_>) {
    let definition = match world.random.one_in(3) {
        true => world.definition_of_source(),
        false => Some(maps::definition(world)),
    };
    let (Some(runtime), Some(definition)) = (world.runtime(), definition) else { return };
    let source = world.random.below(world.sources.len());
    let btf = world.sources[source].btf.as_ref().filter(|_| world.random.one_in(2));
    let Ok(map) = runtime.create_map(&definition, btf) else { return };
    share(&mut world.random, &world.shared.maps, map.clone());
    keep(&mut world.random, &mut world.maps, map);
}

fn new_maps(world: &mut World<'_>) {
    let Some(runtime) = world.runtime() else { return };
    let source = world.random.below(world.sources.len());
    let from = &world.sources[source];
    let maps = Arc::new(runtime.create_maps(&from.maps, from.btf.as_ref()));
    for map in maps.all().iter().flatten() {
        if world.random.one_in(3) {
            share(&mut world.random, &world.shared.maps, map.clone());
        }
        keep(&mut world.random, &mut world.maps, map.clone());
    }
    keep(&mut world.random, &mut world.made, RuntimeAndMaps { source, runtime, maps });
}

/// Any options of a compilation; the processor need not have the features.
fn tuning(random: &mut Random) -> Tuning {
    let mut tuning = Tuning::default();
    if random.one_in(4) {
        tuning.poke = PokeMode::Flag;
    }
    if random.one_in(4) {
        tuning.prologue = Prologue::Full;
    }
    tuning.sites = !random.one_in(4);
    if random.one_in(2) {
        tuning.cpu = CpuFeatures { bmi2: random.one_in(2), movbe: random.one_in(2) };
    }
    let off = [0, 2, 16][random.below(3)];
    for name in Passes::NAMES {
        if off > 0 && random.one_in(off) {
            tuning.passes.by_name(name).into_iter().for_each(|pass| *pass = false);
        }
    }
    tuning
}

/// Mostly with the maps of the same object and runtime.
fn load(world: &mut World<'_>) {
    if world.made.is_empty() {
        return new_maps(world);
    }
    let at = world.random.below(world.made.len());
    let source = match world.random.one_in(12) {
        true => world.random.below(world.sources.len()),
        false => world.made[at].source,
    };
    let runtime = match world.random.one_in(12) {
        true => world.runtime().unwrap_or_else(|| world.made[at].runtime.clone()),
        false => world.made[at].runtime.clone(),
    };
    let Some(program) = world.random.of(&world.sources[source].programs) else { return };
    let random = &mut world.random;
    let options = LoadOptions {
        engine: if random.one_in(3) { Engine::Interpreter } else { Engine::MachineCode },
        tuning: tuning(random),
        fuel: (!random.one_in(4)).then(|| random.number().min(1 << 12)),
        coverage: random.one_in(4),
    };
    let Ok(instance) = runtime.load(&program, &world.made[at].maps, &options) else { return };
    share(random, &world.shared.instances, instance.clone());
    keep(random, &mut world.instances, instance);
}

fn take<T>(random: &mut Random, all: &mut Vec<T>) -> Option<T> {
    if all.is_empty() { None } else { Some(all.swap_remove(random.below(all.len()))) }
}

/// In any order: a runtime before its maps, a map before the programs that use it.
fn drop_something(world: &mut World<'_>) {
    let random = &mut world.random;
    match random.below(9) {
        0 => drop(take(random, &mut world.runtimes)),
        1 => drop(take(random, &mut world.made)),
        2 | 3 => drop(take(random, &mut world.instances)),
        4 => drop(take(random, &mut world.maps)),
        5 => drop(take(random, &mut world.contexts)),
        6 => drop(take(random, &mut world.guards)),
        7 => drop(take(random, &mut world.observers)),
        _ => {
            let shared = world.shared;
            let gone = (
                take(random, &mut lock(&shared.runtimes)),
                take(random, &mut lock(&shared.maps)),
                take(random, &mut lock(&shared.instances)),
                take(random, &mut lock(&shared.guards)),
            );
            drop(gone);
        }
    }
}

fn statistics(world: &mut World<'_>) {
    let sample = NonZeroU32::new(world.random.number() as u32).unwrap_or(NonZeroU32::MIN);
    let options = StatsOptions { sample, histogram: world.random.one_in(3) };
    let guard = match world.random.one_in(2) {
        true => world.runtime().and_then(|runtime| runtime.enable_stats(options).ok()),
        false => world.instance().and_then(|instance| instance.enable_stats(options).ok()),
    };
    let Some(guard) = guard else { return };
    match world.random.one_in(3) {
        true => share(&mut world.random, &world.shared.guards, guard),
        false => drop(keep(&mut world.random, &mut world.guards, guard)),
    }
}

fn ask(world: &mut World<'_>) {
    if let Some(instance) = world.instance() {
        let _ = (instance.stats(), instance.try_stats(), instance.info(), instance.ctx_bytes());
        let _ = instance.machine_code().map(|code| (code.bytes(), code.patch_sites()));
        let _ = instance.machine_code().map(|code| (code.symbols(), code.len_bytes()));
        let _ = format!("{instance:?}");
    }
    let Some(runtime) = world.runtime() else { return };
    match world.random.below(6) {
        0 => drop(runtime.programs()),
        1 => {
            let observer = runtime.observer();
            keep(&mut world.random, &mut world.observers, observer);
        }
        2 => drop((runtime.maps(), runtime.objects(), runtime.memory_bytes())),
        3 => drop((runtime.take_trace(), runtime.stats_enabled())),
        4 => drop(skep::metrics::text(&runtime.programs())),
        _ => {
            let observer = world.observers.first();
            drop(observer.map(skep::runtime::Observer::programs));
            let _ = (supported_helpers().count(), supported_kfuncs().count());
        }
    }
}

/// A context for programs of a type, with random contents.
pub(super) fn make_context(random: &mut Random, prog_type: ProgType) -> Option<Ctx> {
    let len = match random.below(8) {
        0 => random.below(1 << 17),
        1 => random.below(20),
        _ => 64 + random.below(200),
    };
    let bytes = random.bytes(len);
    match takes_packet(prog_type) {
        true => Ctx::packet(prog_type, &bytes).ok(),
        false => Ctx::raw(prog_type, &bytes).ok(),
    }
}

fn change_context(world: &mut World<'_>) {
    let random = &mut world.random;
    if world.contexts.is_empty() || random.one_in(8) {
        let types: Vec<ProgType> = ProgType::all().collect();
        let prog_type = random.of(&types).unwrap_or(ProgType::Xdp);
        if let Some(ctx) = make_context(random, prog_type) {
            keep(random, &mut world.contexts, ctx);
        }
        return;
    }
    let at = random.below(world.contexts.len());
    let ctx = &mut world.contexts[at];
    let (value, word, len) = (random.number(), random.below(40), random.below(300));
    match random.below(8) {
        0 | 1 => drop(ctx.set_packet(&random.bytes(len))),
        2 => {
            let fields = ctx.fields();
            let name = random.of(&fields).map_or("none".to_owned(), |(name, _)| name);
            let _ = ctx.set_field(&name, value);
        }
        3 => {
            if let Ok(lent) = ctx.lend(&random.bytes(len)) {
                let _ = ctx.link(lent, word, lent);
                let _ = ctx.set_pointer(word, lent);
            }
            if random.one_in(2) {
                let _ = ctx.set_word(word, value);
            }
        }
        4 => drop((ctx.packet_bytes(), ctx.meta_bytes(), ctx.raw_bytes(), ctx.field("data"))),
        5 => drop((ctx.redirect(), ctx.clones(), ctx.signals(), ctx.retval(), ctx.tunnel())),
        6 => ctx.set_attach_cookie(value),
        _ => share(random, &world.shared.interrupters, ctx.interrupter()),
    }
}

fn interrupt(world: &mut World<'_>) {
    let interrupter = world.random.of(&lock(&world.shared.interrupters));
    if let Some(interrupter) = interrupter {
        interrupter.interrupt();
    }
}

/// A thread that executes a few operations and exits.
fn thread(world: &mut World<'_>) {
    let (seed, sources, shared) = (world.random.next(), world.sources, world.shared);
    let (instance, map) = (world.instance(), world.map());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut inner = World::new(seed, sources, shared);
            inner.instances.extend(instance);
            inner.maps.extend(map);
            inner.within(8);
        });
    });
}

/// Runs a program when its thread-local variables are dropped.
struct Late(RefCell<Option<(skep::runtime::Instance, Ctx)>>);

impl Drop for Late {
    fn drop(&mut self) {
        if let Some((instance, mut ctx)) = self.0.take() {
            let _ = instance.run(&mut ctx);
        }
    }
}

fn ending_thread(world: &mut World<'_>) {
    thread_local! {
        static LATE: Late = const { Late(RefCell::new(None)) };
    }
    let Some(instance) = world.instance() else { return };
    let Some(ctx) = world.context(instance.prog_type()) else { return };
    let before = world.random.one_in(2);
    let ended = std::thread::spawn(move || {
        let run = || drop(instance.run(&mut Ctx::raw(ProgType::Syscall, &[0; 64]).unwrap()));
        if before {
            run();
        }
        LATE.with(|late| late.0.replace(Some((instance.clone(), ctx))));
        run();
    });
    assert!(ended.join().is_ok());
}

/// A child process executes a few operations. Locks held by other threads are never released there,
/// so it has its own maps and programs.
fn fork(world: &mut World<'_>) {
    // It takes as long as thousands of others.
    if !world.random.one_in(4) {
        return;
    }
    let (seed, sources) = (world.random.next(), world.sources);
    let work = move || {
        let shared = Default::default();
        let mut inner = World::new(seed, sources, &shared);
        (0..3).for_each(|_| new_runtime(&mut inner));
        (0..4).for_each(|_| new_maps(&mut inner));
        (0..6).for_each(|_| load(&mut inner));
        inner.within(100);
    };
    assert_eq!(forked(work), Some(0), "a child of fork");
}

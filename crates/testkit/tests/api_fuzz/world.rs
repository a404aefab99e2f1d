//! `World`: the objects of the library that one thread owns, and those shared with others.

use super::operations::OPERATIONS;
use super::programs::{Source, sources};
use super::random::Random;
use skep::program::MapDef;
use skep::runtime::map::MapHandle;
use skep::runtime::{Ctx, Instance, Interrupter, ObjectMaps, Observer, Runtime, StatsGuard};
use skep::uapi::ProgType;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of objects of a kind that a thread keeps.
pub(super) const KEPT: usize = 12;

/// Objects shared between threads.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) runtimes: Mutex<Vec<Arc<Runtime>>>,
    pub(super) instances: Mutex<Vec<Instance>>,
    pub(super) maps: Mutex<Vec<MapHandle>>,
    pub(super) interrupters: Mutex<Vec<Interrupter>>,
    pub(super) guards: Mutex<Vec<StatsGuard>>,
}

/// The maps of an object, and the runtime that created them.
pub(super) struct RuntimeAndMaps {
    pub(super) source: usize,
    pub(super) runtime: Arc<Runtime>,
    pub(super) maps: Arc<ObjectMaps>,
}

pub(super) struct World<'a> {
    pub(super) random: Random,
    pub(super) sources: &'a [Source],
    pub(super) shared: &'a Shared,
    pub(super) runtimes: Vec<Arc<Runtime>>,
    pub(super) made: Vec<RuntimeAndMaps>,
    pub(super) instances: Vec<Instance>,
    pub(super) maps: Vec<MapHandle>,
    pub(super) contexts: Vec<Ctx>,
    pub(super) guards: Vec<StatsGuard>,
    pub(super) observers: Vec<Observer>,
    /// Nesting depth of closures and threads.
    depth: u32,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stores an object, replacing another one if there are enough; the old one is returned, to be
/// dropped without a lock.
pub(super) fn keep<T>(random: &mut Random, all: &mut Vec<T>, new: T) -> Option<T> {
    if all.len() < KEPT {
        all.push(new);
        return None;
    }
    let at = random.below(all.len());
    Some(std::mem::replace(&mut all[at], new))
}

/// The same for shared objects.
pub(super) fn share<T>(random: &mut Random, all: &Mutex<Vec<T>>, new: T) {
    let gone = keep(random, &mut lock(all), new);
    drop(gone);
}

impl<'a> World<'a> {
    pub(super) fn new(seed: u64, sources: &'a [Source], shared: &'a Shared) -> World<'a> {
        World {
            random: Random::new(seed),
            sources,
            shared,
            runtimes: Vec::new(),
            made: Vec::new(),
            instances: Vec::new(),
            maps: Vec::new(),
            contexts: Vec::new(),
            guards: Vec::new(),
            observers: Vec::new(),
            depth: 0,
        }
    }

    /// Executes one operation.
    pub(super) fn step(&mut self) {
        let all: usize = OPERATIONS.iter().map(|(_, weight, _)| weight).sum();
        let mut at = self.random.below(all);
        for (name, weight, operation) in OPERATIONS {
            if at < *weight {
                if std::env::var_os("API_FUZZ_TRACE").is_some() {
                    eprintln!("{:?} {name}", std::thread::current().id());
                }
                return operation(self);
            }
            at -= weight;
        }
    }

    /// Executes some operations inside of one.
    pub(super) fn within(&mut self, count: usize) {
        if self.depth < 2 {
            self.depth += 1;
            (0..count).for_each(|_| self.step());
            self.depth -= 1;
        }
    }

    /// A map of its own or of another thread.
    pub(super) fn map(&mut self) -> Option<MapHandle> {
        match self.random.one_in(4) {
            true => self.random.of(&lock(&self.shared.maps)),
            false => self.random.of(&self.maps),
        }
    }

    pub(super) fn instance(&mut self) -> Option<Instance> {
        match self.random.one_in(4) {
            true => self.random.of(&lock(&self.shared.instances)),
            false => self.random.of(&self.instances),
        }
    }

    pub(super) fn runtime(&mut self) -> Option<Arc<Runtime>> {
        match self.random.one_in(4) {
            true => self.random.of(&lock(&self.shared.runtimes)),
            false => self.random.of(&self.runtimes),
        }
    }

    pub(super) fn definition_of_source(&mut self) -> Option<MapDef> {
        let source = &self.sources[self.random.below(self.sources.len())];
        self.random.of(&source.maps)
    }

    /// A context, mostly for the type.
    pub(super) fn context(&mut self, prog_type: ProgType) -> Option<Ctx> {
        let fits = |ctx: &Ctx| ctx.prog_type() == prog_type;
        let at = match self.random.one_in(30) {
            true => {
                Some(self.random.below(self.contexts.len())).filter(|_| !self.contexts.is_empty())
            }
            false => self.contexts.iter().position(fits),
        };
        match at {
            Some(at) => Some(self.contexts.swap_remove(at)),
            None => super::operations::make_context(&mut self.random, prog_type),
        }
    }

    /// Runs an instance; the context is kept.
    pub(super) fn run_any(&mut self) {
        let Some(instance) = self.instance() else { return };
        let Some(mut ctx) = self.context(instance.prog_type()) else { return };
        match self.random.one_in(16) {
            true => drop(instance.test_run(&mut ctx, self.random.below(20) as u32)),
            false => drop(instance.run(&mut ctx)),
        }
        keep(&mut self.random, &mut self.contexts, ctx);
    }
}

/// Runs threads that together execute this many operations.
pub(super) fn run(seed: u64, operations: u64, threads: u64) {
    let (sources, shared) = (sources(), Shared::default());
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (sources, shared) = (&sources, &shared);
            scope.spawn(move || {
                let mut world =
                    World::new(seed.wrapping_mul(31).wrapping_add(thread), sources, shared);
                (0..operations / threads).for_each(|_| world.step());
            });
        }
    });
}

//! `Runtime`: where maps and instances live: how many threads run programs, how much memory there
//! is.

use crate::cpu::Cpus;
use crate::image::{Engine, ProgImage};
use crate::instance::Instance;
use crate::map::prog_array::TailTarget;
use crate::map::registry::Registry;
use crate::map::{Map, MapHandle, Setup};
use crate::memory::Budget;
use crate::object_maps::ObjectMaps;
use crate::prog_info::{Observer, ProgInfo};
use crate::stats::{Board, Clock, ClockSource, StatsGuard, StatsOptions};
use crate::timer::Timers;
use crate::trace::TraceLog;
use crate::{Error, THREADS_MAX};
use skep_btf::Btf;
use skep_jit::Tuning;
use skep_program::MapDef;
use skep_verifier::VerifiedProgram;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// MTU of the loopback device.
const MTU: u32 = 65536;

/// What a runtime is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// "CPUs": threads that may run programs at the same time, and values of a per-CPU map.
    pub cpus: u32,
    /// Bytes that all maps together may reserve.
    pub memory_bytes_max: usize,
    /// What statistics are timed with.
    pub clock: ClockSource,
    /// MTU of every interface, for `bpf_check_mtu`; by default that of the loopback device.
    pub mtu: u32,
}

impl Default for Options {
    fn default() -> Options {
        let cpus = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        Options { cpus, memory_bytes_max: 64 << 30, clock: ClockSource::Auto, mtu: MTU }
    }
}

/// How a program is loaded.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// What runs it.
    pub engine: Engine,
    /// Choices of the compiler.
    pub tuning: Tuning,
    /// Units that a run may use up, the same on every engine: one is a jump backwards that is
    /// taken, a call of a function, or a call of a callback. `None` is no limit: a verified
    /// program ends, though it may take its time.
    pub fuel: Option<u64>,
}

/// What instances need of their runtime.
pub(crate) struct Shared {
    pub(crate) cpus: Arc<Cpus>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) trace: TraceLog,
    pub(crate) timers: Timers,
    pub(crate) board: Board,
    pub(crate) clock: Clock,
    pub(crate) mtu: u32,
}

impl Shared {
    pub(crate) fn new(cpus: u32, clock: Clock) -> Shared {
        let (registry, trace, timers, board) = Default::default();
        Shared { cpus: Cpus::new(cpus), registry, trace, timers, board, clock, mtu: MTU }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.timers.end();
        // Programs keep their maps, and prog arrays their programs: someone must let go.
        for map in self.registry.maps() {
            if let Some(array) = map.kind().as_prog_array() {
                array.clear();
            }
        }
    }
}

/// Maps and programs that can use each other.
pub struct Runtime {
    options: Options,
    budget: Arc<Budget>,
    shared: Arc<Shared>,
    next_id: AtomicU32,
}

impl Runtime {
    /// A runtime without maps and programs.
    ///
    /// # Errors
    ///
    /// More CPUs than [`THREADS_MAX`], or none.
    pub fn new(options: Options) -> Result<Runtime, Error> {
        if options.cpus == 0 || options.cpus as usize > THREADS_MAX {
            return Err(Error::input(format!("{} CPUs: 1 to {THREADS_MAX}", options.cpus)));
        }
        let budget = Budget::new(options.memory_bytes_max);
        let mut shared = Shared::new(options.cpus, Clock::new(options.clock)?);
        shared.mtu = options.mtu;
        let next_id = AtomicU32::new(1);
        Ok(Runtime { options, budget, shared: Arc::new(shared), next_id })
    }

    fn id(&self) -> u32 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Creates one map; `btf` is the BTF that its definition refers to.
    ///
    /// # Errors
    ///
    /// The kernel would refuse the definition; the kind is not modelled; no memory.
    pub fn create_map(&self, def: &MapDef, btf: Option<&Arc<Btf>>) -> Result<MapHandle, Error> {
        let (cpus, budget) = (self.options.cpus, self.budget.clone());
        let (btf, registry) = (btf.cloned(), self.shared.registry.clone());
        let setup = Setup { cpus, budget, btf, registry };
        let map = Arc::new(Map::create(def, self.id(), &setup)?);
        self.shared.registry.add_map(&map);
        Ok(MapHandle::new(map))
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.shared.registry
    }

    /// Creates the maps of an object. One that cannot be made is an error of the programs that
    /// use it.
    pub fn create_maps(&self, defs: &Arc<[MapDef]>, btf: Option<&Arc<Btf>>) -> ObjectMaps {
        ObjectMaps::new(self, defs, btf)
    }

    /// Loads a program with the maps of its object.
    ///
    /// # Errors
    ///
    /// It uses a map that could not be made, that is of another runtime or not what the program was
    /// verified with, or something that is not modelled; no memory.
    pub fn load(
        &self,
        program: &VerifiedProgram,
        maps: &ObjectMaps,
        options: &LoadOptions,
    ) -> Result<Instance, Error> {
        let doing = || format!("load program '{}'", program.program().name);
        if !maps.is_of(self.registry()) {
            return Err(Error::input("the maps are of another runtime").context(doing()));
        }
        let tuning = Tuning { fuel: options.fuel.is_some(), ..options.tuning.clone() };
        let image =
            ProgImage::new(self.id(), program, maps, (&options.engine, &tuning, self.shared.clock));
        let image = Arc::new(image.map_err(|e| e.context(doing()))?);
        let target: Arc<dyn TailTarget> = image.clone();
        self.shared.registry.add_prog(&target);
        self.shared.board.add(&image)?;
        let instance = Instance::new(self.shared.clone(), image, options.fuel);
        maps.fill_prog_slots(&instance)?;
        Ok(instance)
    }

    /// Switches statistics of all programs on, those of later ones too, until the guard is dropped
    /// (`BPF_ENABLE_STATS`). Where several ask, the smallest `sample` serves all.
    ///
    /// # Errors
    ///
    /// The host refuses to synchronise the threads of the process; the clock has no rate
    /// ([`ErrorKind::Clock`](crate::ErrorKind)). All is as it was then.
    pub fn enable_stats(&self, options: StatsOptions) -> Result<StatsGuard, Error> {
        Board::enable(&self.shared, None, options)
    }

    /// Whether statistics of all programs are on (`kernel.bpf_stats_enabled`).
    pub fn stats_enabled(&self) -> bool {
        self.shared.board.is_enabled()
    }

    /// All programs that are loaded, in the order of their ids.
    pub fn programs(&self) -> Vec<ProgInfo> {
        self.observer().programs()
    }

    /// The same for another thread.
    pub fn observer(&self) -> Observer {
        Observer::new(&self.shared)
    }

    /// All maps that are in use, inner ones too.
    pub fn maps(&self) -> Vec<MapHandle> {
        self.shared.registry.maps().into_iter().map(MapHandle::new).collect()
    }

    /// Takes what programs have printed, and the number of lines that found no room.
    pub fn take_trace(&self) -> (Vec<String>, u64) {
        self.shared.trace.take()
    }

    /// Bytes that maps have reserved.
    pub fn memory_bytes(&self) -> usize {
        self.budget.used_bytes()
    }
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Runtime {{ {:?} }}", self.options)
    }
}

//! `Runtime`: holds maps and instances, and limits the number of threads that run programs and the
//! memory of maps.

use crate::coverage::Counting;
use crate::engine_choice::Engine;
use crate::image::{Checked, Execution, ProgImage};
use crate::instance::Instance;
use crate::map::prog_registry::TailTarget;
use crate::map::registry::Registry;
use crate::map::setup::Setup;
use crate::map::{Map, MapHandle, Resources};
use crate::object_maps::ObjectMaps;
use crate::observer::Observer;
use crate::prog_info::ProgInfo;
use crate::shared::{MTU, Shared};
use crate::stats::{Clock, ClockSource, Counted, StatsGuard, StatsOptions};
use crate::{Error, THREADS_MAX};
use skep_btf::Btf;
use skep_jit::{CpuFeatures, Tuning};
use skep_mem::Budget;
use skep_program::MapDef;
use skep_verifier::VerifiedProgram;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Options of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// "CPUs": the number of runs that may execute concurrently, and of values in a per-CPU map; 1
    /// to [`THREADS_MAX`]. By default, the result of `available_parallelism`. Any number of threads
    /// may run programs: if there are more threads than CPUs, they take turns. A run stays on its
    /// CPU until it ends; a thread that does not have to share its CPU uses the same one in each
    /// run.
    pub cpus: u32,
    /// Bytes that all maps, objects allocated by programs and data recorded by runs may reserve
    /// together.
    pub memory_bytes_max: usize,
    /// The clock for statistics.
    pub clock: ClockSource,
    /// MTU of every interface, for `bpf_check_mtu`; defaults to the loopback device's.
    pub mtu: u32,
}

impl Default for Options {
    fn default() -> Options {
        let cpus = std::thread::available_parallelism().map_or(1, |n| n.get().min(THREADS_MAX));
        let cpus = cpus as u32;
        Options { cpus, memory_bytes_max: 64 << 30, clock: ClockSource::Auto, mtu: MTU }
    }
}

/// How a program is loaded.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// The engine that runs it.
    pub engine: Engine,
    /// Compiler options.
    pub tuning: Tuning,
    /// Fuel of a run, the same on every engine: each back-edge taken, subprog call and callback
    /// costs one unit. `None` means no limit: a verified program always terminates, but it may take
    /// long.
    pub fuel: Option<u64>,
    /// Count how often each insn is executed ([`Instance::coverage`]), which costs time.
    pub coverage: bool,
}

/// A set of maps and programs that can use each other.
pub struct Runtime {
    options: Options,
    budget: Arc<Budget>,
    shared: Arc<Shared>,
    next_id: AtomicU32,
}

impl Runtime {
    /// Creates an empty runtime.
    ///
    /// # Errors
    ///
    /// More CPUs than [`THREADS_MAX`], or none.
    pub fn new(options: Options) -> Result<Runtime, Error> {
        if options.cpus == 0 || options.cpus as usize > THREADS_MAX {
            return Err(Error::input(format!("{} CPUs: 1 to {THREADS_MAX}", options.cpus)));
        }
        let budget = Budget::new(options.memory_bytes_max);
        let mut shared = Shared::new(options.cpus, Clock::new(options.clock)?, budget.clone());
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
    /// The kernel would reject the definition; the map type is not modelled; out of memory.
    pub fn create_map(&self, def: &MapDef, btf: Option<&Arc<Btf>>) -> Result<MapHandle, Error> {
        let resources = Resources { cpus: self.options.cpus, budget: self.budget.clone() };
        let (btf, registry) = (btf.cloned(), self.shared.registry.clone());
        let setup = Setup { resources, btf, registry };
        let map = Arc::new(Map::create(def, self.id(), &setup)?);
        self.shared.registry.add_map(&map);
        Ok(MapHandle::new(map))
    }

    fn registry(&self) -> &Arc<Registry> {
        &self.shared.registry
    }

    /// Creates the maps of an object. A map that cannot be created is an error only for programs
    /// that use it.
    pub fn create_maps(&self, defs: &Arc<[MapDef]>, btf: Option<&Arc<Btf>>) -> ObjectMaps {
        ObjectMaps::new(defs, btf, self.registry(), |def| self.create_map(def, btf))
    }

    /// Loads a program with the maps of its object.
    ///
    /// # Errors
    ///
    /// The kernel accepts the program although it is unsafe to run, or it was verified with the
    /// rules of another kernel and those of 6.18.44 do not allow it
    /// ([`ErrorKind::Unsafe`](crate::ErrorKind::Unsafe)); it uses a map that could not be created,
    /// belongs to another runtime, or differs from the one it was verified with; one of its prog
    /// arrays contains programs that it cannot call (`EINVAL`); it needs something that is not
    /// modelled; out of memory.
    pub fn load(
        &self,
        program: &VerifiedProgram,
        maps: &ObjectMaps,
        options: &LoadOptions,
    ) -> Result<Instance, Error> {
        let doing = || format!("load program '{}'", program.program().name);
        if !maps.is_of(self.registry()) {
            return Err(Error::input("the maps belong to another runtime").context(doing()));
        }
        if let Some(why) = program.why_not_to_run() {
            return Err(Error::unsafe_to_run(why).context(doing()));
        }
        let tuning = Tuning {
            fuel: options.fuel.is_some(),
            // Insns that this processor does not have would kill the process.
            cpu: options.tuning.cpu.and(CpuFeatures::host()),
            ..options.tuning.clone()
        };
        let image = || {
            let id = self.id();
            let checked = Checked::new(program, self.options.cpus)?;
            let used = maps.used_by(program.program(), &checked.xlated)?;
            let counting = match (options.coverage, &options.engine) {
                (false, _) => None,
                (true, Engine::Interpreter) => {
                    Some(Counting::of_insns(&checked.xlated, self.options.cpus)?)
                }
                (true, Engine::MachineCode) => {
                    Some(Counting::of_edges(&checked.xlated, self.options.cpus, tuning.fuel)?)
                }
            };
            let (engine, clock) = (&options.engine, self.shared.clock);
            let execution = Execution { engine, tuning: &tuning, clock, counting };
            ProgImage::new(id, checked, &used, execution)
        };
        let image = Arc::new(image().map_err(|e| e.context(doing()))?);
        let target: Arc<dyn TailTarget> = image.clone();
        self.shared.registry.progs.add(&target);
        let counted: Arc<dyn Counted> = image.clone();
        self.shared.requests.add(&counted)?;
        let instance = Instance::new(self.shared.clone(), image, options.fuel);
        maps.fill_prog_slots(instance.name(), instance.id())?;
        Ok(instance)
    }

    /// Switches statistics on for all programs, including ones loaded later, until the guard is
    /// dropped (`BPF_ENABLE_STATS`). If several guards exist, the smallest `sample` applies.
    ///
    /// # Errors
    ///
    /// The host does not allow synchronising the threads of the process, or the clock has no
    /// constant rate ([`ErrorKind::Clock`](crate::ErrorKind)). Nothing is changed then.
    pub fn enable_stats(&self, options: StatsOptions) -> Result<StatsGuard, Error> {
        self.shared.requests.enable(&self.shared.clock, None, options)
    }

    /// Whether statistics of all programs are on (`kernel.bpf_stats_enabled`).
    pub fn stats_enabled(&self) -> bool {
        self.shared.requests.is_enabled()
    }

    /// All loaded programs, in id order.
    pub fn programs(&self) -> Vec<ProgInfo> {
        self.observer().programs()
    }

    /// An observer of the programs, for other threads.
    pub fn observer(&self) -> Observer {
        Observer::new(&self.shared.requests, &self.shared.registry)
    }

    /// All maps in use, including inner maps.
    pub fn maps(&self) -> Vec<MapHandle> {
        self.shared.registry.settle();
        self.shared.registry.maps().into_iter().map(MapHandle::new).collect()
    }

    /// Takes the lines that programs have printed, and the number of lines that were dropped.
    pub fn take_trace(&self) -> (Vec<String>, u64) {
        self.shared.trace.take()
    }

    /// Number of live objects allocated by programs (`bpf_obj_new`).
    pub fn objects(&self) -> usize {
        self.registry().objects.count()
    }

    /// Bytes reserved by maps, by objects allocated by programs and by data recorded by runs
    /// (clones, signals).
    pub fn memory_bytes(&self) -> usize {
        self.budget.used_bytes()
    }
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Runtime {{ {:?} }}", self.options)
    }
}

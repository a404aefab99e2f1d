//! `Runtime`: where maps and instances live: how many threads run programs, how much memory there
//! is.

use crate::map::registry::Registry;
use crate::map::{Map, MapHandle, Setup};
use crate::memory::Budget;
use crate::{Error, THREADS_MAX};
use skep_btf::Btf;
use skep_program::MapDef;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// What a runtime is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// "CPUs": threads that may run programs at the same time, and values of a per-CPU map.
    pub cpus: u32,
    /// Bytes that all maps together may reserve.
    pub memory_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Options {
        let cpus = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        Options { cpus, memory_bytes_max: 64 << 30 }
    }
}

/// Maps and programs that can use each other.
#[derive(Debug)]
pub struct Runtime {
    options: Options,
    budget: Arc<Budget>,
    registry: Arc<Registry>,
    next_map_id: AtomicU32,
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
        let registry = Arc::default();
        Ok(Runtime { options, budget, registry, next_map_id: AtomicU32::new(1) })
    }

    /// Creates one map; `btf` is the BTF that its definition refers to.
    ///
    /// # Errors
    ///
    /// The kernel would refuse the definition; the kind is not modelled; no memory.
    pub fn create_map(&self, def: &MapDef, btf: Option<&Arc<Btf>>) -> Result<MapHandle, Error> {
        let id = self.next_map_id.fetch_add(1, Ordering::Relaxed);
        let (cpus, budget) = (self.options.cpus, self.budget.clone());
        let (btf, registry) = (btf.cloned(), self.registry.clone());
        let setup = Setup { cpus, budget, btf, registry };
        let map = Arc::new(Map::create(def, id, &setup)?);
        self.registry.add_map(&map);
        Ok(MapHandle::new(map))
    }

    /// All maps that are in use, inner ones too.
    pub fn maps(&self) -> Vec<MapHandle> {
        self.registry.maps().into_iter().map(MapHandle::new).collect()
    }

    /// Bytes that maps have reserved.
    pub fn memory_bytes(&self) -> usize {
        self.budget.used_bytes()
    }
}

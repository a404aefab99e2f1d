//! `Shared`: state shared by the instances of a runtime.

use crate::map::registry::Registry;
use crate::stats::{Clock, StatsRequests};
use crate::timer::Timers;
use crate::trace::TraceLog;
use skep_mem::Budget;
use skep_mem::cpu::Cpus;
use std::sync::Arc;

/// MTU of the loopback device.
pub(crate) const MTU: u32 = 65536;

/// What instances need of their runtime.
pub(crate) struct Shared {
    pub(crate) cpus: Arc<Cpus>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) trace: TraceLog,
    pub(crate) timers: Timers,
    pub(crate) requests: Arc<StatsRequests>,
    pub(crate) clock: Clock,
    pub(crate) mtu: u32,
    /// Memory limit for maps, objects of programs and data recorded by runs.
    pub(crate) budget: Arc<Budget>,
}

impl Shared {
    pub(crate) fn new(cpus: u32, clock: Clock, budget: Arc<Budget>) -> Shared {
        let (trace, timers) = Default::default();
        let registry = Arc::new(Registry::new(&budget));
        let (cpus, requests) = (Cpus::new(cpus), StatsRequests::new());
        Shared { cpus, registry, trace, timers, requests, clock, mtu: MTU, budget }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.timers.end();
        // Programs keep their maps alive, and prog arrays their programs: this breaks the cycle.
        for map in self.registry.maps() {
            if let Some(array) = map.prog_array() {
                array.clear();
            }
        }
    }
}

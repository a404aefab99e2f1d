//! `Shared`: what the instances of a runtime have in common.

use crate::map::registry::Registry;
use crate::stats::{Board, Clock};
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
    pub(crate) board: Arc<Board>,
    pub(crate) clock: Clock,
    pub(crate) mtu: u32,
    /// What maps, and what runs record, may take.
    pub(crate) budget: Arc<Budget>,
}

impl Shared {
    pub(crate) fn new(cpus: u32, clock: Clock) -> Shared {
        let (registry, trace, timers) = Default::default();
        let (cpus, board, budget) = (Cpus::new(cpus), Board::new(), Budget::new(usize::MAX));
        Shared { cpus, registry, trace, timers, board, clock, mtu: MTU, budget }
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

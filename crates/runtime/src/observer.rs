//! `Observer`: read access to a runtime's programs for other threads.

use crate::map::registry::Registry;
use crate::prog_info::ProgInfo;
use crate::stats::{self, StatsRequests};
use std::sync::{Arc, Weak};

/// Observes a runtime's programs from any thread, without keeping the runtime alive.
#[derive(Clone)]
pub struct Observer {
    requests: Weak<StatsRequests>,
    registry: Weak<Registry>,
}

impl Observer {
    pub(crate) fn new(requests: &Arc<StatsRequests>, registry: &Arc<Registry>) -> Observer {
        Observer { requests: Arc::downgrade(requests), registry: Arc::downgrade(registry) }
    }

    /// All loaded programs, in id order; none once the runtime is gone.
    pub fn programs(&self) -> Vec<ProgInfo> {
        let Some(requests) = self.requests.upgrade() else { return Vec::new() };
        if let Some(registry) = self.registry.upgrade() {
            // Readers of statistics hold no map locks, so that a child of `fork` does not find them
            // locked.
            let _gate = stats::gate();
            registry.settle();
        }
        requests.programs().iter().map(|program| program.info()).collect()
    }
}

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Observer")
    }
}

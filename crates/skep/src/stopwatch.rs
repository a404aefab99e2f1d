//! `Stopwatch`: measures time, where there is a clock.

use std::time::Duration;
#[cfg(not(target_family = "wasm"))]
use std::time::Instant;

/// Time since it was started.
#[derive(Clone, Copy)]
pub(crate) struct Stopwatch {
    #[cfg(not(target_family = "wasm"))]
    started: Instant,
}

impl Stopwatch {
    pub(crate) fn start() -> Stopwatch {
        Stopwatch {
            #[cfg(not(target_family = "wasm"))]
            started: Instant::now(),
        }
    }

    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn elapsed(self) -> Duration {
        self.started.elapsed()
    }

    /// WebAssembly itself has no clock.
    #[cfg(target_family = "wasm")]
    pub(crate) fn elapsed(self) -> Duration {
        Duration::ZERO
    }
}

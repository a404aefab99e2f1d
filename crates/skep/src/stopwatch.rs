//! `Stopwatch`: measures time, where there is a clock, without what this thread waited for tables
//! that all programs share: the kernel's types by name, its symbols.

#[cfg(not(target_family = "wasm"))]
use skep_btf::waited::waited;
use std::time::Duration;
#[cfg(not(target_family = "wasm"))]
use std::time::Instant;

/// Time since it was started.
#[derive(Clone, Copy)]
pub(crate) struct Stopwatch {
    #[cfg(not(target_family = "wasm"))]
    started: Instant,
    #[cfg(not(target_family = "wasm"))]
    waited: Duration,
}

impl Stopwatch {
    pub(crate) fn start() -> Stopwatch {
        Stopwatch {
            #[cfg(not(target_family = "wasm"))]
            started: Instant::now(),
            #[cfg(not(target_family = "wasm"))]
            waited: waited(),
        }
    }

    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn elapsed(self) -> Duration {
        self.started.elapsed().saturating_sub(waited().saturating_sub(self.waited))
    }

    /// WebAssembly itself has no clock.
    #[cfg(target_family = "wasm")]
    pub(crate) fn elapsed(self) -> Duration {
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_btf::waited::made_once;
    use std::sync::OnceLock;
    use std::thread::sleep;

    #[test]
    fn what_all_programs_share_does_not_count() {
        const LONG: Duration = Duration::from_millis(50);
        let (table, all) = (OnceLock::new(), Instant::now());
        made_once(&OnceLock::new(), || sleep(LONG));
        let started = Stopwatch::start();
        made_once(&table, || sleep(LONG));
        sleep(LONG);
        let (took, all) = (started.elapsed(), all.elapsed());
        assert!(took >= LONG && all >= took + 2 * LONG, "{took:?} of {all:?}");
    }
}

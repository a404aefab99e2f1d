//! Models of the protocols between threads, checked with `loom` for every order of their loads and
//! stores: when memory is free (`epoch`), when a direct tail call may be entered, the effects of a
//! batch, the order in which statistics are switched (`poke`), reading of counters (`stats`).
//!
//! The models compile the real sources: `epoch/protocol.rs` of `skep-mem`, `edit.rs`,
//! `poke/batch.rs` and `poke/direct.rs` of `skep-text`, `sites.rs`, `stats/rate.rs` and
//! `stats/slot.rs` of `skep-jit`, and `stats/counts.rs`, with loom's atomics, and with sites that
//! are words instead of code. Each model has incorrect variants, in which loom must find an error.
//!
//! A process-wide `membarrier` is modelled as a word that both sides change, so that the second one
//! sees everything that the first one did before ([`heavy_barrier`], [`light_barrier`]). A
//! processor executes what it fetched at any earlier time, unless a barrier has happened since
//! ([`Fetched`]).

mod epoch;
mod poke;
mod stats;

use loom::sync::atomic::Ordering::{AcqRel, Relaxed};
use loom::sync::atomic::{AtomicU32, AtomicU64};
use std::cell::Cell;

/// Faults of the host in an incorrect variant.
#[derive(Clone, Copy, Default)]
struct Host {
    /// Barriers do nothing.
    without_barriers: bool,
    /// `membarrier` fails.
    refuses: bool,
}

thread_local! {
    /// All of loom's threads run on this thread.
    static HOST: Cell<Host> = Cell::default();
}

loom::lazy_static! {
    static ref BARRIERS: AtomicU64 = AtomicU64::new(0);
}

/// Runs a model, up to a number of preemptions.
fn model(preemptions: usize, steps: impl Fn() + Send + Sync + 'static) {
    model_on(preemptions, Host::default(), steps);
}

fn model_on(preemptions: usize, host: Host, steps: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(move || {
        HOST.set(host);
        steps();
    });
    HOST.set(Host::default());
}

/// Whether some order violates the model.
fn breaks(steps: impl Fn() + Send + Sync + 'static) -> bool {
    breaks_on(Host::default(), steps)
}

fn breaks_on(host: Host, steps: impl Fn() + Send + Sync + 'static) -> bool {
    let found = std::panic::AssertUnwindSafe(|| model_on(3, host, steps));
    std::panic::catch_unwind(found).is_err()
}

const NO_BARRIERS: Host = Host { without_barriers: true, refuses: false };
const REFUSED: Host = Host { without_barriers: false, refuses: true };

/// Makes all threads' earlier stores visible, and discards what they have fetched.
fn heavy_barrier() -> bool {
    let host = HOST.get();
    if !host.without_barriers && !host.refuses {
        BARRIERS.fetch_add(1, AcqRel);
    }
    !host.refuses
}

/// The other side of the barrier, at points where it may find a thread.
fn light_barrier() {
    if !HOST.get().without_barriers {
        BARRIERS.fetch_add(0, AcqRel);
    }
}

/// What a processor has fetched of a site, and when.
struct Fetched {
    barriers: u64,
    word: u32,
}

impl Fetched {
    fn new(site: &AtomicU32) -> Fetched {
        Fetched { barriers: BARRIERS.fetch_add(0, AcqRel), word: site.load(Relaxed) }
    }

    /// What it executes now.
    fn execute(self, site: &AtomicU32) -> u32 {
        let is_fresh = BARRIERS.fetch_add(0, AcqRel) == self.barriers;
        if is_fresh { self.word } else { site.load(Relaxed) }
    }
}

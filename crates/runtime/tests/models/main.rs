//! The protocols between threads, with every order in which their loads and stores can happen
//! (`loom` tries them all): when memory is free (`epoch`), when a direct tail call may be entered,
//! what a batch leaves, in which order statistics are switched (`poke`), what is read of counters
//! (`stats`).
//!
//! What is modelled is the product's own source: `epoch/protocol.rs` of `skep-mem`, `edit.rs`,
//! `poke/batch.rs` and `poke/direct.rs` of `skep-text`, `sites.rs`, `stats/rate.rs` and
//! `stats/slot.rs` of `skep-jit`, and `stats/counts.rs` are compiled here once more, with atomics
//! that loom watches, and with sites that are words instead of code. Models have broken twins,
//! which must be found out.
//!
//! A process-wide `membarrier` is one word here that both sides change, so that whoever comes
//! second sees all that the first did before ([`heavy_barrier`], [`light_barrier`]). A processor
//! runs what it fetched at any time before, unless a barrier has come since ([`Fetched`]).

mod epoch;
mod poke;
mod stats;

use loom::sync::atomic::Ordering::{AcqRel, Relaxed};
use loom::sync::atomic::{AtomicU32, AtomicU64};
use std::cell::Cell;

/// What of the host is broken in a model's twin.
#[derive(Clone, Copy, Default)]
struct Host {
    /// Barriers do nothing.
    without_barriers: bool,
    /// `membarrier` fails.
    refuses: bool,
}

thread_local! {
    /// loom's threads are all this one.
    static HOST: Cell<Host> = Cell::default();
}

loom::lazy_static! {
    static ref BARRIERS: AtomicU64 = AtomicU64::new(0);
}

/// Everything in one model, up to a number of preemptions.
fn model(preemptions: usize, steps: impl Fn() + Send + Sync + 'static) {
    model_on((preemptions, Host::default()), steps);
}

fn model_on((preemptions, host): (usize, Host), steps: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(move || {
        HOST.set(host);
        steps();
    });
    HOST.set(Host::default());
}

/// Whether some order breaks it.
fn breaks(steps: impl Fn() + Send + Sync + 'static) -> bool {
    breaks_on(Host::default(), steps)
}

fn breaks_on(host: Host, steps: impl Fn() + Send + Sync + 'static) -> bool {
    let found = std::panic::AssertUnwindSafe(|| model_on((3, host), steps));
    std::panic::catch_unwind(found).is_err()
}

const NO_BARRIERS: Host = Host { without_barriers: true, refuses: false };
const REFUSED: Host = Host { without_barriers: false, refuses: true };

/// All threads' earlier stores are visible, and what they fetched is fetched again.
fn heavy_barrier() -> bool {
    let host = HOST.get();
    if !host.without_barriers && !host.refuses {
        BARRIERS.fetch_add(1, AcqRel);
    }
    !host.refuses
}

/// The other side, where a heavy one may find a thread.
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

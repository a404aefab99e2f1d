//! The optimisation passes, each a file with a switch of the same name in [`crate::Passes`].
//!
//! # Invariants
//! 1. A pass changes ops inside one function, and preserves the state at every jump target.
//! 2. `Flow::live_out` is correct when a pass that uses it starts; `run` recomputes it after each
//!    pass that changed something.
//! 3. Accesses to shared memory are preserved: see `op::Space`, and `accesses`, which checks it.

pub(crate) mod accesses;
mod address;
mod bases;
mod blocks;
mod branches;
mod bytes;
mod chains;
mod constants;
mod copies;
mod counters;
mod dead;
mod demand;
pub(crate) mod direct;
pub(crate) mod fills;
mod fold;
mod guards;
pub(crate) mod heads;
mod index;
mod joins;
pub(crate) mod latches;
pub(crate) mod layout;
pub(crate) mod lookup;
pub(crate) mod loop_counts;
pub(crate) mod magic;
mod movbe;
mod paths;
pub(crate) mod products;
mod ranges;
mod renames;
mod rotate;
mod selects;
mod signs;
mod slots;
mod sums;
mod trips;
pub(crate) mod unroll;
mod values;
mod words;

use crate::flow::Flow;
use crate::ops::Ops;
use crate::{Error, Linkage, Passes, Tuning};
use accesses::Before;
use blocks::Blocks;

/// Runs the enabled passes. Until `dead`, liveness is only known after blocks.
pub(crate) fn run(
    ops: &mut Ops,
    flow: &mut Flow,
    linkage: &Linkage,
    tuning: &Tuning,
) -> Result<(), Error> {
    let passes = tuning.passes;
    let plan = linkage.coverage.as_ref().map(|coverage| &*coverage.plan);
    // The first passes do not use liveness.
    if passes.lookup {
        lookup::run(ops, linkage);
    }
    if passes.guards && guards::run(ops, flow) {
        flow.find_targets(ops);
    }
    let meant = Before::new(ops, tuning.checked);
    if passes.branches && branches::run(ops, flow, plan) {
        flow.find_targets(ops);
    }
    find_live(ops, flow, passes);
    // Twice, because passes create opportunities for each other, such as merged byte loads.
    // Value-based passes before demand, because only they know which bits are already 0.
    let mut blocks = Blocks::new(ops, linkage, passes);
    for _ in 0..2 {
        values_and_dead(ops, flow, &mut blocks, passes);
    }
    meant.compare(ops, flow, linkage, "a pass before slots changed what other threads see")?;
    let meant = Before::new(ops, tuning.checked);
    let mut again = passes.slots && slots::run(ops, flow, tuning, linkage.coverage.is_some());
    meant.is_untouched(ops, "the pass on slots changed what other threads see")?;
    let meant = Before::new(ops, tuning.checked);
    again |= passes.bases && bases::run(ops, flow, linkage, tuning);
    if again {
        find_live(ops, flow, passes);
    }
    // These two keep liveness up to date themselves.
    again |= passes.demand && demand::run(ops, flow);
    if again {
        values_and_dead(ops, flow, &mut blocks, passes);
    }
    if passes.signs && signs::run(ops, flow) {
        flow.find_live(ops);
    }
    if passes.joins {
        joins::run(ops, flow);
    }
    if passes.index {
        index::run(ops, flow);
    }
    if passes.chains && chains::run(ops, flow) {
        flow.find_live(ops);
    }
    if passes.movbe && movbe::run(ops, flow) {
        flow.find_live(ops);
    }
    if passes.fold && fold::run(ops, flow) {
        flow.find_live(ops);
        // A read-modify-write on memory computes its address once instead of twice.
        if passes.index {
            index::run(ops, flow);
        }
    }
    words_and_fills(ops, flow, passes);
    meant.compare(ops, flow, linkage, "a pass behind slots changed what other threads see")?;
    if passes.selects {
        selects::run(ops, flow, plan.is_some());
    }
    Ok(())
}

fn words_and_fills(ops: &mut Ops, flow: &mut Flow, passes: Passes) {
    if passes.words && words::run(ops, flow) {
        flow.find_live(ops);
    }
    if passes.products && products::run(ops, flow) {
        flow.find_live(ops);
    }
    if passes.fills {
        fills::run(ops, flow);
    }
}

fn values_and_dead(ops: &mut Ops, flow: &mut Flow, blocks: &mut Blocks<'_>, passes: Passes) {
    if blocks.run(ops, flow) {
        flow.find_targets(ops);
        find_live(ops, flow, passes);
    }
    if passes.dead {
        dead::run(ops, flow);
    }
}

/// Recomputes liveness; `dead` completes it.
fn find_live(ops: &Ops, flow: &mut Flow, passes: Passes) {
    match passes.dead {
        true => flow.find_live_blocks(ops),
        false => flow.find_live(ops),
    }
}

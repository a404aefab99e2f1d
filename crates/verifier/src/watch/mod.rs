//! A record of the walk, for `cargo xtask embed`, not for users of the verifier.
//!
//! # Invariants
//! 1. Recording does not affect the walk: verdict, counts and log are the same.
//! 2. Without a recorder, the only cost is the check whether there is a log.

mod graph;
mod recorder;

pub use graph::*;
pub(crate) use recorder::{Covered, Recorder};

use crate::config::Config;
use crate::env::{Setup, Trace};
use crate::judge::{Outcome, Verdict, judge};
use crate::kernel_hole::Doubt;
use skep_program::Program;

/// Verifies `program` and records the walk that decides whether it may run: the second one, if the
/// first relied on an unsound rule of the kernel, or on those of another kernel.
pub fn verify_watched(program: &Program, config: &Config) -> (Outcome, Graph) {
    let first = walk_watched(program, config, false);
    let doubt = match &first.0.verdict {
        Verdict::Accepted(verified) => verified.doubt().map(Doubt::config_to_run),
        _ => None,
    };
    match doubt {
        Some(again) => {
            walk_watched(program, &Config { log_level: config.log_level, ..again }, true)
        }
        None => first,
    }
}

fn walk_watched(program: &Program, config: &Config, sound: bool) -> (Outcome, Graph) {
    let program = crate::check::replaced::as_replaced(program);
    let trace = Trace::new(config).with_recorder();
    let (outcome, recorder) = judge(Setup::new(&program, config, sound, trace));
    (outcome, recorder.unwrap_or_default().graph)
}

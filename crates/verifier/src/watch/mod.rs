//! A record of the walk, for `cargo xtask embed`: not for users of the verifier.
//!
//! # Invariants
//! 1. Recording changes nothing of the walk: verdict, counts and log are the same.
//! 2. Without a recorder, the walk asks only where it asks whether there is a log.

mod graph;
mod recorder;

pub use graph::*;
pub(crate) use recorder::Recorder;

use crate::config::Config;
use crate::env::{Env, Setup, Trace};
use crate::judge::{Outcome, Verdict, judge};
use crate::state::ids::CkptId;
use crate::state::stack::Slot;
use skep_program::Program;

/// Verifies `program`, and gives a record of the walk that lets it run: of the second one, where
/// the first comes by a hole of the kernel's.
pub fn verify_watched(program: &Program, config: &Config) -> (Outcome, Graph) {
    let first = walk_watched(program, config, false);
    let doubt = match &first.0.verdict {
        Verdict::Accepted(verified) => verified.doubt().map(|doubt| doubt.config.clone()),
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

impl Env<'_> {
    /// A function begins that is walked on its own.
    pub(crate) fn record_root(&mut self) {
        if let Some(recorder) = &mut self.trace.recorder {
            recorder.begin_root();
        }
    }

    /// The insn at hand is about to be walked.
    pub(crate) fn record_insn(&mut self) {
        if let Some(recorder) = &mut self.trace.recorder {
            recorder.insn(&self.walk.cur, &self.store.arena, self.walk.insn_idx);
        }
    }

    /// A branch was pushed.
    pub(crate) fn record_push(&mut self) {
        if let Some(recorder) = &mut self.trace.recorder {
            recorder.push();
        }
    }

    /// The branch pushed last is walked now.
    pub(crate) fn record_pop(&mut self) {
        if let Some(recorder) = &mut self.trace.recorder {
            recorder.pop();
        }
    }

    /// The current state was saved.
    pub(crate) fn record_checkpoint(&mut self, id: CkptId) {
        if let Some(recorder) = &mut self.trace.recorder {
            recorder.checkpoint(id);
        }
    }

    /// Names of values may come to mean others.
    pub(crate) fn record_sweep(&mut self) {
        if let Some(recorder) = &mut self.trace.recorder {
            recorder.forget_names();
        }
    }

    /// The path ends at a checkpoint; every value is within its own, if `within`.
    pub(crate) fn record_cut(&mut self, id: CkptId, within: bool) {
        let Some(recorder) = &mut self.trace.recorder else { return };
        let ckpt = self.store.ckpts.get(id);
        let frames = &ckpt.state.frames;
        let n = frames.len();
        let all = !self.facts.bpf_capable;
        let mut matters = Vec::new();
        for i in 0..n {
            let at = crate::explore::equal::frame_insn_idx(i, n, ckpt.state.meta.insn_idx, |f| {
                self.store.arena.meta(frames[f]).callsite
            });
            let mut it =
                Matters { live: self.learned.aux[at as usize].live_regs, ..Matters::default() };
            let marks = ckpt.precise[i];
            it.precise = if all { !0 } else { marks.regs };
            for (spi, slot) in self.store.arena.frame_slots(frames[i]).enumerate() {
                it.slots |= u64::from(*slot != Slot::default()) << spi;
                let precise = all || marks.stack >> spi & 1 == 1;
                it.precise_slots |= u64::from(precise) << spi;
            }
            matters.push(it);
        }
        recorder.cut(
            (&self.walk.cur, &self.store.arena, self.walk.insn_idx),
            id,
            (matters, within),
        );
    }
}

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
use crate::env::Env;
use crate::judge::{Outcome, Verdict, judge};
use crate::state::ids::CkptId;
use crate::state::stack::Slot;
use skep_program::Program;
use std::cell::OnceCell;

/// Verifies `program` and records the walk on which its permission to run is based: the second one,
/// if the first relied on an unsound rule of the kernel.
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
    let decided = OnceCell::new();
    let mut env = Env::new(&program, config, &decided);
    env.sound = sound;
    env.recorder = Some(Box::default());
    env.is_followed = true;
    let (outcome, recorder) = judge(env);
    (outcome, recorder.unwrap_or_default().graph)
}

impl Env<'_> {
    /// A function begins that is walked on its own.
    pub(crate) fn record_root(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.begin_root();
        }
    }

    /// The insn at hand is about to be walked.
    pub(crate) fn record_insn(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.insn(&self.cur, &self.arena, self.insn_idx);
        }
    }

    /// A branch was pushed.
    pub(crate) fn record_push(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.push();
        }
    }

    /// The branch pushed last is walked now.
    pub(crate) fn record_pop(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.pop();
        }
    }

    /// The current state was saved.
    pub(crate) fn record_checkpoint(&mut self, id: CkptId) {
        if let Some(recorder) = &mut self.recorder {
            recorder.checkpoint(id);
        }
    }

    /// Names of values may come to mean others.
    pub(crate) fn record_sweep(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.forget_names();
        }
    }

    /// The path ends at a checkpoint; every value is within its own, if `within`.
    pub(crate) fn record_cut(&mut self, id: CkptId, within: bool) {
        let Some(recorder) = &mut self.recorder else { return };
        let ckpt = self.ckpts.get(id);
        let frames = &ckpt.state.frames;
        let n = frames.len();
        let all = !self.bpf_capable;
        let mut matters = Vec::new();
        for i in 0..n {
            let at = crate::explore::equal::frame_insn_idx(i, n, ckpt.state.meta.insn_idx, |f| {
                self.arena.meta(frames[f]).callsite
            });
            let mut it = Matters { live: self.aux[at as usize].live_regs, ..Matters::default() };
            let marks = ckpt.precise[i];
            it.precise = if all { !0 } else { marks.regs };
            for (spi, slot) in self.arena.frame_slots(frames[i]).enumerate() {
                it.slots |= u64::from(*slot != Slot::default()) << spi;
                let precise = all || marks.stack >> spi & 1 == 1;
                it.precise_slots |= u64::from(precise) << spi;
            }
            matters.push(it);
        }
        recorder.cut((&self.cur, &self.arena, self.insn_idx), id, (matters, within));
    }
}

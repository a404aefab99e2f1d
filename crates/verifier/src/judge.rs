//! Runs the passes in order and returns the verdict.

use crate::check::mem::sock::convert_accesses;
use crate::env::{Env, Setup};
use crate::fixup;
use crate::kernel_hole::Doubt;
use crate::rejection::{Check, Rejection, Stop, StopReason};
use crate::stats::VerifierStats;
use crate::verified_program::VerifiedProgram;
use crate::watch::Recorder;

/// The verdict on a program. `R` says why it is refused: a [`Rejection`] of the verifier, or of
/// whoever also loads programs.
#[derive(Clone, Debug)]
pub enum VerdictOf<R> {
    /// The kernel would load it.
    Accepted(Box<VerifiedProgram>),
    /// The kernel would refuse it.
    Rejected(R),
    /// No verdict: it needs something that is not modelled yet. The text says what.
    Unsupported(String),
    /// No verdict: verification would hold more bytes than
    /// [`Config::mem_bytes_max`](crate::Config::mem_bytes_max).
    OutOfMemory,
    /// No verdict: the verifier itself failed; never the program's fault.
    Bug(String),
}

impl<R> VerdictOf<R> {
    /// The same verdict with another reason of a refusal.
    pub fn map_rejected<T>(self, reason: impl FnOnce(R) -> T) -> VerdictOf<T> {
        match self {
            VerdictOf::Accepted(verified) => VerdictOf::Accepted(verified),
            VerdictOf::Rejected(why) => VerdictOf::Rejected(reason(why)),
            VerdictOf::Unsupported(what) => VerdictOf::Unsupported(what),
            VerdictOf::OutOfMemory => VerdictOf::OutOfMemory,
            VerdictOf::Bug(what) => VerdictOf::Bug(what),
        }
    }

    /// Whether it is accepted; `None` if there is no verdict.
    pub fn is_accepted(&self) -> Option<bool> {
        match self {
            VerdictOf::Accepted(_) => Some(true),
            VerdictOf::Rejected(_) => Some(false),
            VerdictOf::Unsupported(_) | VerdictOf::OutOfMemory | VerdictOf::Bug(_) => None,
        }
    }
}

/// The verifier's verdict.
pub type Verdict = VerdictOf<Rejection>;

/// The verdict, the statistics, and the log.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The answer.
    pub verdict: Verdict,
    /// The statistics.
    pub stats: VerifierStats,
    /// The log at the configured level; empty at level 0.
    pub log: String,
}

/// Verifies the program; returns the result, and the record of the walk if there is one.
pub(crate) fn judge(mut setup: Setup<'_>) -> (Outcome, Option<Box<Recorder>>) {
    // A program refused for its load attributes does not reach the verifier: there is no log.
    let attributes = setup.check_load_attributes();
    let judged = attributes.is_ok();
    let shape = attributes.and_then(|()| {
        setup.check_memory()?;
        setup.check_program_shape()
    });
    let Setup { facts, walk, store, learned, trace } = setup;
    let mut env = Env { facts: &facts, walk, store, learned, trace: trace.for_less() };
    let walked = shape.and_then(|()| run(&mut env));
    if let Some(refused) = walked.as_ref().err().and_then(Stop::as_refused) {
        env.tell_refused(refused);
    }
    if facts.rules().evicted_states_stay {
        env.store.stats.peak_states = env.store.explored_states_size + env.store.free_list_size;
    }
    if judged {
        env.print_stats();
    }
    env.store.stats.mem_peak = env.held().peak();
    env.store.stats.waiting_max = env.store.branches.room() as u32;
    env.store.stats.mem_final = env.held().in_use();
    let too_far = walks_too_far(&env);
    let Env { walk, store, learned, trace, .. } = env;
    let (log, recorder) = trace.finish();
    let stats = store.stats;
    let verdict = match walked.map_err(Stop::into_reason) {
        Ok(()) if too_far => {
            Verdict::Unsupported("walks of so many insns, which this kernel may not end".to_owned())
        }
        Ok(()) => {
            let doubt = Doubt::of(facts.config, learned.doubt);
            let (program, depth) = (facts.prog.clone(), stats.stack_depth_bytes);
            let walked = fixup::Walked::new(learned, facts.subprogs);
            let nr_cpu_ids = facts.config.nr_cpu_ids;
            let verified = VerifiedProgram::new(program, depth, walked, doubt, nr_cpu_ids);
            Verdict::Accepted(Box::new(verified))
        }
        Err(StopReason::Reject(refused)) => {
            let frameno = walk.cur.frames.len().saturating_sub(1) as u32;
            let words = facts.config.profile.words;
            Verdict::Rejected(refused.at(walk.insn_idx, frameno, words))
        }
        Err(StopReason::Unsupported(what)) => Verdict::Unsupported(what),
        Err(StopReason::OutOfMemory) => Verdict::OutOfMemory,
        Err(StopReason::Bug(what)) => Verdict::Bug(what),
    };
    (Outcome { verdict, stats, log }, recorder)
}

/// The walk, and the steps after it.
fn run(env: &mut Env<'_>) -> Check {
    env.walk_functions()?;
    env.check_stack_depth()?;
    convert_accesses(env)?;
    fixup::do_misc_fixups(env)
}

const STATES_FEW: u32 = 10_000;

/// Whether the kernel, which saves states at other places, may exceed its limit on this program.
fn walks_too_far(env: &Env<'_>) -> bool {
    let long = env.store.stats.insns_processed > env.store.stats.insns_limit / 2;
    let rules = env.facts.rules();
    // Where precision is not tracked into functions, those are walked a different number of times.
    let alike = rules.precision_crosses_calls || env.facts.subprogs.len() == 1;
    // Those that are nearly too long may be too long where marks of precision differ a little.
    let limit = env.store.stats.insns_limit;
    let near =
        !rules.precision_crosses_calls && env.store.stats.insns_processed > limit - limit / 8;
    if !rules.marks_forgotten && long {
        return true;
    }
    // If few states were saved, the difference cannot matter.
    long && env.store.stats.total_states > STATES_FEW
        && (near || !(rules.long_walks_alike && alike))
}

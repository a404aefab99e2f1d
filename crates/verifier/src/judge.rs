//! Runs the passes in order and returns the verdict.

use crate::check::attach::check_attach_of_walked;
use crate::check::mem::sock::convert_accesses;
use crate::env::Env;
use crate::fixup;
use crate::kernel_hole::Doubt;
use crate::rejection::{Check, Rejection, Stop};
use crate::stats::VerifierStats;
use crate::verified_program::VerifiedProgram;
use crate::watch::Recorder;

/// The verifier's verdict on a program.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// The kernel would load it.
    Accepted(Box<VerifiedProgram>),
    /// The kernel would refuse it.
    Rejected(Rejection),
    /// No verdict: it needs something that is not modelled yet. The text says what.
    Unsupported(String),
    /// No verdict: verification would hold more bytes than
    /// [`Config::mem_bytes_max`](crate::Config::mem_bytes_max).
    OutOfMemory,
    /// No verdict: the verifier itself failed; never the program's fault.
    Bug(String),
}

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

/// The answer, and the record of the walk if there is one.
pub(crate) fn judge(mut env: Env<'_>) -> (Outcome, Option<Box<Recorder>>) {
    let program = env.prog;
    // What is refused by its attributes does not come to the verifier: there is no log.
    let attributes = env.check_load_attributes();
    let judged = attributes.is_ok();
    let walked = attributes.and_then(|()| run(&mut env));
    let recorder = env.recorder.take();
    let insn_idx = env.insn_idx;
    let frameno = env.cur.frames.len().saturating_sub(1) as u32;
    if judged {
        env.print_stats();
    }
    env.stats.mem_peak = env.mem_peak();
    env.stats.waiting_max = env.branches.room() as u32;
    env.stats.mem_final = env.mem_final();
    let stats = env.stats;
    let words = env.config.profile.words;
    let verdict = match walked {
        Ok(()) if walks_too_far(&env) => {
            Verdict::Unsupported("walks of so many insns, which this kernel may not end".to_owned())
        }
        Ok(()) => {
            let (depth, doubt) = (stats.stack_depth_bytes, Doubt::of(&env));
            let nr_cpu_ids = env.config.nr_cpu_ids;
            let walked = fixup::Walked::take(&mut env);
            let verified =
                VerifiedProgram::new(program.clone(), depth, (walked, doubt), nr_cpu_ids);
            Verdict::Accepted(Box::new(verified))
        }
        Err(Stop::Reject(refused)) => Verdict::Rejected(refused.at(insn_idx, frameno, words)),
        Err(Stop::Unsupported(what)) => Verdict::Unsupported(what),
        Err(Stop::OutOfMemory) => Verdict::OutOfMemory,
        Err(Stop::Bug(what)) => Verdict::Bug(what),
    };
    if let Verdict::Rejected(rejection) = &verdict {
        env.tell_refused(rejection);
    }
    (Outcome { verdict, stats, log: env.log.finish() }, recorder)
}

/// The passes in order.
fn run(env: &mut Env<'_>) -> Check {
    env.check_memory()?;
    env.check_program_shape()?;
    env.walk_functions()?;
    env.check_stack_depth()?;
    convert_accesses(env)?;
    fixup::do_misc_fixups(env)?;
    check_attach_of_walked(env)
}

const STATES_FEW: u32 = 10_000;

/// Whether the kernel, which keeps other states, may walk the program beyond its limit.
fn walks_too_far(env: &Env<'_>) -> bool {
    let long = env.stats.insns_processed > env.stats.insns_limit / 2;
    // Where few states were saved, others can make no difference.
    long && env.stats.total_states > STATES_FEW && !env.rules().long_walks_alike
}

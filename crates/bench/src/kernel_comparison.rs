//! `KernelComparison`: one program, skep and the host kernel in turn, in one run.
//!
//! The kernel's time is the one in its own log (`verification time N usec`); ours is the wall time
//! of the same work, at the same log level.

use crate::interleave::{Rounds, interleave};
use crate::verification::{Counts, counts, verify};
use skep_kernel::judge::{self, Answer, Prepared, as_loaded};
use skep_program::Program;
use skep_uapi::LogLevel;
use skep_verifier::Config;
use std::time::Instant;

/// Statistics only.
const LOG_STATS: u32 = LogLevel::STATS.bits();

/// Results of one program.
#[derive(Debug, Clone)]
pub struct KernelComparison {
    /// What the kernel counted.
    pub kernel: Counts,
    /// What skep counted.
    pub skep: Counts,
    /// The kernel's time in each round, microseconds.
    pub kernel_us: Vec<f64>,
    /// Ours.
    pub skep_us: Vec<f64>,
}

/// One of the two gave no verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotJudged(String);

impl KernelComparison {
    /// Lets both verify the program in turn.
    ///
    /// # Errors
    ///
    /// One of the two gives no verdict.
    pub fn run(
        program: &Program,
        config: &Config,
        rounds: Rounds,
        progress: impl FnMut(f64),
    ) -> Result<KernelComparison, NotJudged> {
        let program = &*as_loaded(program);
        let config = Config { log_level: LOG_STATS, ..config.clone() };
        let prepared = Prepared::new(program).map_err(|why| not_judged(&why))?;
        let run = |side: usize| match side {
            0 => theirs(&prepared),
            _ => ours(program, &config),
        };
        let sides = interleave(rounds, 2, run, progress)?;
        let times = |side: usize| sides[side].iter().map(|(_, us)| *us).collect();
        let counted = |side: usize| sides[side].first().map(|(counts, _)| *counts);
        Ok(KernelComparison {
            kernel: counted(0).unwrap_or_default(),
            skep: counted(1).unwrap_or_default(),
            kernel_us: times(0),
            skep_us: times(1),
        })
    }
}

fn ours(program: &Program, config: &Config) -> Result<(Counts, f64), NotJudged> {
    let started = Instant::now();
    let outcome = verify(program, config);
    let us = started.elapsed().as_secs_f64() * 1e6;
    Ok((counts(&outcome).map_err(|e| NotJudged(e.to_string()))?, us))
}

fn theirs(prepared: &Prepared<'_>) -> Result<(Counts, f64), NotJudged> {
    let answer = prepared.load(LOG_STATS);
    let judgement = match answer {
        Answer::Judged(it) => it,
        Answer::NotJudged(why) => return Err(not_judged(&why)),
    };
    let absent = || NotJudged("the kernel's log has no statistics".to_owned());
    let stats = judgement.stats.as_ref().ok_or_else(absent)?;
    let counts = Counts {
        accepted: judgement.accepted,
        insns: stats.insns_processed,
        states: stats.total_states,
        peak_states: stats.peak_states,
    };
    Ok((counts, stats.verification_time_us as f64))
}

fn not_judged(why: &judge::NotJudged) -> NotJudged {
    let judge::NotJudged { reason, detail } = why;
    NotJudged(match detail.is_empty() {
        true => format!("not judged by the kernel: {reason}"),
        false => format!("not judged by the kernel: {reason} ({detail})"),
    })
}

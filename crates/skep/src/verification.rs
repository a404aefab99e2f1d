//! `Verification`: what the verifier said of one program, and how long it took.
//!
//! The verifier itself sees no clock and may be wrong: here it is timed, and a panic in it becomes
//! a [`Verdict::Bug`] of this program alone.

use std::time::Duration;

/// How a program is verified.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerifyOptions {
    /// `log_level` of `BPF_PROG_LOAD`: 1, 2, 4, combined; 0 is no log.
    pub log_level: u32,
    /// Bytes of log that are kept; 0 is the default of 16 MiB.
    pub log_bytes_max: usize,
    /// As a process without capabilities.
    pub unprivileged: bool,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The kernel would load it.
    Accepted,
    /// The kernel would refuse it.
    Rejected(Refusal),
    /// It needs something that is not modelled: no verdict.
    Unsupported(String),
    /// We are wrong.
    Bug(String),
}

/// Why a program is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Insn at fault; `None` if the program is refused as a whole.
    pub insn_idx: Option<usize>,
    /// Positive errno of the load.
    pub errno: i32,
    /// The verifier's words.
    pub message: String,
}

/// Counters, under the names of the kernel's log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as in the kernel's log")]
pub struct Counts {
    pub insns_processed: u64,
    pub total_states: u64,
    pub peak_states: u64,
    pub max_states_per_insn: u64,
    pub mark_read: u64,
    pub stack_depth_bytes: u64,
    pub mem_peak_bytes: u64,
}

/// What was found.
#[derive(Debug, Clone)]
pub struct Verification {
    /// The answer.
    pub verdict: Verdict,
    /// Counters; zero where the walk did not begin.
    pub counts: Counts,
    /// The verifier's log at the level asked for.
    pub log: String,
    /// Wall time of the verification alone.
    pub duration: Duration,
}

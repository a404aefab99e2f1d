//! Our verifier in the shape that a comparison wants: one answer, whatever happens.

use crate::kernel_log::KernelStats;
use skep::program::Program;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How our verifier ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The program is safe.
    Accepted,
    /// It is refused, and why.
    Rejected(String),
    /// It needs a rule that is not modelled.
    Unsupported(String),
    /// We are wrong: a panic, or a broken invariant.
    Bug(String),
}

impl Verdict {
    /// One word.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Accepted => "accepted",
            Verdict::Rejected(_) => "rejected",
            Verdict::Unsupported(_) => "unsupported",
            Verdict::Bug(_) => "bug",
        }
    }

    /// What stands behind the word, empty for an accepted program.
    pub fn reason(&self) -> &str {
        match self {
            Verdict::Accepted => "",
            Verdict::Rejected(why) | Verdict::Unsupported(why) | Verdict::Bug(why) => why,
        }
    }
}

/// Our answer.
#[derive(Debug, Clone)]
pub struct Ours {
    /// How it ended.
    pub verdict: Verdict,
    /// Counts, under the names of the kernel's log; the time is not measured.
    pub stats: KernelStats,
    /// The log at the level asked for.
    pub log: String,
}

/// Verifies a program; a panic becomes [`Verdict::Bug`].
pub fn verify(program: &Program, log_level: u32) -> Ours {
    catch_unwind(AssertUnwindSafe(|| run(program, log_level))).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        Ours {
            verdict: Verdict::Bug(format!("panic: {}", text.unwrap_or_default())),
            stats: KernelStats::default(),
            log: String::new(),
        }
    })
}

fn run(_program: &Program, _log_level: u32) -> Ours {
    Ours {
        verdict: Verdict::Unsupported("verifier".to_owned()),
        stats: KernelStats::default(),
        log: String::new(),
    }
}

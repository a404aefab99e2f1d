//! How a command ended: passed, failed, or skipped.

use skep::uapi::KernelProfile;
use skep_kernel::reference::{self, Absent};

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Everything is in order.
    Passed,
    /// Something is not; it has been printed.
    Failed,
    /// This machine cannot do it, for this reason.
    Skipped(String),
}

/// How the last line of a command that was skipped begins.
pub(crate) const SKIPPED: &str = "skipped: ";

/// How a command ended, or the error that stopped it.
pub(crate) type Outcome = Result<Ended, Box<dyn std::error::Error>>;

impl From<bool> for Ended {
    /// Passed if everything is in order.
    fn from(in_order: bool) -> Ended {
        if in_order { Ended::Passed } else { Ended::Failed }
    }
}

impl Ended {
    /// Skipped because bpf(2) is not available, or the kernel is the wrong one.
    pub(crate) fn without_kernel(why: &impl std::fmt::Display) -> Ended {
        Ended::Skipped(why.to_string())
    }
}

/// Whether bpf(2) is available and the host kernel is the one used for suites and baselines.
pub(crate) fn judge() -> Result<(), Absent> {
    reference::answers(&KernelProfile::v6_18())
}

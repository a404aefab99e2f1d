//! What a command comes to: what it looked at is in order, or is not, or it could not look.

use skep::uapi::KernelProfile;
use skep_kernel::reference::{self, Absent};

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// All is in order.
    Passed,
    /// Something is not, and was said.
    Failed,
    /// This machine cannot do it: neither of the two, and why.
    Skipped(String),
}

/// How a command ended, or why it broke off.
pub(crate) type Outcome = Result<Ended, Box<dyn std::error::Error>>;

impl From<bool> for Ended {
    /// Of whether all is in order.
    fn from(in_order: bool) -> Ended {
        if in_order { Ended::Passed } else { Ended::Failed }
    }
}

impl Ended {
    /// For whom bpf(2) does not answer, or the wrong kernel.
    pub(crate) fn without_kernel(why: &impl std::fmt::Display) -> Ended {
        Ended::Skipped(why.to_string())
    }
}

/// Whether the host kernel is the one that suites and baselines are of, and answers.
pub(crate) fn judge() -> Result<(), Absent> {
    reference::answers(&KernelProfile::v6_18())
}

//! Why a program is not judged: its verifier did not run, or would not.

use std::fmt;

/// Why the verifier did not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotJudged {
    /// The reason, the same for the same cause, so that reasons can be counted.
    pub reason: String,
    /// Details about this program; may be empty.
    pub detail: String,
}

impl NotJudged {
    pub(crate) fn new(reason: impl Into<String>, detail: impl Into<String>) -> NotJudged {
        NotJudged { reason: reason.into(), detail: detail.into() }
    }
}

impl fmt::Display for NotJudged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.detail.is_empty() {
            true => f.write_str(&self.reason),
            false => write!(f, "{}: {}", self.reason, self.detail),
        }
    }
}

impl std::error::Error for NotJudged {}

/// The kernel has no attach target of this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoAttachTarget(pub String);

impl NoAttachTarget {
    const REASON: &str = "attach target absent";
}

impl fmt::Display for NoAttachTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", Self::REASON, self.0)
    }
}

impl std::error::Error for NoAttachTarget {}

impl From<NoAttachTarget> for NotJudged {
    fn from(NoAttachTarget(name): NoAttachTarget) -> NotJudged {
        NotJudged::new(NoAttachTarget::REASON, name)
    }
}

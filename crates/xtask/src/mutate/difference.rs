//! `Compared`: how the results of both verifiers differ, and how programs are loaded.

use serde::{Deserialize, Serialize};
use skep_kernel::kernel_log;
use skep_verifier::Privileges;

/// The capabilities with which the program is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Loader {
    Root,
    /// CAP_BPF and CAP_NET_ADMIN.
    Bpf,
}

impl Loader {
    pub(super) fn privileges(self) -> Privileges {
        match self {
            Loader::Root => Privileges::PRIVILEGED,
            Loader::Bpf => Privileges { bpf: true, perfmon: false },
        }
    }
}

/// How two results differ, worst first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    FalseAccept,
    Bug,
    FalseReject,
    /// Counts or walked insns differ.
    Counts,
    /// skep takes more CPU time than the kernel.
    Slow,
    /// Both refuse, with different messages.
    Message,
    Errno,
    Log,
}

/// A difference.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Difference {
    pub(super) kind: Kind,
    /// Differences with the same cause mostly have the same key.
    pub(super) key: String,
    /// Verdict, errno and last message of skep and of the kernel.
    pub(super) ours: String,
    pub(super) kernel: String,
    /// The first line that differs.
    pub(super) line: usize,
    pub(super) line_ours: String,
    pub(super) line_kernel: String,
}

impl Difference {
    /// The value for a program that was not judged.
    pub(super) fn none() -> Difference {
        Difference {
            kind: Kind::Log,
            key: String::new(),
            ours: String::new(),
            kernel: "not asked".to_owned(),
            line: 0,
            line_ours: String::new(),
            line_kernel: String::new(),
        }
    }
}

/// The result for one program.
#[derive(Clone, Debug)]
pub(super) enum Compared {
    Equal {
        accepted: bool,
    },
    Different(Box<Difference>),
    /// Skipped, with a short reason.
    Left(String),
}

/// Why a program was refused; empty if the log does not say.
pub(super) fn last_message(log: &str) -> &str {
    kernel_log::reason(log).unwrap_or_default()
}

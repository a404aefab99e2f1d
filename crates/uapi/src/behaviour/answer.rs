//! What kernels answer to programs.

/// What a kernel reports for a witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// It is accepted.
    Accepted,
    /// It is refused.
    Refused,
    /// It is accepted after this number of processed insns.
    Insns(u64),
    /// It is accepted, with this number of `peak_states`.
    Peak(u64),
    /// It is rejected, with this as the last line.
    Says(&'static str),
}

/// A kernel's result for a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Whether its verifier judged it.
    pub judged: bool,
    /// It accepts it.
    pub accepted: bool,
    /// Whether it accepted the program's BTF, if there is any.
    pub with_btf: bool,
    /// Number of insns processed, if reported.
    pub insns: u64,
    /// `peak_states`, if reported.
    pub peak_states: u64,
    /// Its last message; for a program that was not judged, the reason.
    pub message: String,
}

impl Shows {
    /// Whether the result is this one.
    pub fn is(self, told: &Judged) -> bool {
        match self {
            Shows::Accepted => told.accepted,
            Shows::Refused => !told.accepted,
            Shows::Insns(n) => told.insns == n,
            Shows::Peak(n) => told.peak_states == n,
            Shows::Says(text) => told.message == text,
        }
    }
}

/// A program to which kernels give different answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Witness {
    /// Its object, as the tables of answers name it.
    pub object: &'static str,
    /// Its name.
    pub program: &'static str,
}

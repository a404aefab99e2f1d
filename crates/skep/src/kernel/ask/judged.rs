//! The answer of a kernel to one program.

use skep_program::Program;
use skep_uapi::Shows;

/// The kernel's result for a program.
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

/// Loads a program into the kernel, and closes it again.
pub type Judge<'a> = dyn FnMut(&Program) -> Judged + 'a;

impl Judged {
    /// Whether the reason for not judging it is unrelated to the program.
    pub(super) fn says_nothing(&self) -> bool {
        const OWN: [&str; 7] =
            ["EPERM", "ENOMEM", "EAGAIN", "ENOSYS", "EACCES", "EMFILE", "ENFILE"];
        !self.judged && OWN.iter().any(|errno| self.message.contains(errno))
    }

    /// Whether this is the result that the witness of a rule shows.
    pub(super) fn shows(&self, shows: Shows) -> bool {
        match shows {
            Shows::Accepted => self.accepted,
            Shows::Refused => !self.accepted,
            Shows::Insns(n) => self.insns == n,
            Shows::Peak(n) => self.peak_states == n,
            Shows::Says(text) => self.message == text,
        }
    }
}

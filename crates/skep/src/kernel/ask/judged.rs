//! The answer of a kernel to one program.

use skep_program::Program;
pub use skep_uapi::Judged;

/// Loads a program into the kernel, and closes it again.
pub type Judge<'a> = dyn FnMut(&Program) -> Judged + 'a;

/// Whether the reason for not judging it is unrelated to the program.
pub(super) fn says_nothing(told: &Judged) -> bool {
    const OWN: [&str; 7] = ["EPERM", "ENOMEM", "EAGAIN", "ENOSYS", "EACCES", "EMFILE", "ENFILE"];
    !told.judged && OWN.iter().any(|errno| told.message.contains(errno))
}

//! A kernel is asked what there is on it: a small program a question, loaded and closed by whoever
//! can (the caller's closure). Nothing is attached.
//!
//! # Invariants
//! 1. What the kernel refuses for reasons of its own (no privilege, lockdown, no memory) is no
//!    answer: it stays as it was known before.
//! 2. Rules are asked by their witnesses where these show them; the others are the release's.

mod answers;
mod questions;
mod shapes;
mod witnesses;

pub use answers::Answers;
pub use questions::{Calls, Question, calls, insns_named, questions};
pub use witnesses::packed as witnesses_packed;

use super::Kernel;
use skep_program::Program;
use skep_uapi::{Behaviour, Shows};

/// What a kernel says of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Its verifier looked at it.
    pub judged: bool,
    /// It accepts it.
    pub accepted: bool,
    /// It took the program's BTF, or there is none.
    pub with_btf: bool,
    /// Insns that it walked, as far as it counts them.
    pub insns: u64,
    /// Its last message; of a program that was not judged, why not.
    pub message: String,
}

/// Loads a program into the kernel, and closes it again.
pub type Judge<'a> = dyn FnMut(&Program) -> Judged + 'a;

impl Judged {
    /// It was not a matter of the program that it was not looked at.
    fn says_nothing(&self) -> bool {
        const OWN: [&str; 5] = ["EPERM", "ENOMEM", "EAGAIN", "ENOSYS", "EACCES"];
        !self.judged && OWN.iter().any(|errno| self.message.contains(errno))
    }

    /// Whether this is what the witness of a rule shows.
    fn shows(&self, shows: Shows) -> bool {
        match shows {
            Shows::Accepted => self.accepted,
            Shows::Refused => !self.accepted,
            Shows::Insns(n) => self.insns == n,
            Shows::Says(text) => self.message == text,
        }
    }
}

const NOT_PERMITTED: &str =
    "not permitted (root, or CAP_BPF with CAP_PERFMON and CAP_NET_ADMIN; before 5.11 ulimit -l)";

impl Kernel {
    /// The kernel with what it answers when it is asked; `judge` loads into the kernel that this
    /// is.
    ///
    /// # Errors
    ///
    /// One line: why it answers nothing.
    pub fn asked(self, judge: &mut Judge<'_>) -> Result<Kernel, String> {
        for program in questions::privileged() {
            let told = judge(&program);
            if !told.accepted {
                let what = program.prog_type.name();
                return Err(match told.says_nothing() {
                    true => format!("{what} programs: {NOT_PERMITTED}"),
                    false => format!("{what} programs are rejected: {}", told.message.trim()),
                });
            }
        }
        let btf = self.btf.as_ref();
        let mut answers = Answers::default();
        for question in questions(btf) {
            let told = judge(&question.program);
            if let Some(is_there) = question.answer(&told) {
                answers.say(&question, is_there);
            }
        }
        for asked in calls(btf) {
            answers.calls(asked, judge);
        }
        witnesses::ask(&self, &mut answers, judge);
        Ok(Kernel { answers: Some(answers.into()), ..self })
    }

    /// What the kernel answered, if it was asked.
    pub fn answers(&self) -> Option<&Answers> {
        self.answers.as_deref()
    }

    /// Whether a rule of the walk holds there: it answered, or the release says it. Where neither
    /// does, the rule of 6.18 stands in.
    pub fn holds(&self, rule: &Behaviour) -> Option<bool> {
        let answered = self.answers().and_then(|answers| answers.holds(rule.name));
        answered.or_else(|| rule.known_on(&self.release))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Item;
    use skep_uapi::{BEHAVIOURS, ProgType};

    fn asked(judge: &mut Judge<'_>) -> Result<Kernel, String> {
        Kernel::open("6.12").expect("a kernel").asked(judge)
    }

    fn accepted() -> Judged {
        Judged { judged: true, accepted: true, with_btf: true, ..Judged::default() }
    }

    #[test]
    fn a_kernel_that_permits_nothing_says_nothing() {
        let message = "EPERM without log".to_owned();
        let why = asked(&mut |_| Judged { message: message.clone(), ..Judged::default() });
        assert!(why.expect_err("nothing").contains("CAP_BPF"));
    }

    #[test]
    fn what_is_answered_is_known_and_what_is_not_permitted_is_as_before() {
        let kernel = asked(&mut |program| match program.prog_type {
            ProgType::Tracing => Judged { message: "EPERM".to_owned(), ..Judged::default() },
            ProgType::LircMode2 => Judged { message: "EINVAL".to_owned(), ..Judged::default() },
            _ => accepted(),
        });
        let kernel = kernel.expect("it answers");
        let answers = kernel.answers().expect("asked");
        assert_eq!(answers.has(Item::Prog(ProgType::LircMode2)), Some(false));
        assert_eq!(answers.has(Item::Prog(ProgType::Tracing)), None);
        assert_eq!(kernel.has(Item::Prog(ProgType::Tracing)), Some(true), "by the release");
        let [things, callers, rules] = answers.counts();
        assert!(things > 250 && callers > 40 && rules > 0, "{things} {callers} {rules}");
        let shown = BEHAVIOURS.iter().find(|row| answers.holds(row.name).is_some());
        assert!(shown.is_some_and(|row| kernel.holds(row).is_some()));
    }
}

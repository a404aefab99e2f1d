//! The verifier rule that decides that another kernel rejects a program, in words.

use crate::diagnosis::note::Note;
use crate::program::Program;
use crate::uapi::Behaviour;
use crate::{Kernel, Session, Verdict, Verification};
use std::fmt;

/// A verifier rule of newer kernels that accept what an older one rejects.
#[derive(Clone, Debug)]
pub struct DecidingRule {
    /// The rule.
    pub rule: &'static Behaviour,
    /// Whether the older kernel has it, and the newer one does not.
    pub ceased: bool,
    /// Since when, or until when, in words.
    pub when: Option<String>,
}

impl DecidingRule {
    /// Whether a rule can be the reason: the verifier rejects it, not because something is missing.
    pub fn may_decide(verdict: &Verdict) -> bool {
        let Verdict::Rejected(refusal) = verdict else { return false };
        refusal.load.is_none() && refusal.kind != crate::catalogue::NOT_ON_THIS_KERNEL
    }

    /// A rule that decides on a kernel.
    pub fn on(kernel: &Kernel, session: &Session, rule: &'static Behaviour) -> DecidingRule {
        let ceased = session.host.behaviours.get(rule.name).unwrap_or_default();
        let when = rule.changed_after(kernel.rules(), ceased);
        let when = when.map(|[after, to]| format!("a release after {after} and up to {to}"));
        DecidingRule { rule, ceased, when }
    }
}

/// As a sentence.
impl fmt::Display for DecidingRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, of) = match self.ceased {
            false => ("does not know this rule", "since"),
            true => ("has a rule that newer ones do not have", "until"),
        };
        write!(f, "the kernel {what}: \"{}\"", self.rule.text.trim_end_matches('.'))?;
        match &self.when {
            Some(when) => write!(f, " ({of} {when})"),
            None => Ok(()),
        }
    }
}

/// A note about it, for a session of another kernel.
pub(crate) fn note(
    session: &Session,
    program: &Program,
    verification: &Verification,
) -> Option<Note> {
    let kernel = session.kernel.as_ref();
    let kernel = kernel.filter(|_| DecidingRule::may_decide(&verification.verdict))?;
    let insns = verification.counts.insns_processed;
    let rule = session.deciding_rule(program, insns, &verification.verdict)?;
    let text = DecidingRule::on(kernel, session, rule).to_string();
    Some(Note { text, at: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uapi::Behaviours;

    #[test]
    fn a_rule_is_a_sentence() {
        let rule = Behaviours::default().differing(&Behaviours::newest()).next().expect("a rule");
        let of = |ceased, when: Option<&str>| {
            DecidingRule { rule, ceased, when: when.map(str::to_owned) }.to_string()
        };
        let text = rule.text.trim_end_matches('.');
        assert_eq!(
            of(false, Some("a release after 6.1 and up to 6.12")),
            format!(
                "the kernel does not know this rule: \"{text}\" (since a release after 6.1 and \
                 up to 6.12)"
            )
        );
        let ceased = format!("the kernel has a rule that newer ones do not have: \"{text}\"");
        assert_eq!(of(true, None), ceased);
    }
}

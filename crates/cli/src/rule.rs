//! The verifier rule that decides that another kernel rejects a program, in words.

use skep::program::Program;
use skep::uapi::Behaviour;
use skep::{Kernel, Session, Verdict, Verification};
use skep_report::{DecidingRule, Note};

/// Whether a rule can be the reason: the verifier rejects it, not because something is missing.
pub(crate) fn may_decide(verdict: &Verdict) -> bool {
    let Verdict::Rejected(refusal) = verdict else { return false };
    refusal.load.is_none() && refusal.kind != skep::catalogue::NOT_ON_THIS_KERNEL
}

/// The rule as a report has it.
pub(crate) fn told(rule: &Behaviour, (kernel, session): (&Kernel, &Session)) -> DecidingRule {
    let ceased = session.host.behaviours.get(rule.name).unwrap_or_default();
    let when = rule.changed_after(kernel.release(), ceased);
    DecidingRule {
        name: rule.name.to_owned(),
        text: rule.text.to_owned(),
        ceased,
        when: when.map(|[after, to]| format!("a release after {after} and up to {to}")),
    }
}

/// A note about it, for a session of another kernel.
pub(crate) fn note(
    session: &Session,
    program: &Program,
    verification: &Verification,
) -> Option<Note> {
    let kernel = session.kernel.as_ref().filter(|_| may_decide(&verification.verdict))?;
    let rule = session.deciding_rule(program, verification.counts.insns_processed)?;
    Some(Note { text: told(rule, (kernel, session)).line(), at: None })
}

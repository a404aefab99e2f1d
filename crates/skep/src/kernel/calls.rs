//! Which helpers a kernel refuses to programs of a type, though Linux 6.18 does not.

use super::ask::Answers;
use skep_uapi::helper::{HelperId, HookKey, ProtoFlags, default_proto};
use skep_uapi::{ProgType, allowed_after, asked_around, asked_later, not_yet};
use skep_verifier::RefusedCalls;
use std::sync::Arc;

/// What is known of the calls that a kernel refuses.
#[derive(Clone, Debug)]
pub struct Calls {
    /// The tested kernels before and after it.
    around: [&'static str; 2],
    /// Later ones, whose mends it may have.
    later: &'static [&'static str],
    /// Results of probing it.
    answers: Option<Arc<Answers>>,
}

impl Calls {
    /// Those of a release.
    pub fn of_release(release: &str) -> Calls {
        Calls { around: asked_around(release), later: asked_later(release), answers: None }
    }

    pub(super) fn corrected(self, answers: Option<Arc<Answers>>) -> Calls {
        Calls { answers, ..self }
    }

    /// Whether both are known to be the same.
    pub(super) fn are_those_of(&self, other: &Calls) -> bool {
        let same_answers = match (&self.answers, &other.answers) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        same_answers && self.around == other.around && self.later == other.later
    }

    /// Whether the kernel refuses the call. Of one between two tested kernels: whether one of them
    /// does, or one whose mends it may have.
    pub(super) fn refuse(&self, hook: &HookKey<'_>, id: HelperId, may_sleep: bool) -> bool {
        // Kernels were asked with programs that may not sleep.
        if may_sleep && default_proto(id).flags.contains(ProtoFlags::MIGHT_SLEEP) {
            return false;
        }
        self.answered(hook, id).unwrap_or_else(|| {
            self.refused_around(hook, id).contains(&true)
                || self.later.iter().any(|kernel| refuses(kernel, hook, id))
        })
    }

    /// What the kernel itself answered.
    pub(super) fn answered(&self, hook: &HookKey<'_>, id: HelperId) -> Option<bool> {
        let answers = self.answers.as_ref()?;
        let answers = asked_for(hook).map(|hook| answers.refuses_call(&hook, id));
        answers.into_iter().reduce(|one, other| Some(one? || other?))?
    }

    /// What the tested kernels before and after it refuse.
    pub(super) fn refused_around(&self, hook: &HookKey<'_>, id: HelperId) -> [bool; 2] {
        self.around.map(|kernel| refuses(kernel, hook, id))
    }

    /// For the verifier.
    pub(crate) fn refused(self) -> RefusedCalls {
        RefusedCalls(Arc::new(move |hook: &HookKey<'_>, id, may_sleep| {
            self.refuse(hook, id, may_sleep)
        }))
    }
}

/// Since when kernels after this one allow the call, in words.
pub(super) fn allowed_since(release: &str, hook: &HookKey<'_>, id: HelperId) -> Option<String> {
    let [after, to] = allowed_after(release, &asked_for(hook), id)?;
    Some(format!("a release after {after} and up to {to}"))
}

/// Whether a tested kernel refuses the call.
fn refuses(kernel: &str, hook: &HookKey<'_>, id: HelperId) -> bool {
    asked_for(hook).iter().any(|hook| not_yet(kernel, hook, id))
}

/// The hooks that were asked in place of this one. Members of struct_ops were not asked: what
/// programs for packets may not call yet, they may not be able to call either; nor what programs
/// that trace may not.
fn asked_for(hook: &HookKey<'_>) -> [HookKey<'static>; 2] {
    let asked = match hook.prog_type {
        ProgType::StructOps => [ProgType::SchedCls, ProgType::Kprobe],
        prog_type => [prog_type; 2],
    };
    let attach_type = hook.attach_type;
    asked.map(|prog_type| HookKey { prog_type, attach_type, target: "" })
}

//! A release's rules, and those that depend on how a kernel was built, as its BTF shows.

use skep_btf::{Btf, Kind};
use skep_uapi::{BEHAVIOURS, Behaviour, Behaviours, Neighbour};

/// The rules of a release, and those of all its neighbours, with the values that are known of the
/// kernel itself.
pub(crate) fn rules(
    release: &str,
    known: impl Fn(&Behaviour) -> Option<bool>,
) -> (Behaviours, Vec<Neighbour>) {
    let mut behaviours = Behaviours::of_release(release);
    let mut neighbours = Neighbour::of_release(release);
    for rule in BEHAVIOURS {
        let Some(holds) = known(rule) else { continue };
        behaviours.set(rule.name, holds);
        neighbours.iter_mut().for_each(|it| it.rules.set(rule.name, holds));
    }
    (behaviours, Neighbour::distinct(neighbours))
}

/// A member of `struct unwind_state` on x86-64 if the ORC unwinder is built in: no other has it.
const MEMBER_OF_ORC: &str = "full_regs";

/// Whether the rule holds; `None` if the BTF does not tell.
pub(crate) fn holds(rule: &Behaviour, btf: &Btf) -> Option<bool> {
    match rule.name {
        "no_exceptions" => {
            let state = btf.ty(btf.find_by_name_kind("unwind_state", Kind::Struct)?);
            Some(!state.members().any(|member| member.name() == MEMBER_OF_ORC))
        }
        "results_overridden" => {
            Some(btf.find_by_name_kind("bpf_override_return", Kind::Func).is_some())
        }
        _ => None,
    }
}

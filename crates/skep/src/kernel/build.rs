//! Rules that depend on how a kernel was built, as its BTF shows.

use skep_btf::{Btf, Kind};
use skep_uapi::Behaviour;

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

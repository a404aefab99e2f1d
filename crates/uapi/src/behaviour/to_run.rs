//! Which of another kernel's rules a program may rely on that is run outside of it.

use super::Behaviours;

/// Rules that do not matter to the memory safety of a run, and why. A runtime takes a program's
/// word for these; all others must be those of 6.18.44, whose sound counterpart is known.
#[rustfmt::skip]
pub(super) const HARMLESS: &[(&str, &str)] = &[
    ("lsm_hooks_disabled", "only where a program attaches, and nothing is attached"),
    ("file_alloc_hook", "only where a program attaches"),
    ("syscalls_sleep", "only where a program attaches; one that sleeps has fewer rights"),
    ("lsm_hooks_sleep", "only where a program attaches; one that sleeps has fewer rights"),
    ("device_hooks_sleep", "only where a program attaches; one that sleeps has fewer rights"),
    ("program_end_sleeps", "only where a program attaches; one that sleeps has fewer rights"),
    ("connecting_sleeps", "only where a program attaches; one that sleeps has fewer rights"),
    ("task_inode_sleeps", "only where a program attaches; one that sleeps has fewer rights"),
    ("xattr_removal_sleeps", "only where a program attaches; one that sleeps has fewer rights"),
    ("path_hooks_sleep", "only where a program attaches; one that sleeps has fewer rights"),
    ("bandwidth_sleeps", "only where a program attaches; one that sleeps has fewer rights"),
    ("xfrm_hook_disabled", "only where a program attaches"),
    ("structs_as_arguments", "only where a program attaches"),
    ("kprobes_sleep", "only where a program attaches; one that sleeps has fewer rights"),
    ("tracepoints_sleep", "only where a program attaches; one that sleeps has fewer rights"),
    ("struct_ops_awake", "only where a program attaches; one that sleeps has fewer rights"),
    ("fmod_ret_tests", "only where a program attaches"),
    ("targets_checked_first", "only which of two refusals is reported"),
    ("fields_checked_first", "only which of two refusals is reported, or refuses dead insns"),
    ("store_fields_checked_first", "only which of two refusals is reported, or refuses dead insns"),
    ("kfuncs_in_raw_tp", "only who may call kfuncs; their arguments are checked all the same"),
    ("no_kfuncs_at_tracepoints", "only who may call kfuncs"),
    ("kfuncs_in_sock_ops", "only who may call kfuncs"),
    ("keys_for_all", "only who may call kfuncs"),
    ("scx_kfuncs_by_member", "only who may call kfuncs"),
    ("scx_slots_by_member", "only who may call kfuncs"),
];

impl Behaviours {
    /// The rules under which a program that was verified under these must pass before it is run
    /// outside the kernel that has them: those of 6.18.44, except what is harmless.
    pub fn to_run(&self) -> Behaviours {
        let mut rules = Behaviours::reference();
        for (name, _) in HARMLESS {
            if let Some(holds) = self.get(name) {
                rules.set(name, holds);
            }
        }
        rules
    }
}

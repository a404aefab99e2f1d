//! What programs attach to through a trampoline: functions that may sleep, whose result may be
//! modified, or that must not be traced.
//!
//! Lists of names that a kernel is built with. What depends on its configuration (which functions
//! allow error injection) has no row here; it is one of the facts given to the verifier.
//!
//! Tested on Linux 6.18.15, because a kernel that rejects trampolines gives no answer (`cargo xtask
//! ask`, in a guest).
//!
//! Kernel: `bpf_lsm_disabled_hooks`, `sleepable_lsm_hooks`, `btf_id_deny`, `noreturn_deny`,
//! `BTF_SET_START(btf_non_sleepable_error_inject)`, `btf_allowlist_d_path` (6.18).

mod table;

use crate::Behaviours;
use table::*;

/// What an LSM hook permits programs to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// Programs that sleep, too.
    Sleepable,
    /// Programs that do not sleep.
    Atomic,
    /// No program.
    Disabled,
    /// It is no hook.
    None,
}

/// What the hook function (`bpf_lsm_file_open`) permits programs to do.
pub fn lsm_hook(func: &str) -> Hook {
    lsm_hook_by(func, &Behaviours::reference())
}

/// As [`lsm_hook`], on a kernel with other rules.
pub fn lsm_hook_by(func: &str, rules: &Behaviours) -> Hook {
    let Some(hook) = func.strip_prefix("bpf_lsm_") else { return Hook::None };
    if NO_HOOKS.contains(&func) {
        Hook::None
    } else if is_disabled(hook, rules) {
        Hook::Disabled
    } else if lsm_hook_sleeps(func, rules) {
        Hook::Sleepable
    } else {
        Hook::Atomic
    }
}

fn is_disabled(hook: &str, rules: &Behaviours) -> bool {
    match hook {
        "file_alloc_security" => !rules.file_alloc_hook,
        "xfrm_decode_session" => rules.xfrm_hook_disabled,
        _ => rules.lsm_hooks_disabled && DISABLED_HOOKS.binary_search(&hook).is_ok(),
    }
}

/// Whether programs that sleep may attach to the hook function, if any may: the kernel asks this
/// first.
pub fn lsm_hook_sleeps(func: &str, rules: &Behaviours) -> bool {
    let hook = func.strip_prefix("bpf_lsm_").unwrap_or_default();
    let is_known = || SLEEPABLE_HOOKS.binary_search(&hook).is_ok();
    match hook {
        _ if !rules.lsm_hooks_sleep => hook == "bprm_committed_creds",
        "bdev_alloc_security" | "bdev_setintegrity" => rules.device_hooks_sleep,
        "bpf_prog_free" => rules.program_end_sleeps,
        "inet_conn_established" => rules.connecting_sleeps,
        "inode_post_removexattr" | "inode_removexattr" => rules.xattr_removal_sleeps,
        "task_to_inode" => rules.task_inode_sleeps,
        _ if hook.starts_with("path_") && hook != "path_notify" => {
            rules.path_hooks_sleep && is_known()
        }
        _ => is_known(),
    }
}

/// Whether the function's result may be modified because the kernel marks it so; and whether such a
/// program may sleep.
pub fn modifiable(func: &str) -> Option<bool> {
    MODIFIABLE.iter().find(|row| row.0 == func).map(|row| row.1)
}

/// Functions with error injection in which programs must not sleep. Documented.
pub fn never_sleeps(func: &str) -> bool {
    matches!(func, "__filemap_add_folio" | "should_fail_alloc_page" | "should_failslab")
}

/// Functions that no tracing program may attach to. Those of kernels with preemption counting are
/// documented: the tested one has none of them.
pub fn is_denied(func: &str, rules: &Behaviours) -> bool {
    DENIED.contains(&func) && (rules.read_locks_denied || func != "__rcu_read_lock")
}

/// Functions that do not return.
pub fn never_returns(func: &str) -> bool {
    NORETURN.contains(&func)
}

/// Functions in whose tracing programs `bpf_d_path` may be called.
pub fn takes_d_path(func: &str, rules: &Behaviours) -> bool {
    D_PATH.contains(&func) || rules.lsm_hooks_sleep && lsm_hook_sleeps(func, rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_are_sorted_by_name() {
        assert!(DISABLED_HOOKS.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(SLEEPABLE_HOOKS.windows(2).all(|pair| pair[0] < pair[1]));
    }

    /// Seen on 6.18.15.
    #[test]
    fn hooks_are_those_of_the_kernel() {
        assert_eq!(lsm_hook("bpf_lsm_file_open"), Hook::Sleepable);
        assert_eq!(lsm_hook("bpf_lsm_task_free"), Hook::Atomic);
        assert_eq!(lsm_hook("bpf_lsm_getprocattr"), Hook::Disabled);
        assert_eq!(lsm_hook("security_file_open"), Hook::None);
        assert_eq!(modifiable("bpf_modify_return_test"), Some(false));
        let rules = Behaviours::reference();
        assert!(takes_d_path("vfs_getattr", &rules) && !takes_d_path("vfs_read", &rules));
    }
}

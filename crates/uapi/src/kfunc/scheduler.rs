//! Which kfuncs a scheduler may call, by the member of `sched_ext_ops` that a program implements.
//!
//! Source: every kfunc tested in every member on 7.1.13, 7.2.12, 7.3.4.

bitflags::bitflags! {
    /// Groups of members, by the locks held when they are called.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct SchedulerCalls: u8 {
        /// `select_cpu`, which chooses a CPU for a task.
        const SELECT = 1 << 0;
        /// A task is queued: `enqueue`.
        const ENQUEUE = 1 << 1;
        /// A CPU wants tasks: `dispatch`.
        const DISPATCH = 1 << 2;
        /// A CPU is taken away: `cpu_release`.
        const RELEASE = 1 << 3;
        /// No run queue lock is held: `init`, `cgroup_init`, `dump`.
        const UNLOCKED = 1 << 4;
        /// All others.
        const REST = 1 << 5;
    }
}

impl SchedulerCalls {
    fn of(member: &str) -> SchedulerCalls {
        match member {
            "select_cpu" => SchedulerCalls::SELECT,
            "enqueue" => SchedulerCalls::ENQUEUE,
            "dispatch" => SchedulerCalls::DISPATCH,
            "cpu_release" => SchedulerCalls::RELEASE,
            "sub_caps_updated" | "sub_ecaps_updated" => SchedulerCalls::all(),
            "cgroup_cancel_move"
            | "cgroup_exit"
            | "cgroup_init"
            | "cgroup_prep_move"
            | "cgroup_set_bandwidth"
            | "cgroup_set_idle"
            | "cgroup_set_weight"
            | "cpu_offline"
            | "cpu_online"
            | "dump"
            | "exit"
            | "init"
            | "init_cids"
            | "init_task"
            | "sub_attach"
            | "sub_detach" => SchedulerCalls::UNLOCKED,
            _ => SchedulerCalls::REST,
        }
    }

    /// Whether a program for `target`, as in `sched_ext_ops.init`, is in the group.
    pub(super) fn hold(self, target: &str) -> bool {
        let member = target.strip_prefix("sched_ext_ops.");
        member.is_some_and(|member| self.intersects(SchedulerCalls::of(member)))
    }
}

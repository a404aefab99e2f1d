//! Where the verifiers of other kernels differ from that of 6.18.44, as named values.
//!
//! A row is a rule, the tested kernels on which it holds, and its witness: a program of the corpus
//! whose verdict shows it. `cargo xtask` checks every row against the kernels' results
//! (`tests/kernels/asked`). For a release that was not tested, a value is known if the tested
//! releases before and after it agree on it, and no later kernel can have changed it.
//!
//! Source: the results of the kernels; the witness of each row, and its log.

mod answer;
mod to_run;

pub use answer::{Judged, Shows, Witness};

use crate::column::{COLUMNS, Column, REFERENCE, Standing, UPDATES, column_of};

use Shows::{Accepted, Insns, Peak, Refused, Says};

/// A rule that does not hold on every kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// Its name, as the field of [`Behaviours`].
    pub name: &'static str,
    /// What it says.
    pub text: &'static str,
    /// The program that shows it.
    pub witness: Witness,
    /// What the kernel reports for the witness if, and only if, the rule holds.
    pub shows: Shows,
    marks: &'static str,
}

impl Behaviour {
    /// Whether it holds on a kernel.
    pub fn holds_on(&self, release: &str) -> bool {
        holds(self.marks, column_of(release))
    }

    /// The same, on releases for which it is known: a tested kernel or another of its series, or
    /// one between others that agree.
    pub fn known_on(&self, release: &str) -> Option<bool> {
        let standing = Standing::of(release);
        let [here, there] = standing.columns().map(|at| holds(self.marks, at));
        let later = match standing {
            Standing::Mended([_, last]) => self.holds_if_mended(last),
            _ => there,
        };
        (here == there && there == later && !standing.is_beyond()).then_some(here)
    }

    /// Whether it holds on a kernel with the rules of this column, and what was mended later: what
    /// a later kernel refuses, and what updates of any series made as it is on the newest kernel.
    fn holds_if_mended(&self, column: usize) -> bool {
        let refuses = match self.shows {
            Accepted => Some(false),
            Refused | Says(_) => Some(true),
            Insns(_) | Peak(_) => None,
        };
        let value = |at: usize| holds(self.marks, at);
        let [here, newest] = [column, COLUMNS.len() - 1].map(value);
        if refuses == Some(!here) && (column + 1..COLUMNS.len()).any(|at| value(at) != here) {
            return !here;
        }
        let was_updated = UPDATES.iter().any(|it| it.map(value) == [!newest, newest]);
        if was_updated { newest } else { here }
    }

    /// The tested kernels between which it began, or ceased, to hold after a release on which it
    /// does not, or does, as `here` says: the last one that is like it, and the next one.
    pub fn changed_after(&self, release: &str, here: bool) -> Option<[&'static str; 2]> {
        let [_, from] = Standing::of(release).columns();
        let is_like = |at: usize| holds(self.marks, at) == here;
        let mut after = COLUMNS.iter().enumerate().skip(from).filter(|_| is_like(from));
        let (next, to) = after.find(|(at, _)| !is_like(*at))?;
        let last = COLUMNS.get(next.checked_sub(1)?)?;
        Some([last, to].map(Column::exact_name))
    }

    /// Whether the witness shows the rule there: on some kernels it is a different program, because
    /// of their types.
    pub fn is_shown_on(&self, release: &str) -> bool {
        !matches!(self.marks.as_bytes()[column_of(release)], b'*' | b'-')
    }

    /// Whether builds of this release differ in it, so that only the kernel itself can tell.
    pub fn differs_between_builds(&self, release: &str) -> bool {
        let mark = self.marks.as_bytes()[column_of(release)];
        matches!(mark, SOME_BUILDS_REFUSE | SOME_BUILDS_ACCEPT)
    }
}

/// Marks of rules that some builds of a release have and others lack. Unless the kernel itself is
/// asked, the rule that refuses more is used.
const SOME_BUILDS_REFUSE: u8 = b'~';
const SOME_BUILDS_ACCEPT: u8 = b'?';

const fn holds(marks: &str, column: usize) -> bool {
    matches!(marks.as_bytes()[column], b'+' | b'*' | SOME_BUILDS_REFUSE)
}

macro_rules! behaviours {
    ($($name:ident $marks:literal $shows:expr, $object:literal $program:literal $text:literal)*) => {
        /// The rules of one kernel that other kernels lack or define differently.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Behaviours {
            $(#[doc = $text] pub $name: bool,)*
        }

        /// All of them.
        pub const BEHAVIOURS: &[Behaviour] = &[
            $(Behaviour {
                name: stringify!($name),
                text: $text,
                witness: Witness { object: $object, program: $program },
                shows: $shows,
                marks: $marks,
            },)*
        ];

        impl Behaviours {
            pub(crate) const fn of_column(column: usize) -> Behaviours {
                Behaviours { $($name: holds($marks, column),)* }
            }

            /// Whether the rule of that name holds; `None` if there is none.
            pub fn get(&self, name: &str) -> Option<bool> {
                match name {
                    $(stringify!($name) => Some(self.$name),)*
                    _ => None,
                }
            }

            /// Sets whether a rule holds; an unknown name changes nothing.
            pub fn set(&mut self, name: &str, holds: bool) {
                match name {
                    $(stringify!($name) => self.$name = holds,)*
                    _ => {}
                }
            }
        }
    };
}

impl Behaviours {
    /// Those of Linux 6.18.44.
    pub const fn reference() -> Behaviours {
        Behaviours::of_column(REFERENCE)
    }

    /// Those of the newest tested kernel.
    pub const fn newest() -> Behaviours {
        Behaviours::of_column(COLUMNS.len() - 1)
    }

    /// The rules of a release (`uname -r`): those of the tested kernel of its series; or of the
    /// next tested kernel ([`Neighbour`](crate::Neighbour) has those of the one before); or of the
    /// oldest or newest one, for a release beyond it.
    pub fn of_release(release: &str) -> Behaviours {
        let [_, after] = Standing::of(release).columns();
        Behaviours::of_column(after)
    }

    /// The rules of a column, and what was mended later.
    pub(crate) fn mended(column: usize) -> Behaviours {
        let mut rules = Behaviours::of_column(column);
        BEHAVIOURS.iter().for_each(|row| rules.set(row.name, row.holds_if_mended(column)));
        rules
    }

    /// The rules that hold for one and not for the other.
    pub fn differing(&self, other: &Behaviours) -> impl Iterator<Item = &'static Behaviour> {
        BEHAVIOURS.iter().filter(|row| self.get(row.name) != other.get(row.name))
    }
}

impl Default for Behaviours {
    fn default() -> Behaviours {
        Behaviours::reference()
    }
}

// One mark a kernel: `+` if it holds, `.` if not; `*` and `-` are the same where the witness does
// not show it; `~` and `?` if only some builds have it, which then refuse or accept more. The
// kernels are those of `COLUMNS`. Then what the witness shows, and the witness.
#[rustfmt::skip]
behaviours! {
    unwritten_bytes_read ".+.....++.++++++++++++++++++++++++++" Accepted, "witnesses/granted.bpf.o" "half_never_written"
        "Bytes of the stack that were never written may be read where others near them were."
    kfunc_zero_left "++...+++++++++++++++++++++++++++++++" Accepted, "witnesses/insns.bpf.o" "unreached_kfunc"
        "A call of kernel function 0 is only refused where a path reaches it."
    kfuncs_of_modules "*+*..***+***+****+*++**++*++*++*+*++" Insns(2), "witnesses/between.bpf.o" "calls_module"
        "Kernel functions of modules may be called (else: they are no functions)."
    struct_ops_kfuncs_only "..++++.............................."
        Says("calling kernel function cgroup_rstat_updated is not allowed"),
        "witnesses/between.bpf.o" "traced_calls"
        "Only struct_ops programs may call kfuncs, except for those of tests."
    kfuncs_in_syscalls "-----------..+++++++++++++++++++++++" Accepted, "witnesses/stricter.bpf.o" "used_in_rcu"
        "Syscall and cgroup programs may call the kfuncs for tasks, cgroups, CPU masks and objects."
    no_exceptions "-----------+~++...+..+.....+..+-----" Refused, "witnesses/newer.bpf.o" "throws_with_object"
        "There are no exceptions (kernels whose stacks the ORC unwinder does not read)."
    kptrs_in_objects "-----------....+++++++++++++++++++++" Accepted, "kfuncs/owners.bpf.o" "owns_others"
        "bpf_kptr_xchg may store a pointer in an allocated object (else: only in map values)."
    inner_fields ".............+++++++++++++++++++++++" Accepted, "witnesses/between.bpf.o" "rings_inside"
        "Special fields may be in arrays and in inner structs of a map value."
    any_map_iterated "--...........+++++++++++++++++++++++" Accepted, "witnesses/between.bpf.o" "iterates_over_either"
        "One call of bpf_for_each_map_elem may iterate over different maps on different paths."
    inner_objects_passed "----------...+++++++++++++++++++++++" Accepted, "witnesses/between.bpf.o" "passes_inner_object"
        "A member of a trusted object may be passed to a kfunc that wants trusted objects."
    storages_while_sleeping "--...+++++++++++++++++++++++++++++++" Accepted, "witnesses/between.bpf.o" "stores_while_sleeping"
        "Sleepable programs may use local storage."
    written_numbers_seen ".......++...++++++++++++++++++++++++" Refused, "witnesses/between.bpf.o" "number_into_constant"
        "Helpers that return a number through a pointer may not be given read-only memory."
    writes_of_any_size_seen ".......++...++++++++++++++++++++++++" Refused, "witnesses/between.bpf.o" "copies_into_constant"
        "Helpers that write memory may not be given read-only memory, if the size is not known either."
    arguments_written "**...+++++++++++++++++++++++++++++++" Refused, "witnesses/between.bpf.o" "constant_to_writer"
        "Functions may not be given read-only memory."
    trusted_arguments "-----------..+++++++++++++++++++++++" Accepted, "witnesses/between.bpf.o" "passes_task"
        "Arguments of global functions may be tagged as trusted (else: tags other than of contexts and non-NULL are ignored)."
    tcp_stamp_writes ".............+++++++++++++++++++++++" Accepted, "witnesses/congestion.bpf.o" "writes_stamp"
        "TCP congestion control may change the time stamp of the congestion window."
    tracepoint_arguments_checked "----------..++......................" Refused, "witnesses/null.bpf.o" "task"
        "Arguments of tracepoints may be NULL where they are compared with it, but are accessed as if they were not."
    results_overridden "..+++++..++++++...+..+.....+..+....." Accepted, "witnesses/between.bpf.o" "overrides_result"
        "kprobe programs may call bpf_override_return (kernels with CONFIG_BPF_KPROBE_OVERRIDE)."
    unix_iterators_set_options "---..+++++++++++++++++++++++++++++++" Accepted, "witnesses/between.bpf.o" "sets_option"
        "Iterators over Unix sockets may set their options."
    current_state_marked "++**+**++++........................." Insns(5_699), "bench/ttl.bpf.o" "ttl"
        "What is loaded from zeros is marked as precise in the current state, too."
    ids_paired_both_ways "..........+++++++++++++++++*********" Insns(68), "witnesses/walks.bpf.o" "other_links"
        "Different ids of a saved state correspond to different ids (else: possibly to the same one)."
    later_callbacks_measured "---....+++++++++++++++++++++++++++++" Refused, "witnesses/between.bpf.o" "rings_deeply"
        "The stacks of callbacks that run later are limited, too."
    sockmaps_changed_by_packets "+++++++++++++++++++++++++++++++++++." Accepted, "witnesses/maps.bpf.o" "deletes_socket"
        "XDP and other packet programs may update and delete sockmap elements."
    lsm_hooks_disabled "........+...+..+++++++++++++++++++++" Refused, "witnesses/traced.bpf.o" "disabled_hook"
        "Some LSM hooks are disabled for programs."
    file_alloc_hook "+++++++++++++++++++++++++..........." Accepted, "witnesses/traced.bpf.o" "file_alloc"
        "Programs may attach to the LSM hook `file_alloc_security`."
    syscalls_sleep "..+++++..++++++...+..+.....+..++++++" Accepted, "witnesses/traced.bpf.o" "syscall_sleeps"
        "Sleepable and fmod_ret programs may attach to syscall entries without error injection."
    timers_in_tracing "...........................+++++++++" Accepted, "witnesses/maps.bpf.o" "timer_in_kprobe"
        "Tracing programs may use maps with timers and work queues."
    kfunc_results_trusted "------------------......-..++++++***" Insns(7), "witnesses/schedulers.bpf.o" "reads_queue"
        "Objects returned by kfuncs are trusted."
    stores_need_trust "------------------......-..........+" Refused, "witnesses/schedulers.bpf.o" "stores_slice"
        "Fields of a kernel object may only be written through a trusted pointer."
    untrusted_stores_refused "---------...+....+......+.....+..+++" Refused, "witnesses/congestion.bpf.o" "writes_cast"
        "Fields of a kernel object may not be written through an untrusted pointer."
    iterator_sections_compared "-------------------------.....+..+++" Refused, "witnesses/later.bpf.o" "iterates_after_gap"
        "An iterator whose RCU section has ended does not match one whose section goes on."
    stored_null_is_precise "............+....+............+...++" Refused, "witnesses/later.bpf.o" "number_stored_as_pointer"
        "NULL that is stored as a kernel pointer is precise."
    no_tail_calls_in_callbacks "-----..............................+" Refused, "witnesses/later.bpf.o" "callback_calls_tail"
        "Callbacks, and functions that they call, may not tail call."
    inner_maps_looked_up "----...............................+" Refused, "witnesses/later.bpf.o" "inner_map_as_memory"
        "A lookup in a map of maps gives a map, also before it is compared with NULL."
    probed_memory_apart "--------------------...............+" Refused, "witnesses/later.bpf.o" "loads_value_or_anything"
        "An insn that loads from untrusted memory may not load from other memory on another path."
    atomic_pointers_apart "-------------....+............+..+++" Refused, "witnesses/later.bpf.o" "adds_to_stack_or_arena"
        "An atomic insn may not change an arena on one path and other memory on another."
    elements_know_maps "---.........+....+............+...++" Accepted, "witnesses/later.bpf.o" "element_of_own_map"
        "Elements passed to the callback of `bpf_for_each_map_elem` belong to the inner map that was looked up."
    packet_distances_compared "-------------------------------...++" Refused, "witnesses/later.bpf.o" "packet_distance_differs"
        "Packet pointers with the same id match others only if they keep their distance."
    moved_packets_not_passed "--............................+...++" Refused, "witnesses/later.bpf.o" "packet_passed_and_moved"
        "Packet pointers may not be passed as memory to global functions that move the packet."
    objects_written_as_such "----------.......................+++" Refused, "witnesses/later.bpf.o" "object_written"
        "Memory that a function may write is not a kernel object, unless the program may write that."
    packet_loads_traced "----+++++++++++++++-----.---+.+...++" Accepted, "witnesses/returning.bpf.o" "precise_over_packet_load"
        "Backtracking enters functions that a packet load beyond the packet has ended."
    far_pointers_may_be_null "---------...+....+............+...++" Refused, "witnesses/passed.bpf.o" "equals_pointer_moved_far"
        "A pointer moved by an unbounded number does not show that another one is not NULL."
    arena_types_passed "-------------....................+++" Accepted, "witnesses/passed.bpf.o" "arena_passed"
        "Parameters whose type is tagged as an arena's take addresses in arenas."
    five_registers_linked "..................................++" Refused, "witnesses/passed.bpf.o" "jump_bounds_six"
        "A jump bounds five registers that are copies of each other, not six."
    acquired_types_checked "-------------------...........+..+++" Refused, "witnesses/stricter.bpf.o" "ctx_acquired_in_place"
        "Load-acquire from the context is refused also where the pointer is overwritten, and from untrusted memory."
    percpu_pointers_apart "------------*....+............+...++" Refused, "witnesses/stricter.bpf.o" "task_as_percpu"
        "Where pointers to per-CPU objects are kept, no others may be stored."
    allocated_arrays_end "---------...+....+............+..+++" Refused, "witnesses/stricter.bpf.o" "beyond_allocated"
        "Allocated objects have no elements in an array without size at their end."
    elements_are_told_apart "---------..........................+" Refused, "witnesses/stricter.bpf.o" "other_lock_released"
        "The lock of an element passed to a callback is another than that of other elements."
    locks_end_protection "-------------.................+..+++" Refused, "witnesses/stricter.bpf.o" "used_after_lock"
        "A kernel object loaded under a lock may be gone after it is released."
    any_section_protects "-------------......................+" Accepted, "witnesses/stricter.bpf.o" "used_in_preempt_off"
        "Kernel objects are protected with preemption or interrupts off as in an RCU section."
    buffers_spilled "...................................+" Accepted, "witnesses/stricter.bpf.o" "buffer_spilled"
        "Pointers to buffers of writable tracepoints are kept when spilled."
    products_joined "......................++++++++++++++" Accepted, "witnesses/before.bpf.o" "three_times_odd"
        "Known bits of products are found by joining the outcomes for each unknown bit."
    products_summed "...+++++++++++++++++++++++++++++++++" Accepted, "witnesses/before.bpf.o" "two_or_three_times_seven"
        "Before that, by adding what the bits of one operand may add to the product of the known ones."
    memory_and_objects_mix "--..................++++++++++++++++" Accepted, "witnesses/before.bpf.o" "loads_record_or_object"
        "An insn may load from memory on one path and from a kernel object on another."
    iterators_under_lock "..................++++++++++++++++++" Accepted, "witnesses/before.bpf.o" "loops_under_lock"
        "Numbers may be iterated over while a spin lock is held."
    sessions_bounded ".............+++++++++++++++++++++++" Refused, "witnesses/before.bpf.o" "session_returns_two"
        "What a program of a kprobe session returns is checked."
    user_sessions_bounded "..................++++++++++++++++++" Refused, "witnesses/before.bpf.o" "user_session_returns_two"
        "Sessions of user probes return 0 or 1, as those of kernel probes."
    stack_helpers_sleep "-------------....+............+...++" Refused, "witnesses/asleep.bpf.o" "task_stack_without_preemption"
        "In sleepable programs `bpf_get_task_stack` sleeps, and in sleepable uprobe programs `bpf_get_stack`."
    signal_infos_are_numbers "............+....+............+...++" Refused, "witnesses/hooks.bpf.o" "signal_made"
        "The signal information of tracepoints is a number (else: a pointer to an object)."
    waited_for_may_be_null ".................+............+...++" Refused, "witnesses/hooks.bpf.o" "process_waited_for"
        "The process of the tracepoint `sched_process_wait` may be NULL."
    tracepoint_arguments_may_be_null "..............++++++++++++++++++++++" Refused, "witnesses/hooks.bpf.o" "task_that_waits"
        "Some arguments of tracepoints may be NULL."
    device_hooks_sleep "---------------.........-......+++++" Accepted, "witnesses/hooks.bpf.o" "device_made"
        "Programs of the LSM hooks for block devices may be sleepable."
    program_end_sleeps "-------------++++.++++++*+++++.++..." Accepted, "witnesses/hooks.bpf.o" "program_freed"
        "Programs of the LSM hook `bpf_prog_free` may be sleepable."
    connecting_sleeps "..+++++++++++++++.++++++*++++......." Accepted, "witnesses/hooks.bpf.o" "connected"
        "Programs of the LSM hook `inet_conn_established` may be sleepable."
    task_inode_sleeps "..++.+++.+++.++++.++++++*++++......." Accepted, "witnesses/hooks.bpf.o" "task_to_inode"
        "Programs of the LSM hook `task_to_inode` may be sleepable."
    xattr_removal_sleeps "...................+++++*+++++++++++" Accepted, "witnesses/hooks.bpf.o" "attribute_removed"
        "Programs of the LSM hooks for removed extended attributes may be sleepable."
    path_hooks_sleep "...........+++++++++++++*+++++++++++" Accepted, "witnesses/hooks.bpf.o" "mode_changed"
        "Programs of the LSM hooks that change paths may be sleepable."
    xfrm_hook_disabled "........+...+....+......-.....+.++++" Refused, "witnesses/hooks.bpf.o" "session_decoded"
        "The LSM hook `xfrm_decode_session` is disabled for programs."
    bandwidth_sleeps "--------------------....-..........+" Accepted, "witnesses/hooks.bpf.o" "bandwidth_sleeps"
        "A scheduler's `cgroup_set_bandwidth` may be sleepable."
    structs_as_arguments "......++++++++++++++++++*+++++++++++" Accepted, "witnesses/hooks.bpf.o" "owner_changed"
        "Programs may attach to functions with structs as arguments, of up to 16 bytes."
    sleeping_globals_checked "----------.........+++++*+++++++++++" Refused, "witnesses/asleep.bpf.o" "calls_in_rcu"
        "Global functions that may sleep may not be called where nothing may."
    options_when_created ".........................+++++++++++" Accepted, "witnesses/options.bpf.o" "set_when_created"
        "Programs at the creation of a socket may read and set its options."
    offsets_checked_before_trust "---------------....................+"
        Says("dereference of modified untrusted_ptr_ ptr R1 off=40 disallowed"),
        "witnesses/said.bpf.o" "path_inside_untrusted"
        "Whether an object passed to a kfunc begins there is checked before whether it is trusted."
    constant_sizes_checked_first "----------.........................+"
        Says("R4 must be a known constant"),
        "witnesses/said.bpf.o" "slice_of_any_size"
        "Whether a size is constant is checked before whether it fits."
    locks_need_ids "--+++++++..........................." Refused, "witnesses/stricter.bpf.o" "own_lock_released"
        "The lock of an element passed to a callback is not taken for one that is held."
    scx_kfuncs_by_member "------------------......-......*++++" Refused, "witnesses/schedulers.bpf.o" "selects_elsewhere"
        "Which kfuncs a scheduler may call depends on the member of `sched_ext_ops` it implements."
    scx_slots_by_member "------------------......-......+.+++" Refused, "witnesses/schedulers.bpf.o" "counts_elsewhere"
        "Dispatch slots may only be counted and cancelled in the dispatch operation."
    kfuncs_in_raw_tp "-.------.-.................+++++++++" Accepted, "witnesses/objects.bpf.o" "makes_mask"
        "Raw tracepoint programs may call the kfuncs for tasks, cgroups and CPU masks."
    no_kfuncs_at_tracepoints "**+++++++++++++.....----------------"
        Says("calling kernel function cgroup_rstat_updated is not allowed"),
        "witnesses/callers.bpf.o" "tracepoint_calls"
        "Tracepoint and perf event programs may not call kfuncs."
    kfuncs_in_sock_ops "---------..........+++++++++++++++++" Accepted, "witnesses/callers.bpf.o" "sock_ops_calls"
        "sock_ops programs may call the kfuncs that cgroup programs may call."
    keys_for_all "------................++++++++++++++" Accepted, "witnesses/callers.bpf.o" "syscall_takes_key"
        "Key kfuncs are not limited to tracing programs."
    void_global_functions "...............................+++++" Accepted, "witnesses/globals.bpf.o" "calls_void"
        "Global functions may return void."
    long_chains_of_globals "..............................++++++" Accepted, "witnesses/globals.bpf.o" "calls_chain"
        "Calls of global functions do not count towards the limit of eight frames."
    ld_abs_ends_function "....+...+...+....+......+....+++++++" Refused, "witnesses/walks.bpf.o" "packet_load_ends"
        "A legacy packet load beyond the packet ends its function, which then returns 0."
    var_off_writes_scrub "..--........+....+......+....+++++++" Accepted, "witnesses/numbers.bpf.o" "rest_of_overwritten"
        "A store at a variable offset turns the rest of a spilled register into data."
    drops_any_fields "*+******+++++++++++++++++++++++++..." Accepted, "witnesses/objects.bpf.o" "drops_holder"
        "Tracing programs may drop objects with any fields."
    array_lookups_not_null "..................++++++++++++++++++" Accepted, "witnesses/maps.bpf.o" "first_of_array"
        "An array lookup with a constant key below the array's size is never NULL."
    helper_reads_keep_spills "..................++++++++++++++++++" Accepted, "witnesses/maps.bpf.o" "value_read_by_helper"
        "A helper that only reads the stack preserves spilled registers."
    global_calls_in_preempt_off "-.------.----......+++++++++++++++++" Accepted, "witnesses/objects.bpf.o" "calls_in_section"
        "Global functions may be called with preemption or interrupts disabled."
    fmod_ret_tests "..-----..+++++++++++++++++++++++++++" Accepted, "witnesses/traced.bpf.o" "changes_test"
        "fmod_ret programs may attach to the kernel's test functions without error injection."
    ranges_decide_jumps "...........+++++++++++++++++++++++++" Accepted, "witnesses/numbers.bpf.o" "two_ranges"
        "A comparison of two registers is decided by their ranges."
    argument_tags "...........+++++++++++++++++++++++++" Accepted, "witnesses/globals.bpf.o" "gives_what_is_there"
        "BTF tags describe the arguments of global functions."
    untrusted_arguments "....................++++++++++++++++" Accepted, "witnesses/arguments.bpf.o" "gives_no_memory"
        "A BTF tag allows anything as an argument of a global function, which may only load from it."
    static_calls_under_lock ".............+++++++++++++++++++++++" Accepted, "witnesses/maps.bpf.o" "calls_under_lock"
        "Static functions may be called, and may return, while a lock is held."
    pointers_teach_not_null ".........+++++++++++++++++++++++++++" Accepted, "witnesses/equal.bpf.o" "equals_value"
        "A value that compares equal to a non-NULL pointer is not NULL."
    any_pointer_teaches_not_null ".........+++.++++.++++++++++++.+++.." Accepted, "witnesses/equal.bpf.o" "equals_context"
        "A value that equals any pointer not marked as possibly NULL is not NULL (else: of some types)."
    jumps_trim_edges "...........+++++++++++++++++++++++++" Accepted, "witnesses/numbers.bpf.o" "not_the_edge"
        "A value not equal to the end of its range has a smaller range."
    spills_share_ids ".............+++++++++++++++++++++++" Accepted, "witnesses/numbers.bpf.o" "spilled_then_compared"
        "A spilled scalar shares an id with its register."
    zeros_spilled "...........+++++++++++++++++++++++++" Insns(53), "witnesses/mixed.bpf.o" "zero_then_number"
        "Registers that are zero are spilled like other numbers (else: only as data)."
    any_number_spilled ".............+++++++++++++++++++++++" Accepted, "witnesses/numbers.bpf.o" "unbounded_spilled"
        "Every scalar is spilled (else: not unknown ones, and constant zeros only as data)."
    narrow_fills_keep_ranges ".............+++++++++++++++++++++++" Accepted, "witnesses/numbers.bpf.o" "half_of_spilled"
        "Loading part of a spilled scalar preserves its bounds."
    narrow_spills_linked "............++++++++++++++++++++++++" Accepted, "witnesses/numbers.bpf.o" "narrow_spilled"
        "Bounds learned from a jump also apply to copies spilled in fewer than eight bytes."
    mov32_links "..........++++++++++++++++++++++++++" Accepted, "witnesses/numbers.bpf.o" "narrow_copy"
        "A 32-bit copy shares an id with its source if the upper half is zero."
    cpu_ids_bounded "...........+++++++++++++++++++++++++" Accepted, "witnesses/numbers.bpf.o" "cpu_below_limit"
        "The result of `bpf_get_smp_processor_id` is bounded by the number of possible CPUs."
    kptr_fields ".....++++***************************" Accepted, "witnesses/kptrs.bpf.o" "reads_kernel"
        "A map value may hold pointers to objects of the kernel."
    timer_fields "...+++++++++++++++++++++++++++++++++" Refused, "witnesses/members.bpf.o" "stores_timer"
        "A bpf_timer in a map value is a timer, not data."
    graph_fields "..........++++++++++++++++++++++++++" Refused, "witnesses/members.bpf.o" "stores_count"
        "Lists, trees and reference counts in a map value are not data."
    workqueue_fields ".............+++++++++++++++++++++++" Refused, "witnesses/members.bpf.o" "stores_wq"
        "A bpf_wq in a map value is a work queue, not data."
    uptr_fields "-----.............++++++++++++++++++" Accepted, "witnesses/uptrs.bpf.o" "reads_user"
        "A value of a task's storage may hold pointers to user memory."
    res_lock_fields "...................+++++++++++++++++" Refused, "witnesses/members.bpf.o" "stores_res"
        "A bpf_res_spin_lock in a map value is a lock, not data."
    task_work_fields "......................++++++++++++++" Refused, "witnesses/members.bpf.o" "stores_work"
        "A bpf_task_work in a map value is task work, not data."
    untrusted_kptr_tag "..........++++++++++++++++++++++++++" Refused, "witnesses/objects.bpf.o" "stores_task"
        "Pointers in maps are referenced unless tagged as untrusted."
    loops_are_components "----------..........+++++++++++*****" Insns(98), "witnesses/newer.bpf.o" "dead_store_in_rounds"
        "Loops are components of the program's graph, and marks go round in them until they are complete (else: loops are known by the states in which they were entered)."
    loops_compare_ranges "**********...+++++++++++++++++++++++" Insns(40), "witnesses/rounds.bpf.o" "becomes_five"
        "States of unfinished loops match if the values are within the ranges of the saved one (else: if they are equal)."
    loops_closed_by_any_insn "...........+++++++++++++++++++++++++" Accepted, "witnesses/walks.bpf.o" "falls_into_loop"
        "A loop may be closed by any insn (else: by jumps and addresses of functions)."
    addresses_of_functions "..........++++++++++++++++++++++++++" Accepted, "witnesses/traced.bpf.o" "address_of_function"
        "Programs may take addresses of kernel functions."
    lsm_results_bounded "............++++++++++++++++++++++++" Refused, "witnesses/traced.bpf.o" "hook_positive"
        "The allowed return values of an LSM program depend on its hook."
    packets_move_in_calls "...............+++++++++++++++++++++" Refused, "witnesses/globals.bpf.o" "reads_after_pull"
        "Calls of functions that change packet data invalidate packet pointers."
    kprobes_sleep "......++++++++++++++++++++++++++++++" Accepted, "witnesses/traced.bpf.o" "uprobe_sleeps"
        "Uprobe programs may be sleepable."
    binds_pass_ports "..++++++++++++++++++++++++++++++++++" Accepted, "witnesses/traced.bpf.o" "bind_any_port"
        "Programs for bind hooks may let any port pass."
    unused_stack_read "........+.++++++++++++++++++++++++++" Accepted, "witnesses/numbers.bpf.o" "stack_not_written"
        "Stack below everything written may be read."
    globals_take_memory "..++++++++++++++++++++++++++++++++++" Accepted, "witnesses/globals.bpf.o" "gives_memory"
        "Global functions may take pointers to memory."
    whole_ctx ".........+++++++++++++++++++++++++++" Accepted, "witnesses/traced.bpf.o" "late_field"
        "Contexts have all fields of 6.18 (else: those in the kernel's BTF)."
    lsm_hooks_sleep "..++++++++++++++++++++++++++++++++++" Accepted, "witnesses/traced.bpf.o" "hook_sleeps"
        "Programs of most LSM hooks may be sleepable."
    any_map_while_sleeping "..++++++++++++++++++++++++++++++++++" Accepted, "witnesses/traced.bpf.o" "sleeps_with_map"
        "Sleepable programs may use more than arrays and hash maps."
    kfuncs "..++++++++++++++++++++++++++++++++++" Accepted, "witnesses/congestion.bpf.o" "calls_kernel"
        "Programs may call kfuncs."
    tcp_pacing_writes "......++++++++++++++++++++++++++++++" Accepted, "witnesses/congestion.bpf.o" "writes_rate"
        "Congestion control programs may write a socket's pacing rate and pacing status."
    tcp_limit_writes "..........++++++++++++++++++++++++++" Accepted, "witnesses/congestion.bpf.o" "writes_limit"
        "Congestion control programs may write `snd_cwnd_stamp` and `app_limited`."
    objects_need_gpl ".........+++++++++++++++++++++++++++" Refused, "witnesses/untrusting.bpf.o" "looks_into_task"
        "Only programs with a GPL-compatible licence may access kernel objects."
    fastcall "...............+++++++++++++++++++++" Accepted, "witnesses/walks.bpf.o" "spilled_around_fast_call"
        "Spills around fastcall helper calls are removed, together with their stack."
    any_memory_as_key "..--.....+++++++++++++++++++++++++++" Accepted, "witnesses/maps.bpf.o" "reserved_key"
        "Map keys and values may be in any memory."
    objects_as_memory "..--......++++++++++++++++++++++++++" Accepted, "witnesses/traced.bpf.o" "object_as_memory"
        "Helpers that read memory accept a trusted kernel object."
    task_stack_bounded "..++++++++++++++++++++++++++++++++++" Accepted, "witnesses/traced.bpf.o" "stack_of_task"
        "The result of `bpf_get_task_stack` is bounded by the size of the buffer."
    dynptrs_overwritten "..........++++++++++++++++++++++++++" Accepted, "witnesses/maps.bpf.o" "dynptr_twice"
        "A dynptr without a reference may be overwritten."
    private_stacks "..................++++++++++++++++++" Accepted, "witnesses/walks.bpf.o" "large_frames"
        "Functions of tracing programs with much stack get a private stack."
    nested_rcu "-.------.-...............+++++++++++" Accepted, "witnesses/objects.bpf.o" "locks_twice"
        "RCU read-side sections may be nested."
    ranges_are_combined ".............+++++++++++++++++++++++" Accepted, "witnesses/scalars.bpf.o" "exclusive_or"
        "Multiplication and bitwise OR and XOR of two ranges give ranges."
    sums_are_linked ".............+++++++++++++++++++++++" Accepted, "witnesses/numbers.bpf.o" "sum_of_copy"
        "A register is linked with its copy plus a constant."
    masks_are_forked "............+...++......++++++++++++" Accepted, "witnesses/numbers.bpf.o" "sign_mask"
        "A mask made from a sign bit is explored once as all ones and once as zero."
    tail_calls_move_packets "............+.++++++++.............." Refused, "witnesses/moved.bpf.o" "packet_after_tail_call"
        "A tail call invalidates packet pointers, also where it fails."
    overwriting_ends_dynptrs ".........+++++++++++++++++++++++++++"
        Says("cannot overwrite referenced dynptr"),
        "witnesses/apart.bpf.o" "dynptr_stored_over"
        "A store to a dynptr ends it (else: it only changes the bytes)."
    overwriting_ends_slices "-----.....++++++++++++++++++++++++++" Refused, "witnesses/moved.bpf.o" "data_after_overwrite"
        "A store to a dynptr ends its slices, too."
    skb_dynptrs_traced "----------.....+++++++++++++++++++++" Accepted, "witnesses/moved.bpf.o" "dynptr_of_traced"
        "Tracing programs may make dynptrs of sk_buffs."
    tail_calls_end_function "......................++++++++++++++" Refused, "witnesses/maps.bpf.o" "function_left"
        "A successful tail call ends its function, which returns an unknown value."
    loops_repeat_exactly "..........-..+++++++++++++++++++++++" Accepted, "witnesses/walks.bpf.o" "counted_in_stack"
        "A loop is infinite if an iteration changes nothing (else: nothing known to matter so far)."
    single_values_known "........................+.++++++++++" Accepted, "witnesses/scalars.bpf.o" "single_value"
        "A value whose known bits and bounds allow only one value is a constant."
    swaps_known "........................+.++++++++++" Accepted, "witnesses/scalars.bpf.o" "byte_order"
        "A byte swap preserves known bits."
    negations_known "....................++++++++++++++++" Accepted, "witnesses/scalars.bpf.o" "negation"
        "A negation preserves bounds and known bits."
    products_signed "..................++++++++++++++++++" Accepted, "witnesses/scalars.bpf.o" "product"
        "Multiplication of possibly negative values gives bounds."
    overflows_bounded "....................++++++++++++++++" Accepted, "witnesses/scalars.bpf.o" "overflowing_sum"
        "A sum or difference both ends of which overflow still has bounds."
    linked_sums_synced "........................+..++++++***" Accepted, "witnesses/scalars.bpf.o" "linked_bits"
        "Linked registers also derive bounds from their known bits."
    fields_checked_first "...............................+++++" Refused, "witnesses/insns.bpf.o" "unreached_fields"
        "Unused fields are checked in unreachable insns, too."
    store_fields_checked_first "++.............................+++++" Refused, "witnesses/insns.bpf.o" "unreached_store_field"
        "Unused fields of insns that store a register are checked in unreachable insns, too."
    bits_decide_jumps "............+...++..++++++++++++++++" Accepted, "witnesses/scalars.bpf.o" "disjoint_bits"
        "Two values whose known bits differ are not equal."
    bounds_cross_signs "............+...++..++++++++++++++++" Accepted, "witnesses/numbers.bpf.o" "positive_overlap"
        "Signed bounds that cross zero are refined by unsigned ones that exclude one of the sides."
    half_bounds_cross_signs "................++......+.++++++++++" Accepted, "witnesses/numbers.bpf.o" "positive_overlap_of_half"
        "Signed 32-bit bounds that cross zero are refined by unsigned ones, too."
    callbacks_converge "-----.....++++++++++++++++++++++++++" Refused, "witnesses/walks.bpf.o" "callback_sets"
        "A callback is explored until its states repeat, and zero times (else: once)."
    precision_crosses_calls "..........++++++++++++++++++++++++++" Insns(39), "witnesses/walks.bpf.o" "number_before_call"
        "Precision is tracked into called functions (else: everything before the call is precise)."
    throw_leaves_all "***************..+*..-..+.+*++*+++++" Refused, "witnesses/objects.bpf.o" "throws"
        "Nothing may be held at an exception, in any function (else: only locks in the main one)."
    unions_run_on "..........++++++++++++++++++++++++++" Accepted, "witnesses/traced.bpf.o" "beyond_member"
        "A load inside a union may extend into the next member."
    equal_ids_are_paired ".........+++++++++++++++++++++++++++" Refused, "witnesses/maps.bpf.o" "other_value"
        "Ids are compared even where registers are equal."
    exceptions "...........+++++++++++++++++++++++++" Refused, "witnesses/globals.bpf.o" "names_callback"
        "A program may name an exception callback (else: func info is checked after functions are found)."
    timers_under_rcu "-------------........+++++++++++++++" Accepted, "witnesses/timers.bpf.o" "acquires"
        "The callback of a timer is an RCU section, in sleepable programs too."
    kfuncs_want_trust "---------------.........~..+++++++++" Refused, "witnesses/trusting.bpf.o" "copies_to_null"
        "All kfuncs want trusted arguments (else: those with a flag)."
    flexible_arrays_untrusted "----.-------............~..........." Accepted, "witnesses/walked.bpf.o" "beyond_member_in_flexible_array"
        "Pointers in the elements of a flexible array are not trusted."
    flexible_arrays_run_on "----.-------............?..........." Accepted, "witnesses/walked.bpf.o" "beyond_member_in_flexible_array"
        "A load inside an element of a flexible array may extend into the next member."
    syscall_helpers_sleep "----------..+....+......~.....+...++" Refused, "witnesses/syscalls.bpf.o" "closes"
        "The helpers for system calls and for finding types sleep."
    rcu_outlives_section "-.------.-.........................+" Accepted, "witnesses/objects.bpf.o" "used_after_section"
        "The end of an RCU section has no effect in programs that run under RCU."
    writes_user_memory "++++++++++++++++++++++++.+++++++++++" Accepted, "witnesses/traced.bpf.o" "writes_user"
        "Probes may write user memory (else: the kernel is locked down)."
    helper_accesses_keep_objects "+++++.............+-----------------" Accepted, "witnesses/traced.bpf.o" "object_in_stack"
        "A helper that may write the stack preserves pointers to kernel objects there."
    self_sums_linked ".............++++.++++++.++++......." Accepted, "witnesses/numbers.bpf.o" "added_to_itself"
        "A value added to itself stays linked, by the constant that it becomes."
    divisions_bounded "...........................+++++++++" Accepted, "witnesses/scalars.bpf.o" "remainder_of_constant"
        "Division and remainder by a constant give bounds."
    int_pointers_in_ctx ".......+++++++++++++++++++++++++++++" Accepted, "witnesses/traced.bpf.o" "pointer_to_number"
        "A pointer to a scalar among a function's arguments is a scalar (else: only one to bytes that no typedef names)."
    other_pointers_in_ctx "...............................+++++" Accepted, "witnesses/traced.bpf.o" "pointer_to_function"
        "A pointer to anything but a struct among a function's arguments is a scalar."
    constants_compared ".......+++++++++++++++++++++++++++++" Accepted, "witnesses/walks.bpf.o" "constant_to_range"
        "A constant compared with a 64-bit range ends its loop (else: no claim)."
    long_walks_alike ".+++...++.+++++++++++++++++++++....." Accepted,
        "bench/heapsort.bpf.o" "heapsort"
        "Programs with more than half the insn limit end as here (else: no claim)."
    void_fields_read "....................++++++++++++++++" Accepted, "witnesses/pointers.bpf.o" "void_read"
        "Fields that point to scalars or unknown types may be read."
    may_goto_nowhere "..................++++++++++++++++++" Accepted, "witnesses/insns.bpf.o" "may_goto_next"
        "A `may_goto` may target the next insn."
    any_sums_linked "........................+..+++++++++" Accepted, "witnesses/linked.bpf.o" "narrow_difference"
        "32-bit sums, sums with negative constants, and differences are linked, too."
    constants_outside_differ "..........++++++++++++++++++++++++++" Accepted, "witnesses/numbers.bpf.o" "constant_below_range"
        "A constant outside of the range of a number differs from it, and decides as the first operand, too."
    percpu_kptr_tag "...........+++++++++++++++++++++++++" Accepted, "witnesses/counted.bpf.o" "loads_percpu"
        "A tag tells pointers to objects of each CPU in map values."
    same_number_decides ".........................+++++++++++" Accepted, "witnesses/same.bpf.o" "same_equal"
        "A comparison of a register with itself is decided."
    offsets_are_bounds "...............................+++++" Refused, "witnesses/pointers.bpf.o" "value_less_constant"
        "A constant added to a pointer is part of its bounds."
    tail_calls_may_leave "-------+.-...............+++++++++++" Refused, "witnesses/edges.bpf.o" "left_before_write"
        "What follows a tail call in its function is not certain to be written."
    ended_objects_read "-----------........................+" Accepted, "witnesses/ended.bpf.o" "plain_read_after"
        "Objects of the program's own may be read after the RCU section in which they were found."
    sections_end_borrowing "-----------.+....+............+...+*" Refused, "witnesses/ended.bpf.o" "node_read_after"
        "After an RCU section, nodes that were found in it are no longer borrowed."
    percpu_objects_apart "-----------.+....+............+...++" Refused, "witnesses/ended.bpf.o" "plain_into_percpu"
        "Only per-CPU objects may be stored where a per-CPU object is expected."
    acquires_whole_objects "-----------......................+++" Refused, "witnesses/ended.bpf.o" "acquired_inside"
        "bpf_refcount_acquire takes no pointer to the middle of an object."
    borrowing_outlived "-----------...................-...+."
        Says("verifier bug: allocated object must have a referenced id"),
        "witnesses/ended.bpf.o" "node_read_after_lock"
        "The protection that a spin lock gives ends before what was borrowed under it is taken back."
    synced_keep_ids "----.-------...****-...+++++++++++++" Accepted, "witnesses/edges.bpf.o" "synced_twice"
        "A scalar that is narrowed by a linked one keeps its id."
    xdp_stores_read "-----..++...+...++.....+++++++++++++" Accepted, "witnesses/edges.bpf.o" "stored_from_constants"
        "bpf_xdp_store_bytes only reads the bytes that it stores."
    helper_outputs_seen ".......................+++++++++++++" Refused, "witnesses/outputs.bpf.o" "object_into_constants"
        "What bpf_snprintf, bpf_read_branch_records, bpf_get_stack write is seen as written."
    sysctl_names_seen "...................+++++++++++++++++" Refused, "witnesses/outputs.bpf.o" "name_into_constants"
        "What bpf_sysctl_get_name writes is seen as written."
    syncookies_of_nothing "------....++++++++++++++++++++++++++" Accepted, "witnesses/outputs.bpf.o" "syncookie_of_nothing"
        "A SYN cookie may be made of a header of no size."
    cookies_of_null "---.......++++++++++++++++++++++++++" Accepted, "witnesses/outputs.bpf.o" "cookie_of_no_socket"
        "The socket whose cookie is asked for may be NULL."
    xchg_under_lock "...............................+++++" Accepted, "witnesses/locked.bpf.o" "exchanged_under_lock"
        "bpf_kptr_xchg may be called while a spin lock is held."
    streams_under_lock "------------------+---.....+++++++++" Accepted, "witnesses/locked.bpf.o" "printed_under_lock"
        "Text may be written to a program's stream while a spin lock is held."
    globals_sleep_like_callers "-------------..............-..-....+" Refused, "witnesses/workers.bpf.o" "called_by_callback"
        "A global function may sleep if a callback that may sleep calls it."
    packet_moves_deduced "...............................++++." Refused, "witnesses/edges.bpf.o" "eights_checked_beyond"
        "All bounds of a packet pointer are deduced anew after a constant was added."
    recursion_refused_first "-----------------.-..--..-.--..*+*++" Insns(0), "witnesses/insns.bpf.o" "unreached_recursion"
        "No function may be recursive, even in unreachable code."
    dropped_links_leave_constants ".............++++.++++++.+++++......" Refused, "witnesses/pointers.bpf.o" "forgotten_large_sum"
        "A scalar whose link with a sum is dropped keeps the constant of the sum."
    reads_are_marked "***********+++++++++++.............." Insns(46), "witnesses/reads.bpf.o" "argument_not_read"
        "A saved state needs what is read on the paths from it (else: what may be read)."
    dead_registers_ignored "----------.........+++++++++++++++++" Insns(21), "witnesses/objects.bpf.o" "set_in_rounds"
        "Dead registers are not compared, in unfinished loops either."
    globals_when_called "...........+++++++++++++++++++++++++" Accepted, "witnesses/walks.bpf.o" "wrong_not_called"
        "A global function is verified after the main one, if called (else: before it, always)."
    objects_are_paired "..........++++++++++++++++++++++++++" Insns(56), "witnesses/walks.bpf.o" "other_socket"
        "A pointer to an object covers one to another object (else: only the same one)."
    results_are_precise "...........+++++++++++++++++++++++++" Insns(44), "witnesses/walks.bpf.o" "other_result"
        "The return value of a program must be precise."
    zeros_beside_spills "...........+++++++++++++++++++++++++" Insns(36), "witnesses/reads.bpf.o" "zeros_beside_number"
        "Zeros next to a spilled 4-byte scalar stay zeros."
    fib_lookup_writes "++++++++++++++++++.....+++++++++++++" Refused, "witnesses/maps.bpf.o" "route_overwrites"
        "`bpf_fib_lookup` is known to write its argument."
    dead_forgotten_at_once "..........-....................+++++" Says("old state: R10=fp0"), "witnesses/walks.bpf.o" "loop_without_end"
        "Dead registers and half slots are dropped before a state is saved (else: after)."
    half_dead_spills_kept "----.--------------------------...++" Insns(34), "witnesses/walks.bpf.o" "half_of_slot"
        "A spilled register is dropped only if no half of its slot is read again."
    jumps_decided_first "----------------------.........+++++" Insns(33), "witnesses/walks.bpf.o" "read_where_never"
        "Jumps decided by constants and constant maps become unconditional beforehand."
    single_ids_forgotten "----------.................+++++++++" Insns(50), "witnesses/walks.bpf.o" "other_links"
        "An unshared scalar id is dropped before a state is saved, and a fill assigns a new one."
    widening_ignores_ids "----------.................+++++++++" Accepted, "witnesses/newer.bpf.o" "linked_in_turn"
        "A scalar that a turn of an iterator only links with another is not widened."
    maps_not_null "............+..+++.+++++++++++++++++" Accepted, "witnesses/null.bpf.o" "map"
        "Maps are known not to be NULL, like map values and sockets."
    memory_not_null "..........++++++++++++++++++++++++++" Accepted, "witnesses/null.bpf.o" "ring_memory"
        "Memory and trusted objects are known not to be NULL, like map values and sockets."
    halves_of_pointers_decide "++++++++++++.++++.++++++++++++.+++.." Accepted, "witnesses/null.bpf.o" "half_of_map_value"
        "A comparison of the lower half of a pointer that is not NULL with zero is decided."
    allocations_fit "...................................+" Refused, "witnesses/pointers.bpf.o" "reserved_negative"
        "The size of a ring buffer reservation has 32 bits."
    dead_dynptrs_compared "-.---..........................+++++" Insns(63), "witnesses/objects.bpf.o" "dead_dynptr"
        "A saved state keeps dynptrs that are not used again."
    bounds_repaired "..........++++++++++++++++++++++++++" Accepted, "witnesses/pointers.bpf.o" "contradiction"
        "Contradictory bounds are reset."
    lookups_of_no_address ".............+++++++++++++++++++++++" Accepted, "witnesses/lookups.bpf.o" "tcp_of_no_address"
        "A socket lookup may have an address of zero bytes."
    numbers_at_the_end "....+...+.++++++++++++++++++++++++++" Accepted, "witnesses/pointers.bpf.o" "last_array"
        "A struct may end in an array of scalars of any length."
    jumps_keep_bounds "...........+++++++++++++++++++++++++" Accepted, "witnesses/halves.bpf.o" "wide_after_half"
        "A 32-bit comparison keeps 64-bit bounds, and vice versa (else: they are recomputed)."
    numbers_plus_arena "-------------....+......+....+++++++" Accepted, "witnesses/arena.bpf.o" "number_plus_pointer"
        "An arena pointer may be added to a scalar."
    arena_ops_alike "-------------......................+" Refused, "witnesses/arena.bpf.o" "pointer_or_number"
        "An insn that computes with an arena pointer on one path must do so on all."
    arena_loads_extend "-------------.........++++++++++++++" Accepted, "witnesses/arena.bpf.o" "signed_load"
        "Sign-extending loads from an arena are supported."
    set_retval_checked "-----............................+++" Refused, "witnesses/calls.bpf.o" "dev_positive"
        "The argument of `bpf_set_retval` and the result of `bpf_get_retval` are 0 or an error."
    objects_below_frame "----------....................+...++" Refused, "witnesses/places.bpf.o" "iterator_above_stack"
        "Iterators and saved flags are not looked up above the frame."
    probes_change_registers "......................++.+++++++++++" Accepted, "witnesses/probes.bpf.o" "uprobe_register"
        "Probes may change the registers of the probed function."
    tracepoints_sleep "................................++++" Accepted, "witnesses/sleeping.bpf.o" "raw_enter"
        "Tracepoint programs may be sleepable (if they name a tracepoint: one of system calls)."
    struct_ops_awake "++++++****.........................."
        Says("Only fentry/fexit/fmod_ret and lsm programs can be sleepable"),
        "witnesses/congestion.bpf.o" "sleeps"
        "struct_ops programs may not be sleepable."
    tracing_sleeps "++++++++++.........................." Accepted, "witnesses/sleeping.bpf.o" "btf_switch"
        "BTF tracing programs may be sleepable, whatever they attach to."
    callbacks_are_loops "-.---......----..........+++++++++++" Insns(38_725),
        "programs/hostile.bpf.o" "back_edges"
        "A call with a callback is a loop: what its iterations need is propagated between them."
    contradictions_decide "...............................+++++" Accepted, "witnesses/wrapped.bpf.o" "nothing_left"
        "A jump is decided if one of its sides would leave no value for an operand."
    halves_narrow "...............................+++++" Accepted, "witnesses/wrapped.bpf.o" "half_narrows"
        "The lower half refines the bounds of a small value (else: replaces them)."
    ranges_wrap ".................................+++" Accepted, "witnesses/wrapped.bpf.o" "range_wraps"
        "A scalar and its lower half have one range each, which may wrap (else: bounds)."
    signed_fills_linked "-----------..+++++++++++++++++.++..." Accepted, "witnesses/wrapped.bpf.o" "filled_with_sign"
        "Part of a spilled scalar stays linked with it, even if sign-extended."
    frames_of_sixteen ".............+++++++++++++++++++++++" Accepted, "witnesses/walks.bpf.o" "frames"
        "Frames of JIT-compiled programs are rounded to 16 bytes, not to 32."
    targets_checked_first "+++++++++++++++....................."
        Says("inet_accept() is not modifiable"),
        "witnesses/traced.bpf.o" "target_and_opcode"
        "The attach target is checked before any insn."
    constants_are_whole ".......++.++++++++++++++++++++++++++" Refused, "witnesses/insns.bpf.o" "into_constant"
        "No jump may lead into a 16-byte constant, reachable or not (else: if reachable)."
    arguments_loaded_whole "............+.++++++++++++++++++++++" Refused, "witnesses/traced.bpf.o" "byte_of_argument"
        "A pointer among a function's arguments is loaded as a whole (else: a part is taken for it)."
    alu_offsets_checked "+++++++++++.+...++..++++++++++++++++" Refused, "witnesses/insns.bpf.o" "negative_offset_sum"
        "Arithmetic insns have no negative offset."
    references_checked_first "---------........................+++"
        Says("release kfunc bpf_task_release expects referenced PTR_TO_BTF_ID passed to R1"),
        "witnesses/objects.bpf.o" "releases_stack"
        "What a kfunc releases must be a reference, before it must be of the right type."
    halves_and_wholes "...........+++++++++++++++++++++++++" Accepted, "witnesses/older.bpf.o" "half_of_sign"
        "The bounds of a scalar and of its lower half refine each other (else: where one is made from the other)."
    bits_reach_halves ".......+++++++++++++++++++++++++++++" Accepted, "witnesses/older.bpf.o" "half_of_few"
        "Bits that the bounds of a scalar tell are known in its lower half, too."
    constants_into_ctx "..........++++++++++++++++++++++++++" Accepted, "witnesses/older.bpf.o" "constant_into_context"
        "An insn may store a constant into the context (else: only a register)."
    constant_zeros_known "..........++++++++++++++++++++++++++" Accepted, "witnesses/older.bpf.o" "zero_among_zeros"
        "A constant zero stored at a variable offset leaves zeros as zeros (else: only a register's)."
    locks_while_sleeping "***........+++++++++++++++++++++++++" Accepted, "witnesses/older.bpf.o" "lock_while_sleeping"
        "Sleepable programs may use maps with locks."
    queues_while_sleeping "---..........+++++++++++++++++++++++" Accepted, "witnesses/older.bpf.o" "queue_while_sleeping"
        "Sleepable programs may use queues and stacks."
    tries_while_sleeping "-.-..............................+++" Accepted, "witnesses/older.bpf.o" "trie_while_sleeping"
        "Sleepable programs may use LPM tries."
    targets_must_return "............+..+++++++++++++++++++++" Refused, "witnesses/older.bpf.o" "never_returns"
        "fexit and fmod_ret programs may not attach to functions that never return."
    records_released_whole "..++++++++++++++++++++++++++++++++++" Refused, "witnesses/older.bpf.o" "record_inside"
        "A ring buffer's record is released by its first byte."
    two_references_passed ".................................+++" Accepted, "witnesses/older.bpf.o" "two_records"
        "A call may be passed two referenced pointers."
    programs_while_sleeping "-.-........................+++++++++" Accepted, "witnesses/older.bpf.o" "programs_while_sleeping"
        "Sleepable programs may use arrays of programs."
    sixteen_frames ".................................+++" Accepted, "witnesses/older.bpf.o" "nine_deep"
        "Sixteen functions may be in each other (else: eight)."
    dynptrs_guarded "****-....++++++++++++++++++++++++++." Refused, "witnesses/older.bpf.o" "dynptr_read_over"
        "A helper may not store to a dynptr in the stack (else: the dynptr ends)."
    no_packet_loads_in_callbacks "..---.......+....+............+...++"
        Says("cannot use BPF_LD_[ABS|IND] within callback"),
        "witnesses/older.bpf.o" "packet_load_in_callback"
        "Callbacks may not have legacy packet loads."
    direct_values_alike ".........+++++++++++++++++++++++++++" Accepted, "witnesses/older.bpf.o" "same_lock"
        "Two insns that name a variable name the same lock."
    storage_of_null "--........++++++++++++++++++++++++++" Accepted, "witnesses/older.bpf.o" "storage_of_null"
        "The task, socket or inode whose storage is looked up may be NULL."
    null_to_helpers_is_precise "............+....+............+...++" Refused, "witnesses/null.bpf.o" "number_for_null"
        "NULL that a helper is given is precise (else: another number may take its place)."
    null_to_kfuncs_is_precise "-----------........................+" Refused, "witnesses/newer.bpf.o" "number_for_no_task"
        "NULL that a kfunc is given is precise."
    several_argument_tags "-----------..+++++++++++++++++++++++" Accepted, "witnesses/nulls.bpf.o" "two_tags"
        "An argument may have several tags."
    null_to_functions_is_precise "----.--............................+" Refused, "witnesses/nulls.bpf.o" "number_for_no_memory"
        "NULL that a global function is given is precise."
    sums_keep_origin "....+...+...+....+............+.++++" Refused, "witnesses/pointers.bpf.o" "frame_of_sum"
        "The sum of a number and a pointer has the frame and the reference of the pointer."
    clones_overwritten "----------.....................+++++" Accepted, "witnesses/newer.bpf.o" "clone_overwritten"
        "A dynptr may be overwritten if another one holds its reference."
    unwritten_covers "----------.................+++++++++" Insns(23), "witnesses/newer.bpf.o" "unwritten_in_rounds"
        "A register that a saved state has not written covers any, also where a loop comes back."
    thrown_in_functions_is_result "---------------...-..-.....-..-+++++" Refused, "witnesses/newer.bpf.o" "thrown_by_function"
        "What a global function throws must be a result that the program may have."
    acquiring_may_fail "------------*....+............+...++" Refused, "witnesses/newer.bpf.o" "acquires_what_is_gone"
        "A reference to an object that is only kept by RCU may be refused, with NULL."
    slice_sizes_precise "----------.........................+" Refused, "witnesses/newer.bpf.o" "larger_slice"
        "The size of a slice without a buffer is precise."
    untrusted_sums_tracked "--------------------..........+.++++" Refused, "witnesses/newer.bpf.o" "adds_untrusted"
        "A number to which untrusted memory is added is a pointer (else: the number it was)."
    rounds_are_precise "-----..--.....................+...++" Refused, "witnesses/newer.bpf.o" "more_rounds"
        "The arguments of helpers with callbacks are as precise before each call of the callback."
    null_or_memory_passed "....++++++++++++++++++++++++++++++++" Accepted, "witnesses/null.bpf.o" "value_or_null"
        "Helpers that take NULL take pointers that may be NULL (else: only what is known)."
    path_buffers_read "++++++++.+.........................." Refused, "witnesses/older.bpf.o" "path_into_nothing"
        "The buffer of `bpf_d_path` must be written before."
    null_buffers_accessed ".....++..+++.+++..++++++.+.........." Accepted, "witnesses/null.bpf.o" "unchecked_buffer"
        "Buffers of iterators may be accessed without a check for NULL."
    flexible_lookups_may_fail "****+*******+++***......+.....+.++++" Refused, "witnesses/older.bpf.o" "lookup_in_flexible"
        "A lookup in an inner array of any size may fail, with a small key too."
    sum_ids_are_own ".............++++.++++++.++++......." Accepted, "witnesses/linked.bpf.o" "sums_of_others"
        "The id of a sum is compared apart from that of what it was made from."
    workqueues_in_place "-------------........+++++++++++++++" Refused, "witnesses/members.bpf.o" "workqueue_somewhere"
        "A work queue must be at a constant offset."
    spilled_zeros_read "-----------........................+" Accepted, "witnesses/newer.bpf.o" "zero_somewhere"
        "A load at a variable offset over spilled zeros gives zero (else: only over zeros stored as data)."
    read_locks_denied "-----.....++++++++++++++++++++++++++" Refused, "witnesses/counted.bpf.o" "locks"
        "No program may be attached to __rcu_read_lock (else: only not to functions like migrate_disable)."
    refcounts_disabled "----------+........................." Refused, "witnesses/counted.bpf.o" "acquires_counted"
        "There are references to count, but bpf_refcount_acquire may not be called yet."
    buffer_moves_ignored "...............................+...." Accepted, "witnesses/said.bpf.o" "value_moved_before"
        "Accesses to buffers are checked by the offset of the insn alone, not by that of the pointer."
    exceptions_leave_loops "---------------...-.+*+++++*++*+++++" Refused, "witnesses/newer.bpf.o" "throws_in_loop"
        "An exception may not end a loop in which no state was saved."
    null_is_no_argument "-----------......................+++" Refused, "witnesses/newer.bpf.o" "null_for_nonnull"
        "NULL itself is not passed to functions that want no NULL."
    casts_branch ".................................+++" Insns(29), "witnesses/newer.bpf.o" "cast_and_check"
        "The NULL result of a cast of an acquired socket is a branch of its own."
    registers_check_null "..............................++++++" Accepted, "witnesses/older.bpf.o" "null_in_register"
        "A comparison with a register that is zero checks for NULL, like one with zero."
    null_registers_precise "****+*******+++***************+...++" Refused, "witnesses/older.bpf.o" "null_in_either"
        "A register that checks for NULL must be precise."
    dead_are_linked "****.*******+..+++++++++.+.........." Refused, "witnesses/copies.bpf.o" "dead_copies_are_linked"
        "Registers that nothing reads any more are among the linked ones, too."
    plain_covers_linked "++++++++++.......+......+..+++++++++" Insns(24), "witnesses/copies.bpf.o" "two_values_then_one"
        "Two scalars without links cover two that are linked with each other (else: nor does one cover what is linked with an offset)."
    fetches_are_loads "**......+...+....+........++++++++++" Refused, "witnesses/older.bpf.o" "fetched_place"
        "What an atomic insn fetches from the stack is as precise as what was there."
    throws_leave_callers "-----------....................+++++" Refused, "witnesses/newer.bpf.o" "throws_where_never"
        "A call of a global function with `bpf_throw` in it, or in its callees, may hold no reference, lock or section."
    arena_pages_awake "-------------..............+++++++++" Accepted, "witnesses/newer.bpf.o" "pages_under_lock"
        "The kfuncs for pages of arenas do not sleep."
    slices_end_with_dynptr "----------.......................+++" Refused, "witnesses/newer.bpf.o" "slice_of_clone_after_submit"
        "Slices of a dynptr, and of its clones, are gone when it is submitted or overwritten."
    dynptr_pointers_spilled "------.............................+" Accepted, "witnesses/newer.bpf.o" "reads_spilled_dynptr"
        "The pointer to a callback's dynptr may be spilled."
    res_locks_in_tracing "-------------------................+" Accepted, "witnesses/newer.bpf.o" "res_lock_in_kprobe"
        "Tracing programs may use maps with a bpf_res_spin_lock."
    ctx_pointers_move "...............................+++++" Accepted, "witnesses/newer.bpf.o" "moved_context"
        "A context that is not rewritten may be accessed through a pointer moved by a constant."
    syscall_ctx_is_memory "---............................+++++" Accepted, "witnesses/newer.bpf.o" "somewhere_in_context"
        "The context of a syscall program is memory, also for helpers and at unknown offsets."
    ctx_is_no_memory "--*****---------------..-......+++++" Refused, "witnesses/newer.bpf.o" "gives_context"
        "Functions may not get the context of other programs as memory."
    dead_stack_ignored "----------+---------...........+++++" Insns(66), "witnesses/newer.bpf.o" "dead_store_in_rounds"
        "Stack that is dead in a saved state is not compared, in unfinished loops either."
    deep_stacks_refused_first "--------.--------.-..--..-.--..*+*++" Insns(0), "witnesses/newer.bpf.o" "unreached_stack_given_down"
        "Stack addresses may not be passed down through too many functions, even in unreachable code."
    moves_forget_end "...............................+++++" Refused, "witnesses/newer.bpf.o" "moved_from_end"
        "A packet pointer that is moved is no longer known to be at the packet's end, or beyond."
    checked_keep_ids ".................................+++" Insns(45), "witnesses/newer.bpf.o" "two_values"
        "A pointer that was checked for NULL keeps its id."
    unknown_halves_extended "+++++++++++++......................." Accepted, "witnesses/settled.bpf.o" "half_shifted_too_far"
        "A 32-bit quotient, remainder or shift by a known amount leaves the upper half zero, if unknown otherwise."
    const_void_in_ctx "...................+++++++++++++++++" Accepted, "witnesses/settled.bpf.o" "traces_const_void"
        "Pointers to const void in the context are numbers, like those to void."
    evicted_states_stay "+++++++++++++++++++................." Peak(40), "witnesses/settled.bpf.o" "rounds_of_two_paths"
        "A state removed from its list before all its paths end counts among `peak_states` to the end."
    loops_compare_numbers "----------.....----........+++++++++" Insns(85), "witnesses/granted.bpf.o" "raises_flags"
        "In loops, stack is compared by what it may hold (else: each byte must have been stored in the same way)."
    data_matches_numbers ".............+++++++++++++++++++++++" Insns(54), "witnesses/mixed.bpf.o" "number_then_data"
        "Data, and stack that was never written, match a spilled number that does not matter."
    linked_are_precise "..........++++++++++++++++++++++++++" Refused, "witnesses/mixed.bpf.o" "copy_bounded"
        "Registers that a jump bounds together are precise together."
    raw_tp_arguments "-----......................+++++++++" Accepted, "witnesses/granted.bpf.o" "counts_arguments"
        "Programs of BTF tracepoints may call `bpf_get_func_arg` and `bpf_get_func_arg_cnt`."
    long_histories_saved "............++++++++++++++++++++++++" Peak(9), "bench/nested.bpf.o" "nested"
        "A state is saved wherever the history of a path has become long (else: and none is forced in an unfinished loop)."
    backedges_counted "----------+--------.++++++++++++++++" Peak(3), "witnesses/objects.bpf.o" "goes_round"
        "States in which loops came back count among `peak_states`."
    casts_to_void "---------...........++++++++++++++++" Accepted, "witnesses/newer.bpf.o" "cast_number_to_void"
        "`bpf_rdonly_cast` may cast to void."
    any_number_linked "++++++++++++.++....................." Accepted, "witnesses/several.bpf.o" "many_copies"
        "A jump that bounds a scalar bounds all its copies (else: the first six registers and slots)."
    loops_only_named "++++++++++.........................." Says("infinite loop detected at insn 4"), "witnesses/several.bpf.o" "repeats"
        "The report of an infinite loop does not show the two states."
    protected_called_in_rcu "-----------...........++++++++++++++" Insns(6), "witnesses/several.bpf.o" "begun_outside"
        "What RCU protects is only called within a section (else: iterators may begin outside)."
    immediates_tracked "++..+..+++++++++++++++++++++++++++++" Accepted, "witnesses/apart.bpf.o" "immediate_stored"
        "A constant that an insn stores into the stack is known when it is loaded (else: only a register's)."
    narrow_spills_kept "*+..+++*++++++***+*+++*++*++*++*+*++" Accepted, "bench/chacha.bpf.o" "chacha"
        "A number that is spilled with fewer than eight bytes is known when it is loaded."
    functions_tracked "**..+..++++++++++++++++++++++++++++*" Accepted, "witnesses/nulls.bpf.o" "number_for_no_memory"
        "Precision is tracked in programs of several functions (else: all of their numbers are precise)."
    marks_forgotten "*+..+..*++++++***+*+++*++*++*++*+*++" Accepted, "bench/horspool.bpf.o" "horspool"
        "Marks of precision are forgotten when a state is saved (else: they stay, are saved with it, and what has them must be covered)."
    stretches_walked_back ".+..+..++.++++++++++++++++++++++++++" Refused, "witnesses/marks.bpf.o" "from_round_with_jump"
        "Backtracking goes over all insns since a state was saved (else: only to the one where it was saved, wherever the path comes by that)."
    first_rounds_walked_back ".+..+.....++++++++++++++++++++++++++" Refused, "witnesses/marks.bpf.o" "from_first_round"
        "Backtracking goes over the first round of a loop that begins where a state was saved (else: not if the only jump since then is the one back)."
    sources_precise "++..+++++++*************************" Insns(50), "witnesses/marks.bpf.o" "added_to_zero"
        "What is combined with a number that is marked as precise in the current state becomes precise at once."
    stack_pointers_followed "...........+++++++++++++++++++++++++" Insns(33), "witnesses/marks.bpf.o" "stored_by_copy"
        "Backtracking follows a value through the stack by any pointer (else: by r10; what another stores is precise at once)."
    rcu_tags_needed "---------+.........................." Says("no vmlinux btf rcu tag support for kfunc bpf_rcu_read_lock"),
        "witnesses/apart.bpf.o" "locks"
        "RCU sections need a kernel whose BTF tags the pointers that RCU protects."
    half_extensions_set_bits "-----------.++++++++++++++++++++++++" Accepted, "witnesses/early.bpf.o" "half_extended"
        "Sign-extending the lower half of a number also updates its known bits (else: they stay as they were)."
    half_bounds_number "-----------.+..+++++++++++++++++++++" Accepted, "witnesses/early.bpf.o" "half_bounds_number"
        "A small number whose lower half is not negative has the bounds of that half."
    stack_addresses_skipped "++++++++++..++++++++++++++++++++++++" Accepted, "witnesses/early.bpf.o" "half_of_callees_frame"
        "Where the address of the stack came from is not looked for (else: functions that make a number of it are refused)."
    packets_loaded_unsigned "***********.++++++++++++++++++++++++" Refused, "witnesses/early.bpf.o" "packet_loaded_signed"
        "The address of a packet may not be loaded from the context with its sign."
    results_at_socket_hooks "......+++++++++++++++++++++++++++***" Accepted, "witnesses/calls.bpf.o" "bind_unknown"
        "Programs of cgroup hooks for sockets and their addresses may read and set the result."
    acquires_may_fail "---------.++++++++++++++++++++++++++" Accepted, "witnesses/apart.bpf.o" "acquired_or_null"
        "`bpf_task_acquire` and `bpf_cgroup_acquire` may return NULL."
    stack_comparisons_skipped "++++++++++..+..+++++++++++++++++++++" Accepted, "witnesses/compared.bpf.o" "compared_in_callee"
        "Where the address of the stack came from is not looked for after a comparison with a precise number, either."
    regs_contexts_named "++..++++++++++++++++++++++++++++++++" Accepted, "witnesses/contexts.bpf.o" "regs_by_typedef"
        "A function may declare the context of a kprobe program as pt_regs (else: only as a struct with the name bpf_user_pt_regs_t)."
    kernel_contexts_named "..........++++++++++++++++++++++++++" Accepted, "witnesses/contexts.bpf.o" "packet_by_sk_buff"
        "A function may declare the context of a packet program as the kernel's struct: sk_buff, xdp_buff."
}

#[cfg(test)]
mod tests;

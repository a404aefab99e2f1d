//! What the verifiers of other kernels do otherwise than that of 6.18.44, as named values.
//!
//! A row is a rule, the asked kernels where it holds, and its witness: a program of the corpus
//! whose verdict shows it. `cargo xtask` holds every row against what the kernels answered
//! (`tests/kernels/asked`). A release that was not asked has the values that the asked ones around
//! it have both.
//!
//! Source: the kernels' answers; the witness of each row, and its log.

/// An asked kernel: what its release begins with, and the numbers that it begins to hold at.
struct Column {
    release: &'static str,
    from: [u32; 3],
}

const fn column(release: &'static str, major: u32, minor: u32, patch: u32) -> Column {
    Column { release, from: [major, minor, patch] }
}

/// The kernels, in the order of the rows' marks.
const COLUMNS: [Column; 12] = [
    column("5.10.0-46-", 5, 10, 0),
    column("6.1.0-56-", 6, 1, 0),
    column("6.12.117+", 6, 12, 0),
    column("6.16.12+", 6, 16, 0),
    column("6.17.13+", 6, 17, 0),
    column("6.18.15+", 6, 18, 0),
    column("6.18.44", 6, 18, 44),
    column("6.19.14+", 6, 19, 0),
    column("7.0.13+", 7, 0, 0),
    column("7.1.13+", 7, 1, 0),
    column("7.2.12+", 7, 2, 0),
    column("7.3.4+", 7, 3, 0),
];

/// The column of 6.18.44, whose rules all else is written in.
pub(crate) const REFERENCE: usize = 6;

/// What a kernel says of a witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// It is accepted.
    Accepted,
    /// It is refused.
    Refused,
    /// It is walked in so many insns.
    Insns(u64),
    /// It is refused, with this as the last line.
    Says(&'static str),
}

use Shows::{Accepted, Insns, Refused, Says};

/// A rule that does not hold everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// Its name, as the field of [`Behaviours`].
    pub name: &'static str,
    /// What it says.
    pub text: &'static str,
    /// Object and program that show it.
    pub witness: (&'static str, &'static str),
    /// What the kernel says of it where the rule holds, and only there.
    pub shows: Shows,
    marks: &'static str,
}

impl Behaviour {
    /// Whether it holds on a kernel.
    pub fn holds_on(&self, release: &str) -> bool {
        holds(self.marks, column_of(release))
    }

    /// The same where it is known: on a kernel that was asked, or between two that agree.
    pub fn known_on(&self, release: &str) -> Option<bool> {
        let [here, there] = columns_around(release).map(|at| holds(self.marks, at));
        (here == there).then_some(here)
    }

    /// Whether the witness shows it there: on some kernels it is another program, by their types.
    pub fn is_shown_on(&self, release: &str) -> bool {
        matches!(self.marks.as_bytes()[column_of(release)], b'+' | b'.')
    }
}

const fn holds(marks: &str, column: usize) -> bool {
    matches!(marks.as_bytes()[column], b'+' | b'*')
}

/// The column of the release, or of the one before it.
pub(crate) fn column_of(release: &str) -> usize {
    if let Some(at) = COLUMNS.iter().position(|it| release.starts_with(it.release)) {
        return at;
    }
    let numbers = numbers(release);
    COLUMNS.iter().rposition(|it| it.from <= numbers).unwrap_or(0)
}

/// What the releases of the asked kernels begin with between which this one is; twice the same if
/// it was asked, and where there is none on one side.
pub fn asked_around(release: &str) -> [&'static str; 2] {
    columns_around(release).map(|at| COLUMNS[at].release)
}

fn columns_around(release: &str) -> [usize; 2] {
    let at = column_of(release);
    let was_asked = release.starts_with(COLUMNS[at].release);
    let is_older = numbers(release) < COLUMNS[at].from;
    let after = if was_asked || is_older { at } else { (at + 1).min(COLUMNS.len() - 1) };
    [at, after]
}

fn numbers(release: &str) -> [u32; 3] {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    std::array::from_fn(|_| parts.next().and_then(|part| part.parse().ok()).unwrap_or(0))
}

/// What the release of the asked kernel begins with whose rules hold for `release`.
pub fn nearest_asked(release: &str) -> &'static str {
    COLUMNS[column_of(release)].release
}

macro_rules! behaviours {
    ($($name:ident $marks:literal $shows:expr, $object:literal $program:literal $text:literal)*) => {
        /// The rules of one kernel that other kernels do not have, or have otherwise.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Behaviours {
            $(#[doc = $text] pub $name: bool,)*
        }

        /// All of them.
        pub const BEHAVIOURS: &[Behaviour] = &[
            $(Behaviour {
                name: stringify!($name),
                text: $text,
                witness: ($object, $program),
                shows: $shows,
                marks: $marks,
            },)*
        ];

        impl Behaviours {
            const fn of_column(column: usize) -> Behaviours {
                Behaviours { $($name: holds($marks, column),)* }
            }

            /// Whether the rule of that name holds; `None` if there is none.
            pub fn get(&self, name: &str) -> Option<bool> {
                match name {
                    $(stringify!($name) => Some(self.$name),)*
                    _ => None,
                }
            }

            /// Says of a rule whether it holds; a name that is none changes nothing.
            pub fn set(&mut self, name: &str, holds: bool) {
                match name {
                    $(stringify!($name) => self.$name = holds,)*
                    _ => {}
                }
            }

            /// Where both say the same, that; elsewhere what holds on 6.18.44.
            fn between(one: &Behaviours, other: &Behaviours) -> Behaviours {
                let known = Behaviours::reference();
                Behaviours {
                    $($name: if one.$name == other.$name { one.$name } else { known.$name },)*
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

    /// Those of a release (`uname -r`). Of one that was not asked only what the asked ones before
    /// and after it agree on is known; the rest is as on 6.18.44. One before all has what the
    /// oldest has.
    pub fn of_release(release: &str) -> Behaviours {
        let [before, after] = columns_around(release).map(Behaviours::of_column);
        Behaviours::between(&before, &after)
    }
}

impl Default for Behaviours {
    fn default() -> Behaviours {
        Behaviours::reference()
    }
}

// One mark a kernel: `+` if it holds, `.` if not; `*` and `-` are the same where the witness does
// not show it. The kernels: 5.10, 6.1, 6.12, 6.16, 6.17, 6.18.15, 6.18.44, 6.19, 7.0, 7.1, 7.2,
// 7.3. Then what the witness shows, and the witness.
#[rustfmt::skip]
behaviours! {
    sockmaps_changed_by_packets "+++++++++++." Accepted,
        "witnesses/maps.bpf.o" "deletes_socket"
        "Programs that see packets may update and delete elements of sockmaps."
    lsm_hooks_disabled ".+++++++++++" Refused,
        "witnesses/traced.bpf.o" "disabled_hook"
        "Some LSM hooks take no programs."
    file_alloc_hook "+++++++....." Accepted,
        "witnesses/traced.bpf.o" "file_alloc"
        "The LSM hook `file_alloc_security` takes programs."
    syscalls_sleep ".........+++" Accepted,
        "witnesses/traced.bpf.o" "syscall_sleeps"
        "Entries of system calls may sleep and be changed, whether or not errors are injected."
    timers_in_tracing "........++++" Accepted,
        "witnesses/maps.bpf.o" "timer_in_kprobe"
        "Maps with timers and work queues may be used by tracing programs."
    kfunc_results_trusted "---...-.++**" Insns(7),
        "witnesses/schedulers.bpf.o" "reads_queue"
        "Objects that kfuncs return are trusted."
    stores_need_trust "---...-....+" Refused,
        "witnesses/schedulers.bpf.o" "stores_slice"
        "Fields of a kernel object may be changed only by a pointer to it that is trusted."
    scx_kfuncs_by_member "---...-..+++" Refused,
        "witnesses/schedulers.bpf.o" "selects_elsewhere"
        "What a scheduler may call depends on the member of `sched_ext_ops` that it implements."
    scx_slots_by_member "---...-...++" Refused,
        "witnesses/schedulers.bpf.o" "counts_elsewhere"
        "Only where tasks are dispatched may a scheduler count its slots, and cancel."
    kfuncs_in_raw_tp "........++++" Accepted,
        "witnesses/objects.bpf.o" "makes_mask"
        "Raw tracepoints may call the kfuncs of tasks, cgroups and CPU masks."
    no_kfuncs_at_tracepoints "*+..--------"
        Says("calling kernel function cgroup_rstat_updated is not allowed"),
        "witnesses/callers.bpf.o" "tracepoint_calls"
        "Programs at tracepoints and perf events may not call kfuncs."
    kfuncs_in_sock_ops "--.+++++++++" Accepted,
        "witnesses/callers.bpf.o" "sock_ops_calls"
        "Programs of sockets' operations may call the kfuncs that those of cgroups may."
    keys_for_all "-....+++++++" Accepted,
        "witnesses/callers.bpf.o" "syscall_takes_key"
        "Not only programs that trace may call the kfuncs of keys."
    void_global_functions ".........+++" Accepted,
        "witnesses/globals.bpf.o" "calls_void"
        "Global functions may return nothing."
    long_chains_of_globals ".........+++" Accepted,
        "witnesses/globals.bpf.o" "calls_chain"
        "Calls of global functions do not add up to a chain of at most eight frames."
    ld_abs_ends_function ".++...+.++++" Refused,
        "witnesses/walks.bpf.o" "packet_load_ends"
        "A legacy packet load beyond the packet ends its function, which then returns 0."
    var_off_writes_scrub "..+...+.++++" Accepted,
        "witnesses/numbers.bpf.o" "rest_of_overwritten"
        "A store at a variable offset makes data of the rest of a spilled register."
    drops_any_fields "++++++++++.." Accepted,
        "witnesses/objects.bpf.o" "drops_holder"
        "Tracing programs may drop objects with any fields."
    array_lookups_not_null "...+++++++++" Accepted,
        "witnesses/maps.bpf.o" "first_of_array"
        "A lookup in an array with a constant key below its size is never NULL."
    helper_reads_keep_spills "...+++++++++" Accepted,
        "witnesses/maps.bpf.o" "value_read_by_helper"
        "A helper that only reads the stack leaves spilled registers there."
    global_calls_in_preempt_off "...+++++++++" Accepted,
        "witnesses/objects.bpf.o" "calls_in_section"
        "Global functions may be called where preemption is off."
    fmod_ret_tests "..++++++++++" Accepted,
        "witnesses/traced.bpf.o" "changes_test"
        "The kernel's test functions may be changed without error injection."
    ranges_decide_jumps "..++++++++++" Accepted,
        "witnesses/numbers.bpf.o" "two_ranges"
        "A jump that compares two registers is decided by their ranges."
    argument_tags "..++++++++++" Accepted,
        "witnesses/globals.bpf.o" "gives_what_is_there"
        "Tags say what the arguments of a global function are."
    static_calls_under_lock "..++++++++++" Accepted,
        "witnesses/maps.bpf.o" "calls_under_lock"
        "Static functions may be called, and left, while a lock is held."
    pointers_teach_not_null "..++++++++++" Accepted,
        "witnesses/equal.bpf.o" "equals_value"
        "What equals a pointer that is not NULL is not NULL."
    any_pointer_teaches_not_null "...+++++++.." Accepted,
        "witnesses/equal.bpf.o" "equals_context"
        "Any pointer that is not said to be NULL teaches so, not those alone that are known not to be."
    jumps_trim_edges "..++++++++++" Accepted,
        "witnesses/numbers.bpf.o" "not_the_edge"
        "What is not equal to an edge of its range has a smaller one."
    spills_share_ids "..++++++++++" Accepted,
        "witnesses/numbers.bpf.o" "spilled_then_compared"
        "A spilled number is linked with the register that it came from."
    any_number_spilled "..++++++++++" Accepted,
        "witnesses/numbers.bpf.o" "unbounded_spilled"
        "Every number is spilled (else: not those of which nothing is known, and zeros as data)."
    narrow_fills_keep_ranges "..++++++++++" Accepted,
        "witnesses/numbers.bpf.o" "half_of_spilled"
        "Part of a spilled number that is loaded keeps what is known of it."
    narrow_spills_linked "..++++++++++" Accepted,
        "witnesses/numbers.bpf.o" "narrow_spilled"
        "What a jump teaches of a register holds for copies that less than eight bytes hold."
    mov32_links "..++++++++++" Accepted,
        "witnesses/numbers.bpf.o" "narrow_copy"
        "A copy of 32 bits is linked with its source if that has no more."
    cpu_ids_bounded "..++++++++++" Accepted,
        "witnesses/numbers.bpf.o" "cpu_below_limit"
        "The number of the CPU is below that of the possible ones."
    untrusted_kptr_tag "..++++++++++" Refused,
        "witnesses/objects.bpf.o" "stores_task"
        "Pointers in maps have references unless a tag says that they are untrusted."
    loops_closed_by_any_insn "..++++++++++" Accepted,
        "witnesses/walks.bpf.o" "falls_into_loop"
        "A loop may be closed by going on to the next insn."
    addresses_of_functions "..++++++++++" Accepted,
        "witnesses/traced.bpf.o" "address_of_function"
        "Addresses of the kernel's functions may be taken."
    lsm_results_bounded "..++++++++++" Refused,
        "witnesses/traced.bpf.o" "hook_positive"
        "What an LSM program may return depends on its hook."
    packets_move_in_calls "..++++++++++" Refused,
        "witnesses/globals.bpf.o" "reads_after_pull"
        "Calls of functions that change packet data end what was known of packets."
    kprobes_sleep ".+++++++++++" Accepted,
        "witnesses/traced.bpf.o" "uprobe_sleeps"
        "Probes of user space may sleep."
    binds_pass_ports ".+++++++++++" Accepted,
        "witnesses/traced.bpf.o" "bind_any_port"
        "Programs that bind sockets may let any port pass."
    unused_stack_read ".+++++++++++" Accepted,
        "witnesses/numbers.bpf.o" "stack_not_written"
        "Stack below all that was written may be read."
    globals_take_memory ".+++++++++++" Accepted,
        "witnesses/globals.bpf.o" "gives_memory"
        "Global functions may be given pointers to memory."
    whole_ctx "..++++++++++" Accepted,
        "witnesses/traced.bpf.o" "late_field"
        "Contexts have all fields of 6.18 (else: those that the kernel's BTF has)."
    lsm_hooks_sleep ".+++++++++++" Accepted,
        "witnesses/traced.bpf.o" "hook_sleeps"
        "Programs of most LSM hooks may sleep."
    any_map_while_sleeping ".+++++++++++" Accepted,
        "witnesses/traced.bpf.o" "sleeps_with_map"
        "Programs that sleep may use more than arrays and hash maps."
    kfuncs ".+++++++++++" Accepted,
        "witnesses/congestion.bpf.o" "calls_kernel"
        "Programs may call functions of the kernel that are no helpers."
    tcp_pacing_writes ".+++++++++++" Accepted,
        "witnesses/congestion.bpf.o" "writes_rate"
        "Congestion control may set the pacing rate of a socket, and whether it is paced."
    tcp_limit_writes "..++++++++++" Accepted,
        "witnesses/congestion.bpf.o" "writes_limit"
        "Congestion control may set when the window was set, and whether the application limits it."
    objects_need_gpl "..++++++++++" Refused,
        "witnesses/untrusting.bpf.o" "looks_into_task"
        "Programs look into objects of the kernel only under a licence that the GPL allows."
    fastcall "..++++++++++" Accepted,
        "witnesses/walks.bpf.o" "spilled_around_fast_call"
        "Spills around calls of fast helpers are taken out, and their stack with them."
    any_memory_as_key "..++++++++++" Accepted,
        "witnesses/maps.bpf.o" "reserved_key"
        "Keys and values of maps may be in any memory."
    objects_as_memory "..++++++++++" Accepted,
        "witnesses/traced.bpf.o" "object_as_memory"
        "Helpers that read memory may be given a trusted object of the kernel."
    task_stack_bounded ".+++++++++++" Accepted,
        "witnesses/traced.bpf.o" "stack_of_task"
        "The stack of a task is not longer than the buffer for it."
    dynptrs_overwritten "..++++++++++" Accepted,
        "witnesses/maps.bpf.o" "dynptr_twice"
        "A dynptr without reference may be made anew."
    private_stacks "...+++++++++" Accepted,
        "witnesses/walks.bpf.o" "large_frames"
        "Functions of tracing programs have a stack of their own if it is large."
    nested_rcu ".......+++++" Accepted,
        "witnesses/objects.bpf.o" "locks_twice"
        "Sections under RCU may be nested."
    ranges_are_combined "..++++++++++" Accepted,
        "witnesses/scalars.bpf.o" "exclusive_or"
        "Products and bitwise OR and XOR of two ranges are ranges."
    sums_are_linked "..++++++++++" Accepted,
        "witnesses/numbers.bpf.o" "sum_of_copy"
        "A register is linked with its copy plus a constant."
    masks_are_forked "..+...++++++" Accepted,
        "witnesses/numbers.bpf.o" "sign_mask"
        "A mask made of a sign is walked as all ones, and again as zero."
    tail_calls_end_function ".....+++++++" Refused,
        "witnesses/maps.bpf.o" "function_left"
        "A tail call that succeeds ends its function, which returns any number."
    loops_repeat_exactly "..++++++++++" Accepted,
        "witnesses/walks.bpf.o" "counted_in_stack"
        "A loop is without end if a round changes nothing (else: nothing that matters so far)."
    single_values_known "......++++++" Accepted,
        "witnesses/scalars.bpf.o" "single_value"
        "A number of which bits and bounds leave one value is that value."
    swaps_known "......++++++" Accepted,
        "witnesses/scalars.bpf.o" "byte_order"
        "A change of the byte order keeps what is known of the bits."
    negations_known "....++++++++" Accepted,
        "witnesses/scalars.bpf.o" "negation"
        "A negation keeps what is known of the number."
    products_signed "...+++++++++" Accepted,
        "witnesses/scalars.bpf.o" "product"
        "Products of what may be negative have bounds."
    overflows_bounded "....++++++++" Accepted,
        "witnesses/scalars.bpf.o" "overflowing_sum"
        "A sum of which both ends overflow has bounds; so has a difference."
    linked_sums_synced "......+.++**" Accepted,
        "witnesses/scalars.bpf.o" "linked_bits"
        "What is linked to a number learns its bounds from its bits, too."
    fields_checked_first ".........+++" Refused,
        "witnesses/insns.bpf.o" "unreached_fields"
        "Insns that are not reached may not set fields that they do not use, either."
    store_fields_checked_first "+........+++" Refused,
        "witnesses/insns.bpf.o" "unreached_store_field"
        "The same of insns that store a register."
    bits_decide_jumps "..+.++++++++" Accepted,
        "witnesses/scalars.bpf.o" "disjoint_bits"
        "Numbers are not equal where their known bits differ."
    bounds_cross_signs "..+.++++++++" Accepted,
        "witnesses/numbers.bpf.o" "positive_overlap"
        "Signed bounds that cross zero learn from unsigned ones that miss one of their sides."
    half_bounds_cross_signs "..+...++++++" Accepted,
        "witnesses/numbers.bpf.o" "positive_overlap_of_half"
        "The same for the bounds of the low half."
    callbacks_converge "-.++++++++++" Refused,
        "witnesses/walks.bpf.o" "callback_sets"
        "A callback is walked until its states repeat, and not at all (else: once)."
    precision_crosses_calls "..++++++++++" Insns(39),
        "witnesses/walks.bpf.o" "number_before_call"
        "What must be precise is looked for in functions that were called, too (else: all before is)."
    throw_leaves_all "**+...++++++" Refused,
        "witnesses/objects.bpf.o" "throws"
        "An exception may hold nothing, in whatever function (else: locks only in the main one)."
    unions_run_on "..++++++++++" Accepted,
        "witnesses/traced.bpf.o" "beyond_member"
        "A load below a union may run on into the next member."
    equal_ids_are_paired "..++++++++++" Refused,
        "witnesses/maps.bpf.o" "other_value"
        "States are compared by what ids stand for, also where registers are equal."
    exceptions "..++++++++++" Refused,
        "witnesses/globals.bpf.o" "names_callback"
        "A program may name a function for its exceptions."
    rcu_outlives_section "...........+" Accepted,
        "witnesses/objects.bpf.o" "used_after_section"
        "The end of a section under RCU changes nothing where the program runs in one."
    writes_user_memory "++++++.+++++" Accepted,
        "witnesses/traced.bpf.o" "writes_user"
        "Probes may write to the memory of users (else: the kernel is locked down)."
    helper_accesses_keep_objects "+..---------" Accepted,
        "witnesses/traced.bpf.o" "object_in_stack"
        "A helper that may write the stack leaves pointers to objects of the kernel there."
    self_sums_linked "...+++.+...." Accepted,
        "witnesses/numbers.bpf.o" "added_to_itself"
        "A number added to itself stays linked, by the constant that it becomes."
    divisions_bounded "........++++" Accepted,
        "witnesses/scalars.bpf.o" "remainder_of_constant"
        "A quotient or remainder by a constant has bounds."
    int_pointers_in_ctx ".+++++++++++" Accepted,
        "witnesses/traced.bpf.o" "pointer_to_number"
        "A pointer to a number among a function's arguments is a number."
    linked_are_apart "..*+++.+...." Insns(70),
        "witnesses/walks.bpf.o" "number_or_sum"
        "A number without relations does not cover one that is another plus a constant."
    constants_compared ".+++++++++++" Accepted,
        "witnesses/walks.bpf.o" "constant_to_range"
        "A constant compared with a range of 64 bits ends its loop (else: nothing is said of it)."
    long_walks_alike "+++++++++..." Accepted,
        "bench/heapsort.bpf.o" "heapsort"
        "Walks of more than half of the limit end as here (else: no promise is made of them)."
    void_fields_read "....++++++++" Accepted,
        "witnesses/pointers.bpf.o" "void_read"
        "What a field of the kernel's points to may be read, if it is a number or nothing known."
    may_goto_nowhere "...+++++++++" Accepted,
        "witnesses/insns.bpf.o" "may_goto_next"
        "A `may_goto` may go to the next insn."
    any_sums_linked "......+.++++" Accepted,
        "witnesses/linked.bpf.o" "narrow_difference"
        "Sums of 32 bits, of negative constants, and differences are linked, too."
    same_number_decides ".......+++++" Accepted,
        "witnesses/same.bpf.o" "same_equal"
        "A jump that compares a number with itself is decided."
    offsets_are_bounds ".........+++" Refused,
        "witnesses/pointers.bpf.o" "value_less_constant"
        "A constant that is added to a pointer is part of its bounds."
    recursion_refused_first "--.......+++" Insns(0),
        "witnesses/insns.bpf.o" "unreached_recursion"
        "No function may call itself, also where the walk does not come."
    forgotten_sums_checked "...+++.++..." Refused,
        "witnesses/pointers.bpf.o" "forgotten_large_sum"
        "What was added to a number counts where that is added to a pointer, whatever it is by then."
    reads_are_marked "**+++......." Insns(46),
        "witnesses/reads.bpf.o" "argument_not_read"
        "A saved state needs what was read on the paths from it (else: what may be read)."
    dead_registers_ignored "--.+++++++++" Insns(21),
        "witnesses/objects.bpf.o" "set_in_rounds"
        "Registers that no insn reads any more are not compared, in unfinished loops either."
    globals_when_called "..++++++++++" Accepted,
        "witnesses/walks.bpf.o" "wrong_not_called"
        "A global function is walked after the main one, if it is called (else: before, in any case)."
    objects_are_paired "..++++++++++" Insns(56),
        "witnesses/walks.bpf.o" "other_socket"
        "A pointer to an object covers one to another object (else: the very same alone)."
    results_are_precise "..++++++++++" Insns(44),
        "witnesses/walks.bpf.o" "other_result"
        "What a program returns must be precise."
    zeros_beside_spills "..++++++++++" Insns(36),
        "witnesses/reads.bpf.o" "zeros_beside_number"
        "Zeros beside a number of four bytes that is spilled stay zeros."
    fib_lookup_writes "+++..+++++++" Refused,
        "witnesses/maps.bpf.o" "route_overwrites"
        "`bpf_fib_lookup` is known to write what it is given."
    dead_forgotten_at_once ".........+++" Says("old state: R10=fp0"),
        "witnesses/walks.bpf.o" "loop_without_end"
        "Registers and halves of stack slots that are not read again are forgotten before a state is saved, not once it was verified."
    half_dead_spills_kept "---------.++" Insns(34),
        "witnesses/walks.bpf.o" "half_of_slot"
        "A spilled register is forgotten only where no half of its slot is read again."
    jumps_decided_first "-----....+++" Insns(33),
        "witnesses/walks.bpf.o" "read_where_never"
        "Jumps that numbers and constant maps decide are unconditional before the walk."
    single_ids_forgotten "--......++++" Insns(50),
        "witnesses/walks.bpf.o" "other_links"
        "A number that shares its id with nothing else loses it before a state is saved, and is given one when it is filled."
    memory_not_null "..++++++++++" Accepted,
        "witnesses/null.bpf.o" "map"
        "Maps, memory and trusted objects are known not to be NULL, as values and sockets are."
    halves_of_pointers_decide "++.+++++++.." Accepted,
        "witnesses/null.bpf.o" "half_of_map_value"
        "A jump that compares half of such a pointer with zero is decided."
    allocations_fit "...........+" Refused,
        "witnesses/pointers.bpf.o" "reserved_negative"
        "What is reserved of a ring buffer has a size of 32 bits."
    dead_dynptrs_compared ".........+++" Insns(63),
        "witnesses/objects.bpf.o" "dead_dynptr"
        "A saved state keeps its dynptrs, though they are not used again."
    bounds_repaired "..++++++++++" Accepted,
        "witnesses/pointers.bpf.o" "contradiction"
        "Bounds that contradict one another are forgotten."
    lookups_of_no_address "..++++++++++" Accepted,
        "witnesses/lookups.bpf.o" "tcp_of_no_address"
        "A socket may be looked up by an address of no bytes."
    numbers_at_the_end ".+++++++++++" Accepted,
        "witnesses/pointers.bpf.o" "last_array"
        "A struct may end in an array of numbers, of any length."
    jumps_keep_bounds "..++++++++++" Accepted,
        "witnesses/halves.bpf.o" "wide_after_half"
        "A comparison of 32 bits keeps bounds of 64, and the other way round (else: they are found anew)."
    numbers_plus_arena "--+...+.++++" Accepted,
        "witnesses/arena.bpf.o" "number_plus_pointer"
        "A pointer into an arena may be added to a number."
    arena_loads_extend "--...+++++++" Accepted,
        "witnesses/arena.bpf.o" "signed_load"
        "Signed numbers may be loaded from an arena."
    set_retval_checked "-.........++" Refused,
        "witnesses/calls.bpf.o" "dev_positive"
        "What `bpf_set_retval` is given is 0 or an error; so is what `bpf_get_retval` returns."
    objects_below_frame "--........++" Refused,
        "witnesses/places.bpf.o" "iterator_above_stack"
        "An iterator or a saved flag is not looked for above the frame."
    probes_change_registers ".....+.+++++" Accepted,
        "witnesses/probes.bpf.o" "uprobe_register"
        "Probes may change the registers of what they probe."
    tracepoints_sleep ".........+++" Accepted,
        "witnesses/sleeping.bpf.o" "raw_enter"
        "Programs at tracepoints may sleep (those that name theirs: at those of system calls)."
    struct_ops_awake "+*.........."
        Says("Only fentry/fexit/fmod_ret and lsm programs can be sleepable"),
        "witnesses/congestion.bpf.o" "sleeps"
        "Programs of struct_ops may not sleep."
    tracing_sleeps "++.........." Accepted,
        "witnesses/sleeping.bpf.o" "btf_switch"
        "Programs that trace with types may sleep, whatever they are attached to."
    callbacks_are_loops ".......+++++" Insns(38_725),
        "programs/hostile.bpf.o" "back_edges"
        "A call that calls back is a loop: what its rounds need is told to one another."
    contradictions_decide ".........+++" Accepted,
        "witnesses/wrapped.bpf.o" "nothing_left"
        "A jump is decided where one of its sides would leave nothing of an operand."
    halves_narrow ".........+++" Accepted,
        "witnesses/wrapped.bpf.o" "half_narrows"
        "The low half narrows the bounds of a small number (else: replaces them)."
    ranges_wrap "..........++" Accepted,
        "witnesses/wrapped.bpf.o" "range_wraps"
        "Of a number, and of its low half, one range is known, which may wrap (else: bounds)."
    signed_fills_linked "--++++++++.." Accepted,
        "witnesses/wrapped.bpf.o" "filled_with_sign"
        "A part of a spilled number stays linked with it, even if its sign is extended."
    frames_of_sixteen "..++++++++++" Accepted,
        "witnesses/walks.bpf.o" "frames"
        "Frames of compiled programs are rounded to 16 bytes, not to 32."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_mark_for_each_kernel() {
        for row in BEHAVIOURS {
            assert_eq!(row.marks.len(), COLUMNS.len(), "{}", row.name);
            let both = row.marks.contains('+') && row.marks.contains('.');
            assert!(
                both && row.marks.bytes().all(|it| matches!(it, b'+' | b'.' | b'-' | b'*')),
                "{}",
                row.name
            );
        }
    }

    #[test]
    fn a_release_has_the_rules_of_the_one_before_it() {
        let release = |name: &str| COLUMNS[column_of(name)].release;
        assert_eq!(release("6.18.15+deb13-cloud-amd64"), "6.18.15+");
        assert_eq!(release("6.18.50"), "6.18.44");
        assert_eq!(release("6.18.0"), "6.18.15+");
        assert_eq!(release("6.8.0-31-generic"), "6.1.0-56-");
        assert_eq!(release("5.4"), "5.10.0-46-");
        assert_eq!(release("8.1.2"), "7.3.4+");
        assert_eq!(Behaviours::of_release("6.18.44"), Behaviours::reference());
        let between = Behaviours::of_release("5.15.0-100-generic");
        assert!(between.kfuncs, "not known, as on 6.18");
        assert!(!between.ranges_decide_jumps, "neither 5.10 nor 6.1 does so");
        assert_eq!(Behaviours::of_release("5.4"), Behaviours::of_column(0));
        assert_eq!(asked_around("5.4"), ["5.10.0-46-"; 2]);
        assert_eq!(asked_around("6.8.0-31-generic"), ["6.1.0-56-", "6.12.117+"]);
    }
}

//! Known reasons for differences between skep and other kernels.

use super::agree::OTHER_INSNS_REFUSED;
use crate::kernel_diff::Class;

/// The kernels, as prefixes of releases (none: all); a part of the difference; the reason.
struct Why(&'static [&'static str], &'static str, &'static str);

/// Kernels that track loops from their entries.
const LOOP_ENTRIES: &[&str] = &["6.12.", "6.16."];
/// Kernels that analyse the stack before the walk.
const STACK_FIRST: &[&str] = &["7.1.", "7.2.", "7.3."];
/// Kernels before cpu v4 and most helpers.
const OLDEST: &[&str] = &["5.", "6.1."];
/// Kernels that check references first.
const RELEASES_FIRST: &[&str] = &["7.2.", "7.3."];

/// The first matching row applies.
const WHYS: &[Why] = &[
    Why(
        OLDEST,
        OTHER_INSNS_REFUSED,
        "both reject with the same message; mostly features that this kernel lacks, which skep \
         checks after a walk by the rules of a kernel that has them",
    ),
    Why(&[], OTHER_INSNS_REFUSED, "both reject with the same message, on different paths"),
    Why(
        LOOP_ENTRIES,
        "other insns",
        "mostly loops: this kernel finds them along walked paths, 6.18 in the control flow graph",
    ),
    Why(
        STACK_FIRST,
        "old state: ",
        "registers and slots that are not live are printed differently",
    ),
    Why(
        &["7.0.", "7.1."],
        "other insns",
        "mostly loops: iterations of callbacks and iterators are compared differently",
    ),
    Why(
        RELEASES_FIRST,
        "other insns",
        "objects keep their ids; packets and iterations of callbacks are compared differently",
    ),
    Why(
        &[],
        "other insns",
        "loops and long joins: it is not known which saved states cover which others",
    ),
    Why(&[], "other states", "same insns; states are saved and freed at different points"),
    Why(&[], "this kernel may not end", "it is not known how this kernel ends long walks"),
    Why(&[], "loops up to a range", "it is not known how this kernel ends such loops"),
    Why(&[], "more than eight frames", "it is not known how deep calls may be on this kernel"),
    Why(
        &[],
        "slices while something else",
        "it is not known what was left at the top of the stack",
    ),
    Why(
        &[],
        "bounds that contradict",
        "it is not known how this kernel handles contradictory bounds",
    ),
    Why(
        &[],
        "more linked registers than",
        "more than six registers are linked, some in other frames or on the stack",
    ),
    Why(
        &["6.8.0-31"],
        "BPF program is too large",
        "more than six registers are linked, and marked precise sooner than by the kernel",
    ),
    Why(
        &["6.8.0-31"],
        "invalid mem access 'scalar'",
        "the kernel also changes the constant that a register is compared with",
    ),
    Why(
        &["6.8.0-31"],
        "Caller passes invalid args",
        "the offset of a dynptr that a function is given is not checked",
    ),
    Why(
        &[],
        "jumps across each other",
        "it is not known whether this kernel's JIT compiler finds the lengths of the jumps",
    ),
    Why(
        &["6.18.5", "6.19.6"],
        "calling kernel function",
        "the kernel's BTF does not tag the function as a kernel function",
    ),
    Why(&[], "a part of a pointer", "it is not known what this kernel takes the result for"),
    Why(&[], "with a negative offset", "it is not known which division this kernel takes them for"),
    Why(
        &[],
        "div by zero",
        "the kernel adds the constant difference from before the register's link was dropped",
    ),
    Why(&["5."], "kernel: func#", "the kernel rejects without a message"),
    Why(&["5."], "is not sleepable", "the kernel checks the attach target before the maps"),
    Why(&["6.1."], "dynptr", "dynptrs are tracked less strictly"),
    Why(&["6.1."], "invalid mem access 'scalar'", "slices of dynptrs stay valid"),
    Why(
        OLDEST,
        "kernel: invalid func unknown",
        "the kernel first reaches a helper that it does not have",
    ),
    Why(
        OLDEST,
        "kernel: unknown func ",
        "the kernel first reaches a helper that this program type may not call there",
    ),
    Why(
        OLDEST,
        "reserved fields",
        "the kernel first rejects the fields of an insn that it does not have",
    ),
    Why(OLDEST, "kernel: unknown opcode", "the kernel first rejects an insn that it does not have"),
    Why(
        OLDEST,
        "number of funcs in func_info",
        "the kernel does not count functions that are only callbacks",
    ),
    Why(
        &["6.12."],
        "bpf_preempt_enable",
        "the kernel's message says how often preemption is disabled",
    ),
    Why(
        RELEASES_FIRST,
        "kernel: release kfunc",
        "the kernel first checks whether there is a reference to release",
    ),
    Why(
        &["7."],
        "kernel: Possibly NULL",
        "the kernel first checks whether an argument may be NULL",
    ),
    Why(&["7."], "var_off=", "different bits of a sum are known"),
    Why(
        &[],
        "must point to scalar",
        "the kind of a pointer argument is checked at a different point",
    ),
    Why(&[], "reference id=", "references have different ids"),
    Why(
        &[],
        "RCU critical section",
        "the kernel requires the section when the next element is fetched, not at the first",
    ),
];

/// Reasons if both refuse: the kernel finds another error first, or words it differently.
const BOTH_REFUSE: &[Why] = &[
    Why(OLDEST, "kernel: invalid zero-sized read", "the size 0 is checked before the address"),
    Why(
        &["6."],
        "only read is supported",
        "this kernel has no module that allows stores to the fields",
    ),
    Why(
        &["5."],
        "bpf_spin_lock is mangled",
        "locks in variables are not supported: the map is rejected first",
    ),
    Why(OLDEST, "kernel: back-edge", "a recursive call is rejected first, as a loop"),
    Why(&["7."], "type=ctx expected=fp", "the kind of a pointer argument is checked first"),
    Why(&["7."], "frames is too deep !; kernel", "call chains are checked before the walk"),
    Why(OLDEST, "is not modifiable", "the attach target is checked before the insns"),
    Why(&[], "misconfigured", "a missing context field is only noticed when insns are rewritten"),
    Why(
        &["6.5."],
        "bpf_refcount_acquire calls are disabled",
        "bpf_refcount_acquire is rejected before other calls",
    ),
    Why(
        &["6.5."],
        "has to have BTF in order to use",
        "other calls are rejected before bpf_kptr_xchg",
    ),
    Why(&[], "combined stack size", "another chain of calls is measured first"),
    Why(
        &["6.2."],
        "kernel: release kernel function",
        "whether a pointer is trusted is checked last",
    ),
    Why(
        &["6.2."],
        "says: off=# kptr isn't referenced",
        "map values may only contain pointers to structs of the kernel itself",
    ),
    Why(
        &["5."],
        "kernel: invalid indirect read",
        "the kernel's message says which byte is uninitialized",
    ),
    Why(
        OLDEST,
        "kernel: Arg# type PTR",
        "global functions are checked first, whether or not they are called",
    ),
    Why(OLDEST, "doesn't return scalar", "the return type of a global function is checked first"),
    Why(
        OLDEST,
        "size cannot be determined",
        "argument types are checked at the start of the function",
    ),
    Why(OLDEST, "kernel: BPF_ST stores", "stores of constants to the context are rejected first"),
    Why(OLDEST, "kernel: unrecognized bpf_ld_imm", "loads of function addresses are not supported"),
    Why(OLDEST, "kernel: jump out of range", "jump targets are checked before opcodes"),
    Why(
        OLDEST,
        "map_key, map_value; kernel: ",
        "the kernel's list of expected types lacks map keys",
    ),
    Why(
        OLDEST,
        "kernel: R# pointer arithmetic on mem_",
        "reserved ring buffer records are treated as ordinary memory",
    ),
    Why(OLDEST, "expected=percpu_ptr_", "slices of dynptrs stay valid"),
    Why(OLDEST, "but got PTR", "the kernel's message names the type of the parameter"),
    Why(
        OLDEST,
        "has no valid kptr",
        "map values may only contain pointers to structs of the kernel itself",
    ),
    Why(OLDEST, "no write support to tcp_sock", "a store to the pacing rate is rejected first"),
    Why(OLDEST, "write into map forbidden", "the two stores are checked in a different order"),
    Why(OLDEST, "mem_or_null'", "argument tags are not supported: a pointer is one to memory"),
    Why(
        OLDEST,
        "kernel: R# type=mem",
        "argument tags are not supported: a pointer is one to memory",
    ),
    Why(OLDEST, "modified alloc_mem", "the offset of a pointer is checked before its use"),
    Why(
        &["6.12."],
        "bpf_throw cannot",
        "the kernel's message names the call that is not allowed in the section",
    ),
    Why(&["6.12."], "non-owning ref", "removal from a tree is checked before pointer arithmetic"),
    Why(&["7."], "invalid mem access 'scalar'", "arithmetic on such a pointer yields a scalar"),
    Why(
        &["7."],
        "kernel: expected an initialized irq flag as R",
        "messages name arguments as registers",
    ),
    Why(
        &["7."],
        "kernel: R# expected pointer to an iterator",
        "messages name arguments as registers",
    ),
    Why(
        &["7."],
        "is not supported; kernel: kernel function",
        "messages name arguments as registers",
    ),
    Why(&["7."], "cannot overwrite referenced dynptr", "the overwritten slot is checked first"),
    Why(
        &["7."],
        "says: Caller passes invalid args",
        "the kernel's message says which argument does not match, not in which function",
    ),
    Why(&["7."], "kernel: dereference of modified", "the offset of a pointer is checked first"),
    Why(
        &["7."],
        "kernel: R# cannot write into",
        "whether the object may be written is checked first",
    ),
    Why(&["7."], "must be a known constant", "whether the size is constant is checked first"),
    Why(&["7."], "map_ptr_or_null", "a lookup in a map of maps yields a map that may be NULL"),
    Why(
        &["7."],
        "outside of the allowed memory range",
        "the kernel's message says which end of the memory is exceeded",
    ),
    Why(
        &["7."],
        "kernel: workqueue pointer",
        "the map of the work queue is checked before its type",
    ),
    Why(
        &["5."],
        "says: function ~()",
        "locks in variables are not supported: the map is rejected first",
    ),
    Why(
        &["6."],
        "says: kernel function ~()",
        "this kernel has no module that allows stores to the fields",
    ),
    Why(&["7."], "says: kernel function ~()", "messages name arguments as registers"),
    Why(
        OLDEST,
        "kernel: Only fentry",
        "whether such programs may be sleepable is checked before their maps",
    ),
    Why(
        OLDEST,
        "unsupported member",
        "whether such programs may be sleepable is checked before the member",
    ),
    Why(&[], "type=rdwr_buf expected", "the kernel's name of a buffer says that it may be written"),
    Why(
        &[],
        "kernel: tracing progs cannot",
        "the kernel calls socket filters tracing programs in this message",
    ),
    Why(
        &[],
        "kernel: helper wants pointer to allocated",
        "the kernel has other words for memory that is to be released",
    ),
    Why(&[], "kernel: kernel btf_id", "the types of modules are numbered differently"),
    Why(
        &[],
        "kernel: Expected an initialized ringbuf",
        "the kind of a dynptr is checked before its reference",
    ),
    Why(&[], "says: At async callback", "the kernel knows another range of the result"),
    Why(
        &[],
        "kernel: off=# kptr isn't referenced",
        "the field that a pointer goes to is checked before the pointer",
    ),
    Why(&[], "kernel: bpf_rb_node not found", "the node's offset is checked before the object"),
    Why(
        &[],
        "kernel: rbtree_remove node input",
        "whether the node is borrowed is checked before whether it may be NULL",
    ),
    Why(
        &[],
        "says: verifier internal error: backtracking",
        "the kernel says that it is at fault in its own log only",
    ),
    Why(&[], "says: timer pointer in R# map_uid", "map values are numbered differently"),
    Why(
        &[],
        "says: func# @#",
        "the kernel prints insns of a pass before the walk, and rejects without a message",
    ),
    Why(
        &[],
        "kernel: verifier bug: allocated object",
        "the kernel has other words for this fault of its own",
    ),
    Why(
        &[],
        "kernel: invalid size of register fill",
        "the size of a load is checked before what it reads of the stack",
    ),
    Why(&[], "_or_null prohibited", "the kernel's message has no hint"),
    Why(
        &[],
        "invalid variable-offset indirect access",
        "the kernel's message says which byte is uninitialized",
    ),
    Why(&[], "type=trusted_ptr_", "the kernel says of such pointers that they are trusted"),
    Why(
        &[],
        "says: old state",
        "the kernel also prints numbers that do not matter for the comparison",
    ),
    Why(
        &[],
        "expected pointer to an iterator",
        "the memory of an iterator is checked before its kind",
    ),
    Why(
        &[],
        "kernel: map_value pointer offset",
        "the offset of the pointer is checked before what is added to it",
    ),
    Why(
        &[],
        "says: verifier bug: backtracking",
        "the kind of the argument is checked before it is marked as precise",
    ),
    Why(
        &[],
        "reference has not been acquired",
        "the reference of what is submitted is checked before its kind",
    ),
    Why(
        &[],
        "kernel: cannot pass in dynptr",
        "the offset of a dynptr is checked before what it is",
    ),
    Why(
        &[],
        "kernel: dynptr has to be at a constant",
        "the offset of a dynptr is checked before what it is",
    ),
    Why(
        &[],
        "cannot tail call within callback",
        "tail calls in callbacks are looked for before the walk",
    ),
    Why(
        &[],
        "says: calling kernel function",
        "the kernel finds another fault before functions that it does not have",
    ),
    Why(
        &[],
        "says: Dynptr has to be an uninit",
        "the store into the stack is checked before what is there",
    ),
    Why(
        &[],
        "expected ptr_ or socket",
        "the kernel has other words for an object that may be NULL",
    ),
    Why(&[], "expected=fp, dynptr_ptr", "the kernel does not name dynptrs among what it expects"),
    Why(
        &[],
        "kernel: variable scalar access",
        "the offset of what should be the context is checked first",
    ),
    Why(&[], "kernel: math between", "the kernel refuses the sum before what is read there"),
    Why(&[], "says: ", "not investigated: both reject, with different messages"),
];

/// The reason; empty if unknown.
pub(crate) fn why(release: &str, class: Class, reason: &str) -> &'static str {
    let is_of = |kernels: &[&str]| {
        kernels.is_empty() || kernels.iter().any(|start| release.starts_with(start))
    };
    // Numbers in a difference are replaced by `#` if it stands for several programs.
    let plain: String = reason.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
    let plain = plain.replace("##", "#").replace("##", "#");
    let says = |what: &str| reason.contains(what) || plain.contains(what);
    let known = WHYS.iter().chain(BOTH_REFUSE).find(|it| is_of(it.0) && says(it.1));
    match (known, class) {
        (Some(known), _) => known.2,
        (None, Class::FalseReject) => "a check that this kernel does not have",
        _ => "",
    }
}

//! Known reasons for differences between skep and other kernels.

use super::agree::OTHER_INSNS_REFUSED;
use crate::kernel_diff::Class;

/// The kernels, as prefixes of releases (none: all); a part of the difference; the reason.
struct Why(&'static [&'static str], &'static str, &'static str);

/// Kernels that track loops from their entries.
const LOOP_ENTRIES: &[&str] = &["6.12.", "6.16."];
/// Kernels that analyse the stack before the walk.
const STACK_FIRST: &[&str] = &["7.1.", "7.2.", "7.3."];

/// Kernels that free states at other times.
const STATES_LATER: &[&str] = &["6.19.", "7."];
const STATES_SOONER: &[&str] = &["6.12.", "6.16."];
/// Kernels before cpu v4 and most helpers.
const OLDEST: &[&str] = &["5.", "6.1."];
/// Kernels that check references first.
const RELEASES_FIRST: &[&str] = &["7.2.", "7.3."];

/// The first matching row applies.
const WHYS: &[Why] = &[
    Why(
        OLDEST,
        OTHER_INSNS_REFUSED,
        "both refuse, in the same words: mostly what this kernel does not have, which skep looks \
         for after a walk by the rules of one that has it",
    ),
    Why(&[], OTHER_INSNS_REFUSED, "both refuse, in the same words, on another path"),
    Why(
        LOOP_ENTRIES,
        "other insns",
        "most of them loops: a loop is what a path came back to, here what the graph has",
    ),
    Why(STACK_FIRST, "old state: ", "what is not needed is printed otherwise"),
    Why(
        &["7.0.", "7.1."],
        "other insns",
        "most of them loops: rounds of callbacks and iterators are compared otherwise",
    ),
    Why(
        RELEASES_FIRST,
        "other insns",
        "objects keep their ids, packets and rounds of callbacks are compared otherwise",
    ),
    Why(
        &[],
        "other insns",
        "loops and long joins: which saved state covers which others was not found",
    ),
    Why(
        STATES_LATER,
        "other states",
        "the same insns, the same states; they are freed later than here: only the peak differs",
    ),
    Why(
        STATES_SOONER,
        "other states",
        "the same insns, the same states; they are freed sooner than here: only the peak differs",
    ),
    Why(
        &[],
        "other states",
        "the same insns; states are saved at other places, and freed otherwise",
    ),
    Why(&[], "after a sum above", "the kernel remembers sums that it has forgotten the links of"),
    Why(&[], "this kernel may not end", "how long walks end was not found"),
    Why(&[], "loops up to a range", "how such loops end was not found"),
    Why(
        &[],
        "div by zero",
        "the kernel adds what a register differed by before its link was forgotten",
    ),
    Why(&["5."], "kernel: func#", "the kernel refuses without a word"),
    Why(&["5."], "is not sleepable", "the kernel looks at the target before the maps"),
    Why(&["6.1."], "dynptr", "dynptrs are tracked less strictly"),
    Why(&["6.1."], "invalid mem access 'scalar'", "slices of dynptrs stay valid"),
    Why(OLDEST, "kernel: invalid func unknown", "it comes first to a helper that it does not have"),
    Why(
        OLDEST,
        "kernel: unknown func ",
        "it comes first to a helper that this type may not call yet",
    ),
    Why(
        OLDEST,
        "reserved fields",
        "an insn that it does not have is refused for its fields, first",
    ),
    Why(OLDEST, "kernel: unknown opcode", "an insn that it does not have is refused, first"),
    Why(OLDEST, "number of funcs in func_info", "what is only called back is no function to it"),
    Why(&["6.12."], "bpf_preempt_enable", "it says how many sections with preemption off are open"),
    Why(
        RELEASES_FIRST,
        "kernel: release kfunc",
        "whether there is something to release comes first",
    ),
    Why(&["7."], "kernel: Possibly NULL", "whether an argument may be NULL comes first"),
    Why(&["7."], "var_off=", "other bits of a sum are known"),
    Why(&[], "must point to scalar", "what kind of pointer an argument is comes at another point"),
    Why(&[], "reference id=", "references have other numbers"),
    Why(
        &[],
        "RCU critical section",
        "it asks for the section at the next element, not at the first",
    ),
];

/// Reasons if both refuse: the kernel finds another error first, or words it differently.
const BOTH_REFUSE: &[Why] = &[
    Why(OLDEST, "kernel: invalid zero-sized read", "that no bytes are read comes before where"),
    Why(&["6."], "only read is supported", "no module there says which fields may be written"),
    Why(
        &["5."],
        "bpf_spin_lock is mangled",
        "locks in variables are not known: the map comes first",
    ),
    Why(OLDEST, "kernel: back-edge", "a call of itself is a loop to it, which comes first"),
    Why(&["7."], "type=ctx expected=fp", "what kind of pointer an argument is comes first"),
    Why(&["7."], "frames is too deep !; kernel", "frames are counted before the walk"),
    Why(OLDEST, "is not modifiable", "the target comes before the insns"),
    Why(
        &["5."],
        "misconfigured",
        "a field that it does not have is missed when insns are rewritten",
    ),
    Why(&["5."], "kernel: invalid indirect read", "it says which byte was not written"),
    Why(OLDEST, "kernel: Arg# type PTR", "global functions come first, whether or not called"),
    Why(OLDEST, "doesn't return scalar", "what a global function returns comes first"),
    Why(OLDEST, "size cannot be determined", "types of arguments come where the function begins"),
    Why(OLDEST, "kernel: BPF_ST stores", "constants may not be stored into a context, and first"),
    Why(OLDEST, "bounds that contradict", "what such bounds become there was not found"),
    Why(OLDEST, "kernel: unrecognized bpf_ld_imm", "addresses of functions are not known"),
    Why(OLDEST, "kernel: jump out of range", "where jumps go comes before their opcode"),
    Why(OLDEST, "map_key, map_value; kernel: ", "keys of maps are not yet among what it names"),
    Why(
        OLDEST,
        "kernel: R# pointer arithmetic on mem_",
        "what is reserved is memory like any other",
    ),
    Why(OLDEST, "expected=percpu_ptr_", "slices of dynptrs stay valid"),
    Why(OLDEST, "but got PTR", "it names the type of the parameter"),
    Why(OLDEST, "has no valid kptr", "maps hold pointers to the kernel's own structs alone"),
    Why(
        OLDEST,
        "no write support to tcp_sock",
        "the pacing rate may not be written, and comes first",
    ),
    Why(OLDEST, "write into map forbidden", "which of two stores comes first"),
    Why(OLDEST, "mem_or_null'", "tags of arguments are not known: a pointer is to memory"),
    Why(OLDEST, "kernel: R# type=mem", "tags of arguments are not known: a pointer is to memory"),
    Why(OLDEST, "modified alloc_mem", "the offset of a pointer comes before what is done with it"),
    Why(&["6.12."], "bpf_throw cannot", "it names the call that may not be in a section"),
    Why(&["6.12."], "non-owning ref", "what is removed from a tree comes before its arithmetic"),
    Why(&["7."], "invalid mem access 'scalar'", "arithmetic on such a pointer leaves a number"),
    Why(
        &["7."],
        "kernel: expected an initialized irq flag as R",
        "arguments are named as registers",
    ),
    Why(&["7."], "kernel: R# expected pointer to an iterator", "arguments are named as registers"),
    Why(&["7."], "is not supported; kernel: kernel function", "arguments are named as registers"),
    Why(&["7."], "cannot overwrite referenced dynptr", "what is overwritten comes first"),
    Why(&["7."], "says: Caller passes invalid args", "it says what does not fit, not whose it is"),
    Why(&["7."], "kernel: dereference of modified", "the offset of a pointer comes first"),
    Why(&["7."], "kernel: R# cannot write into", "whether the object may be written comes first"),
    Why(&["7."], "must be a known constant", "that a size must be constant comes first"),
    Why(&["7."], "map_ptr_or_null", "what a map of maps holds is a map that may be NULL"),
    Why(&["7."], "outside of the allowed memory range", "it says which end of the memory is left"),
    Why(&["7."], "kernel: workqueue pointer", "whose work queue it is comes before its type"),
    Why(&["5."], "says: function ~()", "locks in variables are not known: the map comes first"),
    Why(&["6."], "says: kernel function ~()", "no module there says which fields may be written"),
    Why(&["7."], "says: kernel function ~()", "arguments are named as registers"),
    Why(OLDEST, "kernel: Only fentry", "whether such programs may sleep comes before their maps"),
    Why(OLDEST, "unsupported member", "whether such programs may sleep comes before the member"),
    Why(&[], "says: ", "not looked into: both refuse, with other words"),
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

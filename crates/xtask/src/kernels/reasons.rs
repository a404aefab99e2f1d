//! Why skep still differs from other kernels, as far as that is known.

use crate::kernel_diff::Class;

/// The kernels, by what their releases begin with (none: all); a part of the difference; why.
struct Why(&'static [&'static str], &'static str, &'static str);

/// Kernels whose walk tells as it goes what is read.
const READ_MARKS: &[&str] = &["5.", "6.1.", "6.12.", "6.16.", "6.17."];
/// Kernels that look at the stack before the walk.
const STACK_FIRST: &[&str] = &["7.1.", "7.2.", "7.3."];

/// Kernels that free states later, or sooner.
const STATES_LATER: &[&str] = &["6.19.", "7."];
const STATES_SOONER: &[&str] = &["6.12.", "6.16."];
/// Kernels before cpu v4 and most helpers.
const OLDEST: &[&str] = &["5.", "6.1."];
/// Kernels that look at references first.
const RELEASES_FIRST: &[&str] = &["7.2.", "7.3."];

/// The first that fits is told.
const WHYS: &[Why] = &[
    Why(
        READ_MARKS,
        "other insns",
        "what a state needs is what was read on the walked paths, here what may be read",
    ),
    Why(
        STACK_FIRST,
        "other insns",
        "which halves of stack slots are needed is found before the walk, here slots in it",
    ),
    Why(STACK_FIRST, "old state: ", "saved states forget what is not needed, stack slots too"),
    Why(READ_MARKS, "old state: ", "the kernel prints which registers were read and written"),
    Why(&[], "other insns", "not found yet"),
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
    Why(&[], "a sum above 2^29", "the kernel remembers sums that it has forgotten the links of"),
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
    Why(
        &[],
        "says: ",
        "both refuse; the kernel looks at something else first, or words it otherwise",
    ),
];

/// Why; empty if that is not known.
pub(crate) fn why(release: &str, class: Class, reason: &str) -> &'static str {
    let is_of = |kernels: &[&str]| {
        kernels.is_empty() || kernels.iter().any(|start| release.starts_with(start))
    };
    let known = WHYS.iter().find(|it| is_of(it.0) && reason.contains(it.1));
    match (known, class) {
        (Some(known), _) => known.2,
        (None, Class::FalseReject) => "a check that this kernel does not have",
        _ => "",
    }
}

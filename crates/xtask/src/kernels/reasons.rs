//! Why skep still differs from other kernels, as far as that is known.

use crate::kernel_diff::Class;

/// The kernels, by what their releases begin with (none: all); a part of the difference; why.
struct Why(&'static [&'static str], &'static str, &'static str);

/// Kernels whose walk tells as it goes what is read.
const READ_MARKS: &[&str] = &["5.", "6.1.", "6.12.", "6.16.", "6.17."];
/// Kernels that look at the stack before the walk.
const STACK_FIRST: &[&str] = &["7.1.", "7.2.", "7.3."];

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
    Why(&[], "other states", "the same insns are walked; states are saved or counted otherwise"),
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

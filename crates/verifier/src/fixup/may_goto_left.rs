//! The `may_goto` insns that remain in an accepted program.

use super::source::Source;
use crate::passes::call_facts::is_may_goto;

/// Size of the counter.
pub(super) const COUNTER_BYTES: u32 = 8;

/// Whether any `may_goto` remains among the insns in `range`.
pub(super) fn is_in(source: &Source<'_>, range: std::ops::Range<usize>) -> bool {
    range.into_iter().any(|idx| is_open(source, idx))
}

pub(super) fn is_open(source: &Source<'_>, idx: usize) -> bool {
    let insn = source.insns[idx];
    is_may_goto(&insn) && insn.off != 0 && source.walked.seen(source.insns, idx)
}

//! The walk over all paths: the next insn, pending branches, explored states.

pub(crate) mod branch_stack;
pub(crate) mod branches;
mod clean;
pub(crate) mod equal;
pub(crate) mod idmap;
mod loop_entries;
pub(crate) mod loops;
mod needs;
pub(crate) mod next;
pub(crate) mod prune;
pub(crate) mod scc_visits;
pub(crate) mod walk;
pub(crate) mod widen;

//! The walk over all paths: what is next, what waits, what was seen before.

pub(crate) mod branch_stack;
mod clean;
pub(crate) mod equal;
pub(crate) mod idmap;
pub(crate) mod loops;
mod needs;
pub(crate) mod prune;
pub(crate) mod walk;
pub(crate) mod widen;

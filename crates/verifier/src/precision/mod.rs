//! Precision: which scalars' values mattered, found by walking the history backwards.

pub(crate) mod backtrack;
pub(crate) mod backtrack_state;
pub(crate) mod mark;

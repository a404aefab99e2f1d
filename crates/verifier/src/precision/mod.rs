//! Precision: which scalars' values affected decisions, found by backtracking through the history.

pub(crate) mod backtrack;
pub(crate) mod backtrack_state;
pub(crate) mod current_marks;
pub(crate) mod mark;

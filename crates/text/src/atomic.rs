//! The atomics used by `edit`: the models replace them.

pub(crate) use std::sync::atomic::{Ordering, fence};

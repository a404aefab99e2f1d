//! Through which `edit` has its atomics: the models give it others.

pub(crate) use std::sync::atomic::{Ordering, fence};

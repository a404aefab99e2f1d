//! The differences between two states, to explain why a path was not pruned.

use super::RegValue;
use std::fmt;

/// The values in two states of the register or slot in which they differ. They are only looked up
/// on request.
#[derive(Clone, Copy)]
pub struct Sides<'e> {
    pub(super) value: &'e dyn Fn(Side) -> Option<SideValue>,
}

/// One of two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Saved,
    Current,
}

impl Sides<'_> {
    /// The value in the saved state; `None` if they do not differ in a register or slot.
    pub fn saved(&self) -> Option<SideValue> {
        (self.value)(Side::Saved)
    }

    /// The value in the current state.
    pub fn current(&self) -> Option<SideValue> {
        (self.value)(Side::Current)
    }
}

impl fmt::Debug for Sides<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (saved, current) = (self.saved(), self.current());
        f.debug_struct("Sides").field("saved", &saved).field("current", &current).finish()
    }
}

/// A value in one of two states; displayed in the notation of the kernel's log.
#[derive(Clone)]
#[non_exhaustive]
pub enum SideValue {
    /// What a register holds, or a slot to which one was spilled.
    Register(RegValue),
    /// The types of another slot's bytes, highest address first.
    Bytes(String),
}

impl fmt::Display for SideValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SideValue::Register(value) => value.fmt(f),
            SideValue::Bytes(types) => f.write_str(types),
        }
    }
}

impl fmt::Debug for SideValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

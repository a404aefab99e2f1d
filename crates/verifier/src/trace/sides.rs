//! The differences between two states, to explain why a path was not pruned.

/// The values in two states of the register or slot in which they differ, in the notation of the
/// kernel's log. The text is only produced on request.
#[derive(Clone, Copy)]
pub struct Sides<'e> {
    pub(super) value: &'e dyn Fn(Side) -> Option<String>,
}

/// One of two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Saved,
    Current,
}

impl Sides<'_> {
    /// The value in the saved state; `None` if they do not differ in a register or slot.
    pub fn saved(&self) -> Option<String> {
        (self.value)(Side::Saved)
    }

    /// The value in the current state.
    pub fn current(&self) -> Option<String> {
        (self.value)(Side::Current)
    }
}

impl std::fmt::Debug for Sides<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (saved, current) = (self.saved(), self.current());
        f.debug_struct("Sides").field("saved", &saved).field("current", &current).finish()
    }
}

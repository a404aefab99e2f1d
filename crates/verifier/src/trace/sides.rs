//! The differences between two states, to explain why a path was not pruned.

/// What two states know of what tells them apart, in the notation of the kernel's log: it is put
/// into words only if it is asked for.
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
    /// What the saved state knows; `None` if it is no register and no slot that tells them apart.
    pub fn saved(&self) -> Option<String> {
        (self.value)(Side::Saved)
    }

    /// What the current state knows.
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

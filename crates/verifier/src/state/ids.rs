//! Identifiers of interned objects.

use std::num::NonZeroU32;

/// Id of a packed frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameId(pub(super) u32);

/// Id of a checkpoint: its index plus one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CkptId(NonZeroU32);

impl CkptId {
    pub(super) fn of(place: u32) -> CkptId {
        CkptId(NonZeroU32::MIN.saturating_add(place))
    }
    /// Its index.
    #[inline]
    pub(crate) fn place(self) -> u32 {
        self.0.get() - 1
    }
}

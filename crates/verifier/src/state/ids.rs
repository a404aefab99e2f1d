//! Identifiers of interned objects.

use std::num::NonZeroU32;

/// Name of a packed frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameId(pub(super) u32);

/// Name of a checkpoint: its place and one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CkptId(NonZeroU32);

impl CkptId {
    pub(super) fn of(place: u32) -> CkptId {
        CkptId(NonZeroU32::MIN.saturating_add(place))
    }
    /// Its place.
    #[inline]
    pub(crate) fn place(self) -> u32 {
        self.0.get() - 1
    }
}

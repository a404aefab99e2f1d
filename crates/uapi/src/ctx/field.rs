//! One row of a context: a field, and how it may be accessed.

use super::value::CtxValue;

/// Sizes of an access in bytes, as bits.
pub(super) const B1: u8 = 1;
/// See [`B1`].
pub(super) const B2: u8 = 2;
/// See [`B1`].
pub(super) const B4: u8 = 4;
/// See [`B1`].
pub(super) const B8: u8 = 8;
/// A u32 and parts of it.
pub(super) const NARROW4: u8 = B1 | B2 | B4;
/// A u64 and parts of it.
pub(super) const NARROW8: u8 = NARROW4 | B8;
/// Narrow loads only from the start of the field.
pub(super) const AT_START: u8 = 16;

/// A field of a context. Accesses are aligned to their size and lie inside one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CtxField {
    /// Offset in the context, in bytes. Negative only where the kernel fails to reject that
    /// (tracepoint).
    pub off: i32,
    /// Bytes.
    pub size: u32,
    /// Size of a full load in bytes: of an element, if the field is an array (`ctx_field_size`).
    pub unit: u32,
    /// Name in the kernel's headers.
    pub name: &'static str,
    /// What a load gives.
    pub value: CtxValue,
    loads: u8,
    stores: u8,
}

/// A row of a context table.
#[allow(clippy::too_many_arguments, reason = "one row of a table a call")]
pub(super) const fn row(
    off: i32,
    size: u32,
    unit: u32,
    name: &'static str,
    value: CtxValue,
    loads: u8,
    stores: u8,
) -> CtxField {
    CtxField { off, size, unit, name, value, loads, stores }
}

/// An access to the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CtxRange {
    /// Offset, bytes.
    pub off: i32,
    /// Size: 1, 2, 4 or 8 bytes.
    pub size: u32,
}

impl CtxField {
    /// May the range be loaded?
    pub(super) fn may_load(&self, at: CtxRange) -> bool {
        self.allows(self.loads, at)
    }

    /// May the range be stored?
    pub(super) fn may_store(&self, at: CtxRange) -> bool {
        self.allows(self.stores, at)
    }

    fn allows(&self, sizes: u8, at: CtxRange) -> bool {
        let (off, size) = (i64::from(at.off), i64::from(at.size));
        let start = i64::from(self.off);
        let inside = start <= off && off + size <= start + i64::from(self.size);
        let sized = matches!(at.size, 1 | 2 | 4 | 8) && u32::from(sizes) & at.size != 0;
        let placed = sizes & AT_START == 0 || off == start;
        inside && sized && placed && off % size == 0
    }
}

//! Special fields of map values: what the kernel manages inside of them.

use crate::{Btf, Error, TypeId};

/// What a special field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum FieldKind {
    SpinLock,
    ResSpinLock,
    Timer,
    Workqueue,
    TaskWork,
    /// `__kptr_untrusted`: a pointer that is only read.
    KptrUnref,
    /// `__kptr`: a pointer with a reference.
    KptrRef,
    KptrPercpu,
    Uptr,
    ListHead,
    ListNode,
    RbRoot,
    RbNode,
    Refcount,
}

/// One special field of a map value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecialField {
    /// What it is.
    pub kind: FieldKind,
    /// Bytes from the start of the value.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// For pointers the type pointed to; for list heads and rb roots the type of what they hold.
    pub target: Option<TypeId>,
    /// For list heads and rb roots: where in the held type the node is, in bytes.
    pub node_offset: Option<u32>,
}

/// The special fields of a map value of type `id`, by offset.
pub fn special_fields(_btf: &Btf, _id: TypeId) -> Result<Vec<SpecialField>, Error> {
    Err(Error::new("special fields are not supported yet"))
}

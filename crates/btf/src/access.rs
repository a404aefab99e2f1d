//! What lies at an offset of a struct: the walk behind loads through BTF pointers.

use crate::{Btf, TypeId};
use std::fmt;

/// Type tag of a pointer that changes what the kernel lets a program do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PtrTag {
    /// `__user`: an address of user space.
    User,
    /// `__percpu`.
    Percpu,
    /// `__rcu`.
    Rcu,
}

/// One step into a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk<'a> {
    /// Data without further structure.
    Scalar,
    /// All of a pointer to a struct or union.
    Ptr {
        /// The struct, under its modifiers.
        to: TypeId,
        /// The tag next to the pointer.
        tag: Option<PtrTag>,
        /// Whether a union with several members was entered on the way.
        via_union: bool,
        /// Name of the member.
        field: &'a str,
    },
    /// A nested struct or union begins exactly here.
    Struct {
        /// It, under its modifiers.
        id: TypeId,
        /// Whether it or one on the way is a union with several members.
        via_union: bool,
    },
}

/// Why there is nothing to access; prints as the kernel's message, without newline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkError(pub(crate) String);

impl fmt::Display for WalkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WalkError {}

impl Btf {
    /// One step: what an access of `size` bytes at byte `off` of struct `id` meets first.
    pub fn struct_walk(&self, id: TypeId, off: u32, size: u32) -> Result<Walk<'_>, WalkError> {
        let _ = (id, off, size);
        Err(WalkError("not supported yet: struct walk".into()))
    }

    /// Walks on through nested structs until data or a pointer is met.
    pub fn struct_access(&self, id: TypeId, off: u32, size: u32) -> Result<Walk<'_>, WalkError> {
        self.struct_walk(id, off, size)
    }
}

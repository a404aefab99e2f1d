//! One resource that a path has acquired.

/// Kind of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefKind {
    Ptr,
    Irq,
    Lock,
    ResLock,
    ResLockIrq,
}

impl RefKind {
    /// Any lock.
    pub(crate) fn is_lock(self) -> bool {
        matches!(self, RefKind::Lock | RefKind::ResLock | RefKind::ResLockIrq)
    }
}

/// The map or object that contains a lock: an identity, never dereferenced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LockHome {
    #[default]
    None,
    /// A value of `Facts::maps[_]`.
    Map(u32),
    /// An object of a type in the program's BTF.
    Btf(u32),
}

/// One acquired reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) kind: RefKind,
    /// The `ref_obj_id` of the pointers to it (for locks, the id of the pointer).
    pub(crate) id: u32,
    /// Where it was acquired.
    pub(crate) insn_idx: u32,
    /// For locks.
    pub(crate) home: LockHome,
}

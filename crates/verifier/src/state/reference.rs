//! One resource that a path has acquired.

/// Kind of an acquired thing.
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

/// What a lock is in: told apart by identity, never dereferenced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LockHome {
    #[default]
    None,
    /// Value of `Facts::maps[_]`.
    Map(u32),
    /// Object of a type of the program's BTF.
    Btf(u32),
}

/// One acquired thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) kind: RefKind,
    /// Id that the pointers to it carry as `ref_obj_id` (or, for locks, the id of the pointer).
    pub(crate) id: u32,
    /// Where it was acquired.
    pub(crate) insn_idx: u32,
    /// For locks.
    pub(crate) home: LockHome,
}

//! The kinds of special fields, one row each, and what is found of one.

use crate::TypeId;

/// The kind of a special field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
#[repr(u8)]
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

use FieldKind::*;

/// Which arrays and duplicates are rejected was determined by loading such values into Linux 6.18.
///
/// One row per kind: the struct or type tag that identifies it, its size and alignment in bytes,
/// whether only one is allowed, and whether map values and allocated objects may contain it.
pub(crate) struct Row {
    pub(crate) kind: FieldKind,
    pub(crate) name: &'static str,
    pub(crate) size: u32,
    pub(crate) align: u32,
    pub(crate) unique: bool,
    pub(crate) in_map_value: bool,
    pub(crate) in_object: bool,
}

/// Only one of the kind is allowed.
const UNIQUE: u8 = 1;
/// Map values may contain it.
const IN_MAP_VALUE: u8 = 2;
/// Allocated objects may contain it.
const IN_OBJECT: u8 = 4;

#[rustfmt::skip]
pub(crate) const ROWS: [Row; 14] = [
    row(SpinLock,    "bpf_spin_lock",     4,  4, UNIQUE | IN_MAP_VALUE | IN_OBJECT),
    row(ResSpinLock, "bpf_res_spin_lock", 4,  4, UNIQUE | IN_MAP_VALUE | IN_OBJECT),
    row(Timer,       "bpf_timer",         16, 8, UNIQUE | IN_MAP_VALUE),
    row(Workqueue,   "bpf_wq",            16, 8, UNIQUE | IN_MAP_VALUE),
    row(TaskWork,    "bpf_task_work",     8,  8, UNIQUE | IN_MAP_VALUE),
    row(KptrUnref,   "kptr_untrusted",    8,  8, IN_MAP_VALUE | IN_OBJECT),
    row(KptrRef,     "kptr",              8,  8, IN_MAP_VALUE | IN_OBJECT),
    row(KptrPercpu,  "percpu_kptr",       8,  8, IN_MAP_VALUE | IN_OBJECT),
    row(Uptr,        "uptr",              8,  8, IN_MAP_VALUE),
    row(ListHead,    "bpf_list_head",     16, 8, IN_MAP_VALUE | IN_OBJECT),
    row(ListNode,    "bpf_list_node",     24, 8, IN_OBJECT),
    row(RbRoot,      "bpf_rb_root",       16, 8, IN_MAP_VALUE | IN_OBJECT),
    row(RbNode,      "bpf_rb_node",       32, 8, IN_OBJECT),
    row(Refcount,    "bpf_refcount",      4,  4, IN_MAP_VALUE | IN_OBJECT),
];

const fn row(kind: FieldKind, name: &'static str, size: u32, align: u32, flags: u8) -> Row {
    let unique = flags & UNIQUE != 0;
    let in_map_value = flags & IN_MAP_VALUE != 0;
    Row { kind, name, size, align, unique, in_map_value, in_object: flags & IN_OBJECT != 0 }
}

impl FieldKind {
    pub(crate) fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
    /// The struct (`bpf_timer`) or type tag (`kptr`) that identifies a field of this kind.
    pub fn name(self) -> &'static str {
        self.row().name
    }
    /// Size of the field in bytes.
    pub fn size(self) -> u32 {
        self.row().size
    }
    /// Whether this is a tagged pointer rather than a struct.
    pub fn is_pointer(self) -> bool {
        matches!(self, KptrUnref | KptrRef | KptrPercpu | Uptr)
    }
    /// Whether arrays of this kind are allowed.
    pub(crate) fn is_repeatable(self) -> bool {
        self.is_pointer() || matches!(self, ListHead | RbRoot)
    }
}

/// One special field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecialField {
    /// What it is.
    pub kind: FieldKind,
    /// Bytes from the start of the value.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// For pointers the target struct; for list heads and rb roots the struct that they contain.
    pub target: Option<TypeId>,
    /// For list heads and rb roots: the offset of the node in the contained struct, in bytes.
    pub node_offset: Option<u32>,
}

//! Which BTF of key and value a map may have: the special fields that a value of its type may hold,
//! and the types of its key.
//!
//! Kernel: `map_check_btf`, 6.18: every pair was tried with a value that has the field and what it
//! needs beside it; `crates/kernel/tests/it/map_fields.rs` repeats this. BPF_MAP_CREATE rejects the
//! BTF of other maps, not its absence: loaders then create the map without BTF.

use crate::{MapFlags, MapType as M};

/// Fields by the name of their struct or type tag, and the types whose values may have them.
struct Row {
    fields: &'static [&'static str],
    maps: &'static [M],
}

#[rustfmt::skip]
static ROWS: [Row; 5] = [
    Row { fields: &["bpf_spin_lock", "bpf_res_spin_lock"],
          maps: &[M::Hash, M::Array, M::CgroupStorage, M::SkStorage, M::InodeStorage, M::TaskStorage, M::CgrpStorage] },
    Row { fields: &["bpf_timer", "bpf_wq", "bpf_task_work"],
          maps: &[M::Hash, M::LruHash, M::Array] },
    Row { fields: &["kptr_untrusted", "kptr", "percpu_kptr", "bpf_refcount"],
          maps: &[M::Hash, M::PercpuHash, M::LruHash, M::LruPercpuHash, M::Array, M::PercpuArray, M::SkStorage, M::InodeStorage, M::TaskStorage, M::CgrpStorage] },
    Row { fields: &["uptr"], maps: &[M::TaskStorage] },
    Row { fields: &["bpf_list_head", "bpf_rb_root"], maps: &[M::Hash, M::Array] },
];

/// Flags with which a value has no special fields: programs could not maintain them.
const ONE_WAY: MapFlags = MapFlags::RDONLY_PROG.union(MapFlags::WRONLY_PROG);

/// Whether the kernel creates a map of this type and flags with a value that has the field, named
/// by its struct (`bpf_timer`) or type tag (`kptr`).
pub fn map_may_hold(map_type: M, flags: MapFlags, field: &str) -> bool {
    let row = ROWS.iter().find(|row| row.fields.contains(&field));
    !flags.intersects(ONE_WAY) && row.is_some_and(|row| row.maps.contains(&map_type))
}

/// The type of a key, as far as the kernel tells them apart. Arrays and local storage want their
/// index or descriptor to be an int, tries a struct, the storage of cgroups what identifies it, and
/// all others any type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyForm {
    /// The BTF describes the value only.
    Absent,
    /// An int of 32 bits.
    Int32,
    /// An int of 64 bits.
    Int64,
    /// A struct of an int of 64 bits followed by one of 32.
    Ids,
    /// Any other struct.
    Struct,
    /// Any other type.
    Other,
}

const INT_KEYS: [M; 6] =
    [M::Array, M::PercpuArray, M::SkStorage, M::InodeStorage, M::TaskStorage, M::CgrpStorage];

/// Whether the kernel creates a map with values described by a struct, and such a key. For the map
/// types whose values programs can look up.
pub fn map_key_may_be(map_type: M, key: KeyForm) -> bool {
    match map_type {
        M::LpmTrie => matches!(key, KeyForm::Ids | KeyForm::Struct),
        M::CgroupStorage | M::PercpuCgroupStorage => {
            matches!(key, KeyForm::Ids | KeyForm::Int64)
        }
        M::BloomFilter => key == KeyForm::Absent,
        _ if INT_KEYS.contains(&map_type) => key == KeyForm::Int32,
        _ => key != KeyForm::Absent,
    }
}

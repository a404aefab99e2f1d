//! Map types, with their numbers and names.
//!
//! Kernel: `enum bpf_map_type` (include/uapi/linux/bpf.h), 6.18, read from the kernel's own BTF.
//! The two deprecated cgroup storages share their number with the name that is kept here.

use std::fmt;

/// `enum bpf_map_type`: what a map is. The discriminant is the number of the ABI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum MapType {
    /// `BPF_MAP_TYPE_UNSPEC`.
    #[default]
    Unspec = 0,
    /// `BPF_MAP_TYPE_HASH`.
    Hash = 1,
    /// `BPF_MAP_TYPE_ARRAY`.
    Array = 2,
    /// `BPF_MAP_TYPE_PROG_ARRAY`.
    ProgArray = 3,
    /// `BPF_MAP_TYPE_PERF_EVENT_ARRAY`.
    PerfEventArray = 4,
    /// `BPF_MAP_TYPE_PERCPU_HASH`.
    PercpuHash = 5,
    /// `BPF_MAP_TYPE_PERCPU_ARRAY`.
    PercpuArray = 6,
    /// `BPF_MAP_TYPE_STACK_TRACE`.
    StackTrace = 7,
    /// `BPF_MAP_TYPE_CGROUP_ARRAY`.
    CgroupArray = 8,
    /// `BPF_MAP_TYPE_LRU_HASH`.
    LruHash = 9,
    /// `BPF_MAP_TYPE_LRU_PERCPU_HASH`.
    LruPercpuHash = 10,
    /// `BPF_MAP_TYPE_LPM_TRIE`.
    LpmTrie = 11,
    /// `BPF_MAP_TYPE_ARRAY_OF_MAPS`.
    ArrayOfMaps = 12,
    /// `BPF_MAP_TYPE_HASH_OF_MAPS`.
    HashOfMaps = 13,
    /// `BPF_MAP_TYPE_DEVMAP`.
    Devmap = 14,
    /// `BPF_MAP_TYPE_SOCKMAP`.
    Sockmap = 15,
    /// `BPF_MAP_TYPE_CPUMAP`.
    Cpumap = 16,
    /// `BPF_MAP_TYPE_XSKMAP`.
    Xskmap = 17,
    /// `BPF_MAP_TYPE_SOCKHASH`.
    Sockhash = 18,
    /// `BPF_MAP_TYPE_CGROUP_STORAGE`.
    CgroupStorage = 19,
    /// `BPF_MAP_TYPE_REUSEPORT_SOCKARRAY`.
    ReuseportSockarray = 20,
    /// `BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE`.
    PercpuCgroupStorage = 21,
    /// `BPF_MAP_TYPE_QUEUE`.
    Queue = 22,
    /// `BPF_MAP_TYPE_STACK`.
    Stack = 23,
    /// `BPF_MAP_TYPE_SK_STORAGE`.
    SkStorage = 24,
    /// `BPF_MAP_TYPE_DEVMAP_HASH`.
    DevmapHash = 25,
    /// `BPF_MAP_TYPE_STRUCT_OPS`.
    StructOps = 26,
    /// `BPF_MAP_TYPE_RINGBUF`.
    Ringbuf = 27,
    /// `BPF_MAP_TYPE_INODE_STORAGE`.
    InodeStorage = 28,
    /// `BPF_MAP_TYPE_TASK_STORAGE`.
    TaskStorage = 29,
    /// `BPF_MAP_TYPE_BLOOM_FILTER`.
    BloomFilter = 30,
    /// `BPF_MAP_TYPE_USER_RINGBUF`.
    UserRingbuf = 31,
    /// `BPF_MAP_TYPE_CGRP_STORAGE`.
    CgrpStorage = 32,
    /// `BPF_MAP_TYPE_ARENA`.
    Arena = 33,
}

/// Number of values of [`MapType`].
pub const MAP_TYPE_COUNT: usize = 34;

/// One row a value, in the order of the ABI: the value and its spelling in the kernel's headers.
static ROWS: [(MapType, &str); MAP_TYPE_COUNT] = [
    (MapType::Unspec, "BPF_MAP_TYPE_UNSPEC"),
    (MapType::Hash, "BPF_MAP_TYPE_HASH"),
    (MapType::Array, "BPF_MAP_TYPE_ARRAY"),
    (MapType::ProgArray, "BPF_MAP_TYPE_PROG_ARRAY"),
    (MapType::PerfEventArray, "BPF_MAP_TYPE_PERF_EVENT_ARRAY"),
    (MapType::PercpuHash, "BPF_MAP_TYPE_PERCPU_HASH"),
    (MapType::PercpuArray, "BPF_MAP_TYPE_PERCPU_ARRAY"),
    (MapType::StackTrace, "BPF_MAP_TYPE_STACK_TRACE"),
    (MapType::CgroupArray, "BPF_MAP_TYPE_CGROUP_ARRAY"),
    (MapType::LruHash, "BPF_MAP_TYPE_LRU_HASH"),
    (MapType::LruPercpuHash, "BPF_MAP_TYPE_LRU_PERCPU_HASH"),
    (MapType::LpmTrie, "BPF_MAP_TYPE_LPM_TRIE"),
    (MapType::ArrayOfMaps, "BPF_MAP_TYPE_ARRAY_OF_MAPS"),
    (MapType::HashOfMaps, "BPF_MAP_TYPE_HASH_OF_MAPS"),
    (MapType::Devmap, "BPF_MAP_TYPE_DEVMAP"),
    (MapType::Sockmap, "BPF_MAP_TYPE_SOCKMAP"),
    (MapType::Cpumap, "BPF_MAP_TYPE_CPUMAP"),
    (MapType::Xskmap, "BPF_MAP_TYPE_XSKMAP"),
    (MapType::Sockhash, "BPF_MAP_TYPE_SOCKHASH"),
    (MapType::CgroupStorage, "BPF_MAP_TYPE_CGROUP_STORAGE"),
    (MapType::ReuseportSockarray, "BPF_MAP_TYPE_REUSEPORT_SOCKARRAY"),
    (MapType::PercpuCgroupStorage, "BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE"),
    (MapType::Queue, "BPF_MAP_TYPE_QUEUE"),
    (MapType::Stack, "BPF_MAP_TYPE_STACK"),
    (MapType::SkStorage, "BPF_MAP_TYPE_SK_STORAGE"),
    (MapType::DevmapHash, "BPF_MAP_TYPE_DEVMAP_HASH"),
    (MapType::StructOps, "BPF_MAP_TYPE_STRUCT_OPS"),
    (MapType::Ringbuf, "BPF_MAP_TYPE_RINGBUF"),
    (MapType::InodeStorage, "BPF_MAP_TYPE_INODE_STORAGE"),
    (MapType::TaskStorage, "BPF_MAP_TYPE_TASK_STORAGE"),
    (MapType::BloomFilter, "BPF_MAP_TYPE_BLOOM_FILTER"),
    (MapType::UserRingbuf, "BPF_MAP_TYPE_USER_RINGBUF"),
    (MapType::CgrpStorage, "BPF_MAP_TYPE_CGRP_STORAGE"),
    (MapType::Arena, "BPF_MAP_TYPE_ARENA"),
];

/// What [`MapType::name`] leaves out of the header's spelling.
#[cfg(test)]
const NAME_PREFIX: &str = "BPF_MAP_TYPE_";

/// libbpf's spellings, indexed by the number.
static NAMES: [&str; MAP_TYPE_COUNT] = [
    "unspec",
    "hash",
    "array",
    "prog_array",
    "perf_event_array",
    "percpu_hash",
    "percpu_array",
    "stack_trace",
    "cgroup_array",
    "lru_hash",
    "lru_percpu_hash",
    "lpm_trie",
    "array_of_maps",
    "hash_of_maps",
    "devmap",
    "sockmap",
    "cpumap",
    "xskmap",
    "sockhash",
    "cgroup_storage",
    "reuseport_sockarray",
    "percpu_cgroup_storage",
    "queue",
    "stack",
    "sk_storage",
    "devmap_hash",
    "struct_ops",
    "ringbuf",
    "inode_storage",
    "task_storage",
    "bloom_filter",
    "user_ringbuf",
    "cgrp_storage",
    "arena",
];

impl MapType {
    /// The value with this number in the ABI; `None` if the kernel has none.
    pub fn from_number(number: u32) -> Option<MapType> {
        ROWS.get(number as usize).map(|row| row.0)
    }

    /// The value with this name, in either spelling: `percpu_array` or `BPF_MAP_TYPE_PERCPU_ARRAY`.
    pub fn from_name(name: &str) -> Option<MapType> {
        let at = NAMES.iter().position(|n| *n == name);
        at.or_else(|| ROWS.iter().position(|row| row.1 == name)).map(|i| ROWS[i].0)
    }

    /// Every value, in the order of the ABI.
    pub fn all() -> impl Iterator<Item = MapType> {
        ROWS.iter().map(|row| row.0)
    }

    /// The number in the ABI.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The number as a table index, below [`MAP_TYPE_COUNT`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// libbpf's spelling: `percpu_array`.
    pub fn name(self) -> &'static str {
        NAMES[self.index()]
    }

    /// The spelling of the kernel's headers: `BPF_MAP_TYPE_PERCPU_ARRAY`.
    pub fn kernel_name(self) -> &'static str {
        ROWS[self.index()].1
    }
}

impl fmt::Display for MapType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_abi_order_and_names_agree() {
        for (i, (value, kernel_name)) in ROWS.iter().enumerate() {
            assert_eq!(value.index(), i);
            assert_eq!(value.name(), kernel_name[NAME_PREFIX.len()..].to_lowercase());
            assert_eq!(MapType::from_number(i as u32), Some(*value));
            assert_eq!(MapType::from_name(value.name()), Some(*value));
            assert_eq!(MapType::from_name(kernel_name), Some(*value));
        }
        assert_eq!(MapType::from_number(MAP_TYPE_COUNT as u32), None);
        assert_eq!(MapType::from_name("no_such_name"), None);
    }
}

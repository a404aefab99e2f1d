//! Map types, with their numbers and names.
//!
//! Kernel: `enum bpf_map_type` (include/uapi/linux/bpf.h), 6.18, read from the kernel's own BTF.
//! The two deprecated cgroup storages share their number with the name that is kept here.

use crate::abi_enum::{abi_enum, abi_enum_spelled};

abi_enum_spelled! {
    /// `enum bpf_map_type`: the kind of a map. The discriminant is the ABI's number.
    #[derive(Default)]
    pub enum MapType {
        #[default]
        Unspec = 0, "unspec", "BPF_MAP_TYPE_UNSPEC";
        Hash = 1, "hash", "BPF_MAP_TYPE_HASH";
        Array = 2, "array", "BPF_MAP_TYPE_ARRAY";
        ProgArray = 3, "prog_array", "BPF_MAP_TYPE_PROG_ARRAY";
        PerfEventArray = 4, "perf_event_array", "BPF_MAP_TYPE_PERF_EVENT_ARRAY";
        PercpuHash = 5, "percpu_hash", "BPF_MAP_TYPE_PERCPU_HASH";
        PercpuArray = 6, "percpu_array", "BPF_MAP_TYPE_PERCPU_ARRAY";
        StackTrace = 7, "stack_trace", "BPF_MAP_TYPE_STACK_TRACE";
        CgroupArray = 8, "cgroup_array", "BPF_MAP_TYPE_CGROUP_ARRAY";
        LruHash = 9, "lru_hash", "BPF_MAP_TYPE_LRU_HASH";
        LruPercpuHash = 10, "lru_percpu_hash", "BPF_MAP_TYPE_LRU_PERCPU_HASH";
        LpmTrie = 11, "lpm_trie", "BPF_MAP_TYPE_LPM_TRIE";
        ArrayOfMaps = 12, "array_of_maps", "BPF_MAP_TYPE_ARRAY_OF_MAPS";
        HashOfMaps = 13, "hash_of_maps", "BPF_MAP_TYPE_HASH_OF_MAPS";
        Devmap = 14, "devmap", "BPF_MAP_TYPE_DEVMAP";
        Sockmap = 15, "sockmap", "BPF_MAP_TYPE_SOCKMAP";
        Cpumap = 16, "cpumap", "BPF_MAP_TYPE_CPUMAP";
        Xskmap = 17, "xskmap", "BPF_MAP_TYPE_XSKMAP";
        Sockhash = 18, "sockhash", "BPF_MAP_TYPE_SOCKHASH";
        CgroupStorage = 19, "cgroup_storage", "BPF_MAP_TYPE_CGROUP_STORAGE";
        ReuseportSockarray = 20, "reuseport_sockarray", "BPF_MAP_TYPE_REUSEPORT_SOCKARRAY";
        PercpuCgroupStorage = 21, "percpu_cgroup_storage", "BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE";
        Queue = 22, "queue", "BPF_MAP_TYPE_QUEUE";
        Stack = 23, "stack", "BPF_MAP_TYPE_STACK";
        SkStorage = 24, "sk_storage", "BPF_MAP_TYPE_SK_STORAGE";
        DevmapHash = 25, "devmap_hash", "BPF_MAP_TYPE_DEVMAP_HASH";
        StructOps = 26, "struct_ops", "BPF_MAP_TYPE_STRUCT_OPS";
        Ringbuf = 27, "ringbuf", "BPF_MAP_TYPE_RINGBUF";
        InodeStorage = 28, "inode_storage", "BPF_MAP_TYPE_INODE_STORAGE";
        TaskStorage = 29, "task_storage", "BPF_MAP_TYPE_TASK_STORAGE";
        BloomFilter = 30, "bloom_filter", "BPF_MAP_TYPE_BLOOM_FILTER";
        UserRingbuf = 31, "user_ringbuf", "BPF_MAP_TYPE_USER_RINGBUF";
        CgrpStorage = 32, "cgrp_storage", "BPF_MAP_TYPE_CGRP_STORAGE";
        Arena = 33, "arena", "BPF_MAP_TYPE_ARENA";
    }
}

//! What the verifier asks of a map type, one row each.
//!
//! Columns: map type; the kernel's struct of such a map, which programs may read (from the
//! kernel's BTF); whether sleepable programs may use it (tested on 6.18 with a sleepable uprobe
//! and a map of each type); what its slots hold.

use crate::MapType::{self, *};

/// What a slot of a map holds.
enum Slots {
    /// Bytes, or what only helpers reach.
    Plain,
    Sockets,
    Maps,
}

struct Row {
    map_type: MapType,
    kernel_struct: &'static str,
    usable_sleeping: bool,
    slots: Slots,
}

/// May sleepable programs use it?
const YES: bool = true;
const ___: bool = false;

const fn row(map_type: MapType, kernel_struct: &'static str, sleeps: bool, slots: Slots) -> Row {
    Row { map_type, kernel_struct, usable_sleeping: sleeps, slots }
}

/// In the order of the ABI.
static ROWS: [Row; MapType::COUNT] = [
    row(Unspec, "", ___, Slots::Plain),
    row(Hash, "bpf_htab", YES, Slots::Plain),
    row(Array, "bpf_array", YES, Slots::Plain),
    row(ProgArray, "bpf_array", ___, Slots::Plain),
    row(PerfEventArray, "bpf_array", ___, Slots::Plain),
    row(PercpuHash, "bpf_htab", YES, Slots::Plain),
    row(PercpuArray, "bpf_array", YES, Slots::Plain),
    row(StackTrace, "bpf_stack_map", ___, Slots::Plain),
    row(CgroupArray, "bpf_array", ___, Slots::Plain),
    row(LruHash, "bpf_htab", YES, Slots::Plain),
    row(LruPercpuHash, "bpf_htab", YES, Slots::Plain),
    row(LpmTrie, "lpm_trie", ___, Slots::Plain),
    row(ArrayOfMaps, "bpf_array", YES, Slots::Maps),
    row(HashOfMaps, "bpf_htab", YES, Slots::Maps),
    row(Devmap, "bpf_dtab", ___, Slots::Plain),
    row(Sockmap, "bpf_stab", ___, Slots::Sockets),
    row(Cpumap, "bpf_cpu_map", ___, Slots::Plain),
    row(Xskmap, "xsk_map", ___, Slots::Plain),
    row(Sockhash, "bpf_shtab", ___, Slots::Sockets),
    row(CgroupStorage, "bpf_cgroup_storage_map", ___, Slots::Plain),
    row(ReuseportSockarray, "reuseport_array", ___, Slots::Plain),
    row(PercpuCgroupStorage, "bpf_cgroup_storage_map", ___, Slots::Plain),
    row(Queue, "bpf_queue_stack", YES, Slots::Plain),
    row(Stack, "bpf_queue_stack", YES, Slots::Plain),
    row(SkStorage, "bpf_local_storage_map", YES, Slots::Plain),
    row(DevmapHash, "bpf_dtab", ___, Slots::Plain),
    row(StructOps, "bpf_struct_ops_map", ___, Slots::Plain),
    row(Ringbuf, "bpf_ringbuf_map", YES, Slots::Plain),
    row(InodeStorage, "bpf_local_storage_map", YES, Slots::Plain),
    row(TaskStorage, "bpf_local_storage_map", YES, Slots::Plain),
    row(BloomFilter, "bpf_bloom_filter", ___, Slots::Plain),
    row(UserRingbuf, "bpf_ringbuf_map", YES, Slots::Plain),
    row(CgrpStorage, "bpf_local_storage_map", YES, Slots::Plain),
    row(Arena, "bpf_arena", YES, Slots::Plain),
];

impl MapType {
    const fn row(self) -> &'static Row {
        &ROWS[self.index()]
    }

    /// The kernel's struct of such a map; empty if there is none.
    pub const fn kernel_struct(self) -> &'static str {
        self.row().kernel_struct
    }

    /// Whether sleepable programs may use such maps.
    pub const fn is_usable_sleeping(self) -> bool {
        self.row().usable_sleeping
    }

    /// Whether its values are kept with kernel objects: sockets, inodes, tasks or cgroups.
    pub const fn is_local_storage(self) -> bool {
        matches!(self, SkStorage | InodeStorage | TaskStorage | CgrpStorage)
    }

    /// Whether its values are sockets.
    pub const fn holds_sockets(self) -> bool {
        matches!(self.row().slots, Slots::Sockets)
    }

    /// Whether its values are maps.
    pub const fn holds_maps(self) -> bool {
        matches!(self.row().slots, Slots::Maps)
    }
}

const _: () = {
    let mut at = 0;
    while at < MapType::COUNT {
        let row = &ROWS[at];
        assert!(row.map_type.index() == at, "rows are in the order of the ABI");
        assert!(row.kernel_struct.is_empty() == (at == Unspec.index()));
        at += 1;
    }
};

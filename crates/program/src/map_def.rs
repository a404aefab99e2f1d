//! `MapDef`: what is passed to BPF_MAP_CREATE, and the initial contents set by the loader.

use skep_uapi::{MapFlags, MapType};

/// Index of a map in `Program::maps`. A `ld_imm64` that refers to a map holds it as its `imm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MapIdx(pub u32);

/// Where libbpf would pin the map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pinning {
    /// Not pinned.
    #[default]
    None,
    /// `LIBBPF_PIN_BY_NAME`.
    ByName,
    /// A value for another loader, kept as in the object.
    Other(u32),
}

/// What a slot of a map-in-map or prog array refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlotTarget {
    /// A map of the same object.
    Map(MapIdx),
    /// A program of the same object, by name.
    Prog(String),
}

/// One filled slot of a `values` array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapSlot {
    /// Key: index in the array, from 0.
    pub index: u32,
    /// What the slot holds.
    pub target: SlotTarget,
}

/// A map definition, with the sizes passed to the kernel (rounded as libbpf does).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapDef {
    /// Name in the object; the kernel's is `kernel_name()`.
    pub name: String,
    /// `BPF_MAP_TYPE_*`.
    pub map_type: MapType,
    /// Size of a key, bytes.
    pub key_size: u32,
    /// Size of a value, bytes.
    pub value_size: u32,
    /// Capacity in entries; in bytes for ring buffers, in pages for arenas.
    pub max_entries: u32,
    /// `BPF_F_*` flags of BPF_MAP_CREATE.
    pub map_flags: MapFlags,
    /// Number of hashes of a bloom filter, first address of an arena; else 0.
    pub map_extra: u64,
    /// NUMA node, meaningful with `BPF_F_NUMA_NODE`.
    pub numa_node: u32,
    /// Where the object wants it pinned; skep pins nothing.
    pub pinning: Pinning,
    /// Template of the inner maps, for `ARRAY_OF_MAPS` and `HASH_OF_MAPS`.
    pub inner: Option<Box<MapDef>>,
    /// Slots of `values` that the object fills.
    pub slots: Vec<MapSlot>,
    /// BTF id (in the object's BTF) of the key's type; 0 if none is passed to the kernel.
    pub btf_key_type_id: u32,
    /// BTF id (in the object's BTF) of the value's type; 0 if none is passed to the kernel.
    pub btf_value_type_id: u32,
    /// BTF id (in kernel BTF) of the wrapper type, for `STRUCT_OPS`; else 0.
    pub btf_vmlinux_value_type_id: u32,
    /// Initial value of a data section's map or of a struct_ops map, `value_size` bytes; empty if
    /// none.
    pub contents: Vec<u8>,
    /// The loader freezes the map after filling it: programs may treat its contents as constants.
    pub frozen: bool,
    /// Size of the memory mapping of a `BPF_F_MMAPABLE` map, bytes, whole pages; 0 if not mapped.
    pub mmap_size_bytes: u64,
    /// Created by default (`false` if the object disables that, as for `?.struct_ops`).
    pub autocreate: bool,
}

/// Names that the kernel sees have at most this many bytes (`BPF_OBJ_NAME_LEN` less the final 0).
pub(crate) const KERNEL_NAME_BYTES_MAX: usize = 15;

impl MapDef {
    /// The name truncated to what the kernel stores. Truncated names may repeat in one object.
    pub fn kernel_name(&self) -> &str {
        cut_name(&self.name)
    }

    /// Byte `at` of the initial value: zero where `contents` gives none; `None` past its end.
    pub fn initial_byte(&self, at: usize) -> Option<u8> {
        let inside = at < self.value_size as usize;
        inside.then(|| self.contents.get(at).copied().unwrap_or(0))
    }

    /// Whether programs may not write its values: because of the flag or the type (a lookup in a
    /// device map returns a kernel object).
    pub fn is_rdonly_prog(&self) -> bool {
        self.map_flags.contains(MapFlags::RDONLY_PROG)
            || matches!(self.map_type, MapType::Devmap | MapType::DevmapHash)
    }
}

pub(crate) fn cut_name(name: &str) -> &str {
    let mut end = name.len().min(KERNEL_NAME_BYTES_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

//! Maps: memory shared by programs and the embedder. One file per kind; this one has the common
//! parts.
//!
//! # Invariants
//! 1. A key or value slice that reaches a `MapKind` has exactly the map's size.
//! 2. The address of a value stays valid memory of this map until the map is dropped. In a trie it
//!    is not reused for another key while a run that could hold it is in progress (`lpm_nodes`). In
//!    a hash it may be, as in the kernel, if a run removes more than a few elements or runs hold
//!    all elements (`element_pool`); even so, a copied value or key is consistent and belongs to
//!    its key.
//!
//! Kernel: the `map_ops` of each kind (6.18). Errnos and limits are compared with bpf(2) in
//! `tests/map_agreement.rs`.

mod array;
mod bloom_filter;
mod cgroup_storage;
pub(crate) mod ctx_need;
mod device_map;
mod element_pool;
mod handle;
pub(crate) mod hash;
mod hash_word;
mod lpm_nodes;
mod lpm_trie;
mod map_in_map;
mod percpu_array;
mod percpu_values;
mod perf_event_array;
pub(crate) mod prog_array;
pub(crate) mod prog_owner;
mod queue_stack;
mod record_waiters;
pub(crate) mod registry;
pub(crate) mod ringbuf;
mod slots;
mod stack_trace;
pub(crate) mod user_ringbuf;
mod value;
pub(crate) mod verified_as;

pub use handle::{Entries, MapHandle, TypedMap, UpdateFlags};
pub use perf_event_array::Sample;

use crate::{Errno, Error};
use hash::Hash;
use perf_event_array::PerfEventArray;
use prog_array::ProgArray;
use registry::Registry;
use ringbuf::Ringbuf;
use skep_btf::Btf;
use skep_mem::{Budget, Region};
use skep_program::MapDef;
use skep_uapi::{MapFlags, MapShape, MapType, map_rule};
use std::sync::Arc;
use user_ringbuf::UserRingbuf;
use value::ValueLayout;
use verified_as::Template;

/// `BPF_NOEXIST` of an update.
pub(crate) const BPF_NOEXIST: u64 = 1;
/// `BPF_EXIST` of an update.
pub(crate) const BPF_EXIST: u64 = 2;
/// `BPF_F_LOCK` of an update.
pub(crate) const BPF_F_LOCK: u64 = 4;

/// A map.
pub struct Map {
    shape: MapShape,
    map_type: MapType,
    name: String,
    id: u32,
    btf: Option<MapBtf>,
    frozen: bool,
    /// Requirements that a map of maps may have on it.
    template: Template,
    kind: Kind,
}

/// The kinds whose lookup machine code calls directly, and all others.
enum Kind {
    Hash(Box<Hash>),
    Other(Box<dyn MapKind>),
}

/// The BTF types of keys and values, for printing.
#[derive(Clone, Debug)]
pub struct MapBtf {
    /// The object's BTF.
    pub btf: Arc<Btf>,
    /// Type of the key; 0 is void.
    pub key_type_id: u32,
    /// Type of the value; 0 is void.
    pub value_type_id: u32,
}

/// Input for creating maps besides their definition.
#[derive(Clone)]
pub(crate) struct Setup {
    /// "CPUs": threads that may run programs at the same time.
    pub(crate) cpus: u32,
    pub(crate) budget: Arc<Budget>,
    pub(crate) btf: Option<Arc<Btf>>,
    /// Maps and programs to which values refer.
    pub(crate) registry: Arc<Registry>,
}

/// The operations of each kind. Keys and values have the map's sizes.
///
/// Operations that a kind does not define are not supported: the default errno is the most common
/// one of bpf(2).
pub(crate) trait MapKind: Send + Sync {
    /// Address of a value for a program, 0 if there is none.
    fn lookup(&self, _key: &[u8]) -> u64 {
        0
    }

    /// Address of the value of `bpf_get_local_storage`; only for cgroup storage.
    fn storage(&self) -> u64 {
        0
    }

    /// Sets the value that a program would look up.
    fn update(&self, _key: &[u8], _value: &[u8], _flags: u64) -> Result<(), Errno> {
        Err(Errno::ENOTSUPP)
    }

    fn delete(&self, _key: &[u8]) -> Result<(), Errno> {
        Err(Errno::ENOTSUPP)
    }

    /// The key after `key`; the first one for `None` and for an absent key.
    fn next_key(&self, _key: Option<&[u8]>, _next: &mut [u8]) -> Result<(), Errno> {
        Err(Errno::ENOTSUPP)
    }

    fn push(&self, _value: &[u8], _flags: u64) -> Result<(), Errno> {
        Err(Errno::ENOTSUPP)
    }

    /// Pops the next value, or, with `keep`, copies it.
    fn pop(&self, _value: &mut [u8], _keep: bool) -> Result<(), Errno> {
        Err(Errno::ENOTSUPP)
    }

    /// Lookup by a program in the values of any "CPU"; only for per-CPU kinds.
    fn lookup_cpu(&self, _key: &[u8], _cpu: u32) -> u64 {
        0
    }

    /// BPF_MAP_LOOKUP_ELEM: a copy of the value, or of all CPUs' values for per-CPU kinds.
    fn read(&self, _key: &[u8]) -> Result<Vec<u8>, Errno> {
        Err(Errno::ENOTSUPP)
    }

    /// BPF_MAP_UPDATE_ELEM: like `update`, with all CPUs' values for per-CPU kinds.
    fn write(&self, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        self.update(key, value, flags)
    }

    /// Addresses of the key and the value for an address inside a value; only for kinds whose
    /// values may have timers.
    fn entry_at(&self, _addr: u64) -> Option<(u64, u64)> {
        None
    }

    /// Calls `each` with the addresses of key and value until it returns true to stop.
    fn for_each(&self, _each: &mut dyn FnMut(u64, u64) -> bool) -> Result<u32, Errno> {
        Err(Errno::EINVAL)
    }

    /// The region and offset of an access of `size` bytes at `addr`, if it is inside this map's
    /// memory.
    fn locate(&self, addr: u64, size: usize) -> Option<(&Region, usize)>;

    /// Size of a value as copied by bpf(2).
    fn user_value_size(&self, shape: &MapShape) -> usize {
        shape.value_size as usize
    }

    /// Whether changes wait for runs, or check which are in progress: then the caller need not be
    /// in one.
    fn waits_for_runs(&self) -> bool {
        false
    }

    /// Frees replaced items that no run can use any more.
    fn settle(&self) {}

    fn as_prog_array(&self) -> Option<&ProgArray> {
        None
    }

    fn as_ringbuf(&self) -> Option<&Ringbuf> {
        None
    }

    fn as_user_ringbuf(&self) -> Option<&UserRingbuf> {
        None
    }

    fn as_perf_event_array(&self) -> Option<&PerfEventArray> {
        None
    }

    /// The address of values, if a lookup is a bounds check and a multiplication.
    fn direct(&self) -> Option<DirectValues> {
        None
    }

    /// The same for CPU 0's values, the distance to the next CPU's values, and the number of CPUs.
    fn direct_percpu(&self) -> Option<(DirectValues, u32, u32)> {
        None
    }
}

/// Values stored contiguously.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DirectValues {
    /// Address of value 0.
    pub(crate) base: u64,
    /// Distance between values, in bytes.
    pub(crate) stride: u32,
    /// Number of values.
    pub(crate) count: u32,
}

impl Map {
    /// Creates a map as BPF_MAP_CREATE would.
    ///
    /// # Errors
    ///
    /// The kernel would reject the definition; the kind is not modelled; no memory.
    pub(crate) fn create(def: &MapDef, id: u32, setup: &Setup) -> Result<Map, Error> {
        let made = Map::create_kind(def, setup);
        let kind = made.map_err(|e| e.context(format!("map '{}' ({})", def.name, def.map_type)))?;
        let btf = setup.btf.as_ref().map(|btf| MapBtf {
            btf: btf.clone(),
            key_type_id: def.btf_key_type_id,
            value_type_id: def.btf_value_type_id,
        });
        let (shape, map_type) = (shape(def), def.map_type);
        let name = def.name.clone();
        let template = Template::of((def, setup.btf.as_ref()));
        Ok(Map { shape, map_type, name, id, btf, frozen: def.frozen, template, kind })
    }

    fn create_kind(def: &MapDef, setup: &Setup) -> Result<Kind, Error> {
        use MapType as T;
        let shape = shape(def);
        let rule = map_rule(def.map_type)
            .ok_or_else(|| Error::unsupported(format!("maps of type {}", def.map_type)))?;
        rule.check(&shape).map_err(|why| {
            let sizes = format!(
                "key {}, value {}, entries {}, flags {:#x}",
                shape.key_size,
                shape.value_size,
                shape.max_entries,
                shape.flags.bits()
            );
            Error::input(format!("{}: {why:?} not allowed ({sizes})", Errno::EINVAL))
                .because(Errno::EINVAL)
        })?;
        let layout = ValueLayout::of(def, setup.btf.as_deref(), &setup.registry.objects)?;
        if layout.owns() && !matches!(def.map_type, T::Array | T::Hash | T::LruHash) {
            return Err(Error::unsupported(format!("objects in maps of type {}", def.map_type)));
        }
        let other: Box<dyn MapKind> = match def.map_type {
            MapType::Array => Box::new(array::Array::new(&shape, layout, setup)?),
            MapType::PercpuArray => {
                Box::new(percpu_array::PercpuArray::new(&shape, layout, setup)?)
            }
            MapType::Hash | MapType::LruHash | MapType::PercpuHash | MapType::LruPercpuHash => {
                let hash = Hash::new(def.map_type, &shape, (layout, setup))?;
                return Ok(Kind::Hash(Box::new(hash)));
            }
            MapType::LpmTrie => Box::new(lpm_trie::LpmTrie::new(&shape, layout, setup)?),
            MapType::Queue | MapType::Stack => {
                let newest_first = def.map_type == MapType::Stack;
                Box::new(queue_stack::QueueStack::new(&shape, newest_first, (layout, setup))?)
            }
            MapType::BloomFilter => Box::new(bloom_filter::BloomFilter::new(def, setup)?),
            MapType::ProgArray => Box::new(ProgArray::new(&shape, setup)?),
            MapType::ArrayOfMaps => Box::new(map_in_map::ArrayOfMaps::new(def, setup)?),
            MapType::HashOfMaps => Box::new(map_in_map::HashOfMaps::new(def, setup)?),
            MapType::Devmap | MapType::DevmapHash | MapType::Cpumap | MapType::Xskmap => {
                Box::new(device_map::DeviceMap::new(def.map_type, &shape, setup)?)
            }
            MapType::Ringbuf => Box::new(Ringbuf::new(shape.max_entries, setup)?),
            MapType::CgroupStorage | MapType::PercpuCgroupStorage => {
                let percpu = def.map_type == MapType::PercpuCgroupStorage;
                Box::new(cgroup_storage::CgroupStorage::new(&shape, percpu, (layout, setup))?)
            }
            MapType::UserRingbuf => Box::new(UserRingbuf::new(shape.max_entries, setup)?),
            MapType::PerfEventArray => Box::new(PerfEventArray::new(&shape, setup)),
            MapType::StackTrace => Box::new(stack_trace::StackTrace::new(&shape)),
            other => return Err(Error::unsupported(format!("maps of type {other}"))),
        };
        Ok(Kind::Other(other))
    }

    /// Key size, value size, capacity, flags.
    pub fn shape(&self) -> &MapShape {
        &self.shape
    }

    /// `BPF_MAP_TYPE_*`.
    pub fn map_type(&self) -> MapType {
        self.map_type
    }

    /// Name in the object.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The map's id in this process, from 1.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The types of keys and values.
    pub fn btf(&self) -> Option<&MapBtf> {
        self.btf.as_ref()
    }

    pub(crate) fn is_frozen(&self) -> bool {
        self.frozen
    }

    #[inline]
    pub(crate) fn kind(&self) -> &dyn MapKind {
        match &self.kind {
            Kind::Hash(hash) => &**hash,
            Kind::Other(other) => &**other,
        }
    }

    /// The map as one of the hash map kinds.
    #[inline]
    pub(crate) fn hash(&self) -> Option<&Hash> {
        match &self.kind {
            Kind::Hash(hash) => Some(hash),
            Kind::Other(_) => None,
        }
    }

    /// Whether each "CPU" has its own value.
    pub fn is_percpu(&self) -> bool {
        use MapType as T;
        matches!(
            self.map_type,
            T::PercpuArray | T::PercpuHash | T::LruPercpuHash | T::PercpuCgroupStorage
        )
    }
}

impl std::fmt::Debug for Map {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Map { name, map_type, shape, .. } = self;
        write!(f, "Map {{ {name}, {map_type}, {shape:?} }}")
    }
}

fn shape(def: &MapDef) -> MapShape {
    MapShape {
        key_size: def.key_size,
        value_size: def.value_size,
        max_entries: def.max_entries,
        flags: def.map_flags,
    }
}

/// Checks `BPF_ANY`, `BPF_NOEXIST` and `BPF_EXIST` against whether the key exists.
pub(crate) fn check_exists(exists: bool, flags: u64) -> Result<(), Errno> {
    match flags & (BPF_NOEXIST | BPF_EXIST) {
        BPF_NOEXIST if exists => Err(Errno::EEXIST),
        BPF_EXIST if !exists => Err(Errno::ENOENT),
        _ => Ok(()),
    }
}

/// What user space may do with a map with these flags.
pub(crate) fn user_may(flags: MapFlags, write: bool) -> Result<(), Errno> {
    let forbidden = if write { MapFlags::RDONLY } else { MapFlags::WRONLY };
    if flags.contains(forbidden) { Err(Errno::EPERM) } else { Ok(()) }
}

/// The index encoded in an array's key.
#[inline]
pub(crate) fn index(key: &[u8]) -> u32 {
    key.first_chunk::<4>().map_or(u32::MAX, |bytes| u32::from_ne_bytes(*bytes))
}

/// `next_key` of arrays.
pub(crate) fn next_index(key: Option<&[u8]>, count: u32, next: &mut [u8]) -> Result<(), Errno> {
    let following = match key.map(index) {
        Some(last) if last == count - 1 => return Err(Errno::ENOENT),
        Some(at) if at < count => at + 1,
        _ => 0,
    };
    next.copy_from_slice(&following.to_ne_bytes());
    Ok(())
}

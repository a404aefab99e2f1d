//! Maps: memory shared by programs and the embedder. One file per kind; `kind` has what they have
//! in common, `create` knows all of them.
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
mod create;
pub(crate) mod ctx_need;
mod device_map;
mod element_pool;
mod handle;
pub(crate) mod hash;
mod hash_function;
mod hash_word;
mod kind;
mod lpm_nodes;
mod lpm_trie;
mod map_in_map;
mod percpu_array;
mod percpu_values;
pub(crate) mod perf_event_array;
pub(crate) mod prog_array;
pub(crate) mod prog_owner;
pub(crate) mod prog_registry;
mod queue_stack;
mod record_waiters;
pub(crate) mod registry;
pub(crate) mod ringbuf;
pub(crate) mod setup;
mod slots;
mod stack_trace;
pub(crate) mod user_ringbuf;
mod value;
pub(crate) mod verified_as;

pub use handle::{Entries, MapHandle, TypedMap, UpdateFlags};
pub use perf_event_array::Sample;

use hash::Hash;
use kind::MapKind;
pub(crate) use kind::Resources;
use perf_event_array::PerfEventArray;
use prog_array::ProgArray;
use ringbuf::Ringbuf;
use skep_btf::Btf;
use skep_uapi::{MapShape, MapType};
use std::sync::Arc;
use user_ringbuf::UserRingbuf;
use verified_as::Template;

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

/// The kinds that have operations of their own, and all others.
enum Kind {
    Hash(Box<Hash>),
    ProgArray(Box<ProgArray>),
    Ringbuf(Box<Ringbuf>),
    UserRingbuf(Box<UserRingbuf>),
    PerfEventArray(Box<PerfEventArray>),
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

impl Map {
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

    fn template(&self) -> &Template {
        &self.template
    }

    pub(crate) fn is_frozen(&self) -> bool {
        self.frozen
    }

    #[inline]
    pub(crate) fn kind(&self) -> &dyn MapKind {
        match &self.kind {
            Kind::Hash(hash) => &**hash,
            Kind::ProgArray(array) => &**array,
            Kind::Ringbuf(ring) => &**ring,
            Kind::UserRingbuf(ring) => &**ring,
            Kind::PerfEventArray(array) => &**array,
            Kind::Other(other) => &**other,
        }
    }

    /// The map as one of the hash map kinds.
    #[inline]
    pub(crate) fn hash(&self) -> Option<&Hash> {
        match &self.kind {
            Kind::Hash(hash) => Some(hash),
            _ => None,
        }
    }

    pub(crate) fn prog_array(&self) -> Option<&ProgArray> {
        match &self.kind {
            Kind::ProgArray(array) => Some(array),
            _ => None,
        }
    }

    pub(crate) fn ringbuf(&self) -> Option<&Ringbuf> {
        match &self.kind {
            Kind::Ringbuf(ring) => Some(ring),
            _ => None,
        }
    }

    pub(crate) fn user_ringbuf(&self) -> Option<&UserRingbuf> {
        match &self.kind {
            Kind::UserRingbuf(ring) => Some(ring),
            _ => None,
        }
    }

    pub(crate) fn perf_event_array(&self) -> Option<&PerfEventArray> {
        match &self.kind {
            Kind::PerfEventArray(array) => Some(array),
            _ => None,
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

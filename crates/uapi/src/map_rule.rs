//! Which maps can be created.
//!
//! Kernel: `map_create` and the `map_alloc_check` of each map type, 6.18. Every attribute was
//! varied alone; `tests/map_rule.rs` repeats the results. Not modelled: memory exhaustion, value
//! types that need BTF (local storage), inner maps, struct_ops, `BPF_F_STACK_BUILD_ID`.

use crate::{MapFlags, MapType};
use std::fmt;

/// Largest allocation of the kernel, bytes.
const KMALLOC_MAX: u64 = 4 << 20;
/// Largest per-CPU allocation, bytes.
const PCPU_MAX: u64 = 32 << 10;
/// `CONFIG_NR_CPUS` of the tested machine.
const NR_CPUS: u64 = 256;
const PAGE: u64 = crate::limits::PAGE_SIZE_BYTES as u64;

/// Sizes or counts that are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Nothing but 0.
    Zero,
    /// Inclusive range.
    Between(u64, u64),
    /// One of two.
    Either(u64, u64),
    /// A multiple of the first, at most the second, not 0.
    Multiple(u64, u64),
    /// Multiple of a number, or 0.
    MultipleOrZero(u64),
    /// A power of two, at least one page.
    PagesPowerOfTwo,
}

impl Amount {
    /// Is the value allowed?
    pub fn allows(self, value: u64) -> bool {
        match self {
            Amount::Zero => value == 0,
            Amount::Between(min, max) => (min..=max).contains(&value),
            Amount::Either(a, b) => value == a || value == b,
            Amount::Multiple(unit, max) => value != 0 && value.is_multiple_of(unit) && value <= max,
            Amount::MultipleOrZero(unit) => value.is_multiple_of(unit),
            Amount::PagesPowerOfTwo => value >= PAGE && value.is_power_of_two(),
        }
    }
}

/// The rules of one map type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapRule {
    /// Map type.
    pub map_type: MapType,
    /// Key size, bytes.
    pub key: Amount,
    /// Value size, bytes.
    pub value: Amount,
    /// `max_entries`.
    pub entries: Amount,
    /// Flags that must be set.
    pub required: MapFlags,
    /// Flags that may be set besides.
    pub allowed: MapFlags,
}

const fn exactly(value: u64) -> Amount {
    Amount::Between(value, value)
}

const FOUR: Amount = exactly(4);
const FOUR_OR_EIGHT: Amount = Amount::Either(4, 8);
const SOME: Amount = Amount::Between(1, u32::MAX as u64);
const NONE: MapFlags = MapFlags::empty();
const NUMA: MapFlags = MapFlags::NUMA_NODE;
const USER: MapFlags = MapFlags::RDONLY.union(MapFlags::WRONLY);
const PROG: MapFlags = MapFlags::RDONLY_PROG.union(MapFlags::WRONLY_PROG);
const NUMA_USER: MapFlags = NUMA.union(USER);
const ACCESS: MapFlags = USER.union(PROG);
const NUMA_ACCESS: MapFlags = NUMA.union(ACCESS);
const SEED: MapFlags = MapFlags::ZERO_SEED;
const PREALLOC: MapFlags = MapFlags::NO_PREALLOC;
/// Key and value of a hash element, with what the kernel keeps beside them.
const HASH_ELEM: Amount = Amount::Between(1, KMALLOC_MAX - 48 - 2);
const CGROUP_KEY: Amount = Amount::Either(8, 16);

type M = MapType;

const fn rule(map_type: M, sizes: [Amount; 3], required: MapFlags, allowed: MapFlags) -> MapRule {
    let [key, value, entries] = sizes;
    MapRule { map_type, key, value, entries, required, allowed }
}

const HASH_FLAGS: MapFlags = PREALLOC.union(NUMA_ACCESS).union(SEED);
const PERCPU_HASH_FLAGS: MapFlags = PREALLOC.union(ACCESS).union(SEED);
const LRU_FLAGS: MapFlags = MapFlags::NO_COMMON_LRU.union(NUMA_ACCESS).union(SEED);
const LRU_PERCPU_FLAGS: MapFlags = MapFlags::NO_COMMON_LRU.union(ACCESS).union(SEED);
const ARRAY_FLAGS: MapFlags = NUMA_ACCESS.union(MapFlags::MMAPABLE).union(MapFlags::INNER_MAP);
const PERF_FLAGS: MapFlags = NUMA_USER.union(MapFlags::PRESERVE_ELEMS);
const ARENA_FLAGS: MapFlags = MapFlags::SEGV_ON_FAULT.union(MapFlags::NO_USER_CONV);
const PERCPU_VALUE: Amount = Amount::Between(1, PCPU_MAX);
const ANY_VALUE: Amount = Amount::Between(1, KMALLOC_MAX);
const LPM_VALUE: Amount = Amount::Between(1, 4_194_024);
/// Values of local storage, in bytes; found by bisection.
const LOCAL: Amount = Amount::Between(1, 65_407);
const STORAGE: [Amount; 3] = [FOUR, LOCAL, Amount::Zero];
const FDS: [Amount; 3] = [FOUR, FOUR, SOME];

/// In the order of the ABI.
#[rustfmt::skip]
static RULES: [MapRule; 32] = [
    rule(M::Hash, [HASH_ELEM, HASH_ELEM, SOME], NONE, HASH_FLAGS),
    rule(M::Array, [FOUR, Amount::Between(1, i32::MAX as u64), SOME], NONE, ARRAY_FLAGS),
    rule(M::ProgArray, FDS, NONE, NUMA_USER),
    rule(M::PerfEventArray, FDS, NONE, PERF_FLAGS),
    rule(M::PercpuHash, [HASH_ELEM, PERCPU_VALUE, SOME], NONE, PERCPU_HASH_FLAGS),
    rule(M::PercpuArray, [FOUR, PERCPU_VALUE, SOME], NONE, ACCESS),
    rule(M::StackTrace, [FOUR, Amount::Multiple(8, 127 * 8), SOME], NONE, NUMA_USER),
    rule(M::CgroupArray, FDS, NONE, NUMA_USER),
    rule(M::LruHash, [HASH_ELEM, HASH_ELEM, SOME], NONE, LRU_FLAGS),
    rule(M::LruPercpuHash, [HASH_ELEM, PERCPU_VALUE, SOME], NONE, LRU_PERCPU_FLAGS),
    rule(M::LpmTrie, [Amount::Between(5, 260), LPM_VALUE, SOME], PREALLOC, NUMA_ACCESS),
    rule(M::ArrayOfMaps, FDS, NONE, NUMA_USER),
    rule(M::HashOfMaps, [HASH_ELEM, FOUR, SOME], NONE, HASH_FLAGS),
    rule(M::Devmap, [FOUR, FOUR_OR_EIGHT, SOME], NONE, NUMA_USER),
    rule(M::Sockmap, [FOUR, FOUR_OR_EIGHT, SOME], NONE, NUMA_USER),
    rule(M::Cpumap, [FOUR, FOUR_OR_EIGHT, Amount::Between(1, NR_CPUS)], NONE, NUMA),
    rule(M::Xskmap, FDS, NONE, NUMA_USER),
    rule(M::Sockhash, [Amount::Between(1, 512), FOUR_OR_EIGHT, SOME], NONE, NUMA_USER),
    rule(M::CgroupStorage, [CGROUP_KEY, LOCAL, Amount::Zero], NONE, NUMA_ACCESS),
    rule(M::ReuseportSockarray, [FOUR, FOUR_OR_EIGHT, SOME], NONE, NUMA_ACCESS),
    rule(M::PercpuCgroupStorage, [CGROUP_KEY, PERCPU_VALUE, Amount::Zero], NONE, NUMA_ACCESS),
    rule(M::Queue, [Amount::Zero, ANY_VALUE, SOME], NONE, NUMA_ACCESS),
    rule(M::Stack, [Amount::Zero, ANY_VALUE, SOME], NONE, NUMA_ACCESS),
    rule(M::SkStorage, STORAGE, PREALLOC, MapFlags::CLONE),
    rule(M::DevmapHash, [FOUR, FOUR_OR_EIGHT, SOME], NONE, NUMA_USER),
    rule(M::Ringbuf, [Amount::Zero, Amount::Zero, Amount::PagesPowerOfTwo], NONE, NUMA),
    rule(M::InodeStorage, STORAGE, PREALLOC, MapFlags::CLONE),
    rule(M::TaskStorage, STORAGE, PREALLOC, MapFlags::CLONE),
    rule(M::BloomFilter, [Amount::Zero, ANY_VALUE, SOME], NONE, NUMA_ACCESS.union(SEED)),
    rule(M::UserRingbuf, [Amount::Zero, Amount::Zero, Amount::PagesPowerOfTwo], NONE, NUMA),
    rule(M::CgrpStorage, STORAGE, PREALLOC, MapFlags::CLONE),
    rule(M::Arena, [Amount::Zero, Amount::Zero, SOME], MapFlags::MMAPABLE, ARENA_FLAGS),
];

/// What a map is created with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapShape {
    /// Key size, bytes.
    pub key_size: u32,
    /// Value size, bytes.
    pub value_size: u32,
    /// `max_entries`.
    pub max_entries: u32,
    /// Flags.
    pub flags: MapFlags,
}

/// The attribute for which the kernel rejects a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapRefusal {
    /// `key_size`.
    KeySize,
    /// `value_size`.
    ValueSize,
    /// `max_entries`.
    MaxEntries,
    /// `map_flags`.
    Flags,
}

impl fmt::Display for MapRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MapRefusal::KeySize => "the kernel rejects key_size",
            MapRefusal::ValueSize => "the kernel rejects value_size",
            MapRefusal::MaxEntries => "the kernel rejects max_entries",
            MapRefusal::Flags => "the kernel rejects map_flags",
        })
    }
}

impl std::error::Error for MapRefusal {}

/// The rules of a map type; `None` for struct_ops, whose maps follow their struct.
pub fn map_rule(map_type: MapType) -> Option<&'static MapRule> {
    RULES.iter().find(|rule| rule.map_type == map_type)
}

impl MapRule {
    /// Whether the kernel would create the map.
    ///
    /// # Errors
    ///
    /// The first attribute for which it would not.
    pub fn check(&self, shape: &MapShape) -> Result<(), MapRefusal> {
        if !self.key.allows(shape.key_size.into()) {
            return Err(MapRefusal::KeySize);
        }
        let both = u64::from(shape.key_size) + u64::from(shape.value_size);
        let fits = self.value != HASH_ELEM || both < KMALLOC_MAX - 48;
        if !self.value.allows(shape.value_size.into()) || !fits {
            return Err(MapRefusal::ValueSize);
        }
        if !self.entries.allows(shape.max_entries.into()) {
            return Err(MapRefusal::MaxEntries);
        }
        self.check_flags(shape.flags)
    }

    fn check_flags(&self, flags: MapFlags) -> Result<(), MapRefusal> {
        let known = self.required.union(self.allowed).contains(flags);
        let lru = MapFlags::NO_COMMON_LRU.union(MapFlags::NUMA_NODE);
        let contradicts = [USER, PROG, lru].iter().any(|pair| flags.contains(*pair));
        if !known || !flags.contains(self.required) || contradicts {
            return Err(MapRefusal::Flags);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_map_type_has_a_rule_but_struct_ops() {
        for map_type in MapType::all() {
            let none = matches!(map_type, MapType::Unspec | MapType::StructOps);
            assert_eq!(map_rule(map_type).is_none(), none, "{map_type}");
        }
    }

    /// Seen on 6.18, by bisection.
    #[test]
    fn elements_of_a_hash_are_bounded_together() {
        let hash = map_rule(MapType::Hash).expect("a rule");
        let shape = |key_size, value_size| MapShape {
            key_size,
            value_size,
            max_entries: 1,
            flags: MapFlags::empty(),
        };
        assert_eq!(hash.check(&shape(4, 4_194_251)), Ok(()));
        assert_eq!(hash.check(&shape(4, 4_194_252)), Err(MapRefusal::ValueSize));
    }
}

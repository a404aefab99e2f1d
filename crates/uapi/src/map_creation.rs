//! What `BPF_MAP_CREATE` rejects, with the reason: the rules of `map_rule`, and those beyond sizes
//! and flags: `map_extra`, BTF, inner maps, capacities.
//!
//! Kernel: `map_create` and the `map_alloc` of each type, 6.18. Every type was tested with every
//! attribute varied; `crates/kernel/tests/it/map_create.rs` repeats this. Not modelled: memory
//! exhaustion, NUMA nodes, struct_ops maps, which follow their struct.

use crate::{Amount, MapFlags, MapRefusal, MapRule, MapShape, MapType, map_rule};
use std::fmt;

/// Everything that `BPF_MAP_CREATE` examines except the BTF itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapCreation {
    /// Map type.
    pub map_type: MapType,
    /// Sizes, capacity and flags.
    pub shape: MapShape,
    /// `map_extra`.
    pub map_extra: u64,
    /// BTF describes key and value.
    pub has_btf: bool,
    /// Type of the template of inner maps, if there is one.
    pub inner: Option<MapType>,
}

/// Why the kernel would not create a map. Displays as one line that names the attribute and what it
/// must be: `max_entries is 0, it must be at least 1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapCreationError {
    text: String,
    /// The attribute, if its own rule is broken.
    rule: Option<MapRefusal>,
}

impl fmt::Display for MapCreationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for MapCreationError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.rule.as_ref().map(|rule| rule as _)
    }
}

type M = MapType;

/// `map_extra`, for the types that have one; 0 for the others.
const EXTRA: [(M, Amount); 2] =
    [(M::BloomFilter, Amount::Between(0, 15)), (M::Arena, Amount::MultipleOrZero(PAGE))];
/// Types of maps of maps.
const OUTER: [M; 2] = [M::ArrayOfMaps, M::HashOfMaps];
/// Types that cannot be inner maps.
const NEVER_INNER: [M; 6] = [
    M::ProgArray,
    M::ArrayOfMaps,
    M::HashOfMaps,
    M::CgroupStorage,
    M::PercpuCgroupStorage,
    M::StructOps,
];
/// Types whose capacity is a number of hash buckets.
const BUCKETS: [M; 5] = [M::Hash, M::PercpuHash, M::LruHash, M::LruPercpuHash, M::HashOfMaps];
const PAGE: u64 = crate::limits::PAGE_SIZE_BYTES as u64;
const BUCKETS_MAX: u64 = 1 << 28;
const ARENA_BYTES_MAX: u64 = 4 << 30;
/// A stack trace entry with build ids takes as much space as this many entries with addresses.
const BUILD_ID_WORDS: u32 = 4;

impl MapCreation {
    /// Whether the kernel would create the map. Maps of types without a rule pass.
    ///
    /// # Errors
    ///
    /// The first attribute for which it would not.
    pub fn check(&self) -> Result<(), MapCreationError> {
        let Some(rule) = map_rule(self.map_type) else { return Ok(()) };
        self.check_shape(rule)?;
        self.check_capacity()?;
        let extra = EXTRA.iter().find(|row| row.0 == self.map_type);
        let extra = extra.map_or(Amount::Zero, |row| row.1);
        if !extra.allows(self.map_extra) {
            return refuse(format!("map_extra is {:#x}, it must be {extra}", self.map_extra));
        }
        if self.map_type.is_local_storage() && !self.has_btf {
            return refuse("BTF of key and value is missing");
        }
        self.check_inner()
    }

    fn check_shape(&self, rule: &MapRule) -> Result<(), MapCreationError> {
        let mut shape = self.shape;
        let build_ids =
            self.map_type == M::StackTrace && shape.flags.contains(MapFlags::STACK_BUILD_ID);
        if build_ids {
            shape.flags.remove(MapFlags::STACK_BUILD_ID);
            let words = shape.value_size.is_multiple_of(8 * BUILD_ID_WORDS);
            shape.value_size = if words { shape.value_size / BUILD_ID_WORDS } else { 0 };
        }
        let given = &self.shape;
        let text = |refusal| match refusal {
            MapRefusal::KeySize => {
                format!("key_size is {}, it must be {}", given.key_size, rule.key)
            }
            MapRefusal::ValueSize if build_ids => {
                format!(
                    "value_size is {}, it must be a multiple of 32, up to 4064",
                    given.value_size
                )
            }
            MapRefusal::ValueSize => {
                format!("value_size is {}, it must be {}", given.value_size, rule.value)
            }
            MapRefusal::MaxEntries => {
                format!("max_entries is {}, it must be {}", given.max_entries, rule.entries)
            }
            MapRefusal::Flags => flags_text(given.flags, rule),
        };
        rule.check(&shape)
            .map_err(|refusal| MapCreationError { text: text(refusal), rule: Some(refusal) })
    }

    fn check_capacity(&self) -> Result<(), MapCreationError> {
        let entries = u64::from(self.shape.max_entries);
        if BUCKETS.contains(&self.map_type) && entries > BUCKETS_MAX {
            return refuse(format!("max_entries is {entries}, more than {BUCKETS_MAX}"));
        }
        if self.map_type != M::Arena {
            return Ok(());
        }
        let bytes = entries.saturating_mul(PAGE);
        if bytes > ARENA_BYTES_MAX {
            return refuse(format!("max_entries is {entries}, an arena has at most 4 GiB"));
        }
        let last = self.map_extra.wrapping_add(bytes.saturating_sub(1));
        if self.map_extra != 0 && self.map_extra >> 32 != last >> 32 {
            let start = self.map_extra;
            return refuse(format!("an arena from {start:#x} on crosses a multiple of 4 GiB"));
        }
        Ok(())
    }

    fn check_inner(&self) -> Result<(), MapCreationError> {
        if !OUTER.contains(&self.map_type) {
            return Ok(());
        }
        match self.inner {
            None => refuse("its inner map is not defined; the loader must set it"),
            Some(inner) if NEVER_INNER.contains(&inner) => {
                refuse(format!("a map of type {inner} cannot be an inner map"))
            }
            Some(_) => Ok(()),
        }
    }
}

fn refuse(text: impl Into<String>) -> Result<(), MapCreationError> {
    Err(MapCreationError { text: text.into(), rule: None })
}

fn flags_text(flags: MapFlags, rule: &MapRule) -> String {
    let missing = rule.required.difference(flags);
    let extra = flags.difference(rule.required.union(rule.allowed));
    let of = rule.map_type;
    match (missing.is_empty(), extra.is_empty()) {
        (false, _) => format!("map_flags of type {of} must have {}", names(missing)),
        (_, false) => format!("map_flags of type {of} cannot have {}", names(extra)),
        (true, true) => format!("map_flags contradict each other: {}", names(flags)),
    }
}

/// `BPF_F_X | BPF_F_Y`, unknown bits as a number.
fn names(flags: MapFlags) -> String {
    let known: Vec<String> = flags.iter_names().map(|(name, _)| format!("BPF_F_{name}")).collect();
    let unknown = flags.bits() & !MapFlags::all().bits();
    let unknown = (unknown != 0).then(|| format!("{unknown:#x}"));
    known.into_iter().chain(unknown).collect::<Vec<_>>().join(" | ")
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Amount::Zero => f.write_str("0"),
            Amount::Between(min, max) if min == max => write!(f, "{min}"),
            Amount::Between(1, max) if max == u64::from(u32::MAX) => f.write_str("at least 1"),
            Amount::Between(min, max) => write!(f, "{min} to {max}"),
            Amount::Either(a, b) => write!(f, "{a} or {b}"),
            Amount::Multiple(unit, max) => write!(f, "a multiple of {unit}, up to {max}"),
            Amount::MultipleOrZero(unit) => write!(f, "a multiple of {unit}"),
            Amount::PagesPowerOfTwo => write!(f, "a power of two, at least {PAGE}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(max_entries: u32, flags: MapFlags) -> MapCreation {
        let shape = MapShape { key_size: 4, value_size: 8, max_entries, flags };
        MapCreation { map_type: M::Hash, shape, map_extra: 0, has_btf: false, inner: None }
    }

    #[test]
    fn the_reason_names_the_attribute_and_what_it_must_be() {
        let none = MapFlags::empty();
        let said = |creation: MapCreation| creation.check().unwrap_err().to_string();
        assert_eq!(hash(1, none).check(), Ok(()));
        assert_eq!(said(hash(0, none)), "max_entries is 0, it must be at least 1");
        let text = "map_flags of type hash cannot have BPF_F_MMAPABLE | 0x80000000";
        let flags = MapFlags::MMAPABLE | MapFlags::from_bits_retain(1 << 31);
        assert_eq!(said(hash(1, flags)), text);
        let both = MapFlags::RDONLY | MapFlags::WRONLY;
        let text = "map_flags contradict each other: BPF_F_RDONLY | BPF_F_WRONLY";
        assert_eq!(said(hash(1, both)), text);
        let trie = MapCreation { map_type: M::LpmTrie, ..hash(1, none) };
        let trie = MapCreation { shape: MapShape { key_size: 8, ..trie.shape }, ..trie };
        assert_eq!(said(trie), "map_flags of type lpm_trie must have BPF_F_NO_PREALLOC");
        let storage = MapCreation { map_type: M::TaskStorage, ..hash(0, MapFlags::NO_PREALLOC) };
        assert_eq!(said(storage), "BTF of key and value is missing");
        let extra = MapCreation { map_extra: 16, ..hash(1, none) };
        assert_eq!(said(extra), "map_extra is 0x10, it must be 0");
    }
}

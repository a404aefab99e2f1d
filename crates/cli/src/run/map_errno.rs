//! Explanations of a map's errno, for the author of the entry.

use skep::runtime::Errno;
use skep::runtime::map::MapHandle;
use skep::uapi::MapType;

/// One line: the errno, and the reason where it is known.
pub(crate) fn meaning(map: &MapHandle, key: &[u8], value: &[u8], errno: Errno) -> String {
    let (map_type, shape) = (map.map().map_type(), map.map().shape());
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_ne_bytes);
    let noun = if shape.max_entries == 1 { "entry" } else { "entries" };
    let entries = format!("{} {noun}", shape.max_entries);
    let what = match (errno, map_type) {
        (Errno::E2BIG, _)
            if key.len() == 4 && number(key) >= shape.max_entries && has_index(map_type) =>
        {
            format!("key {}: the map has {entries}, from 0 on", number(key))
        }
        (Errno::E2BIG | Errno::ENOSPC, _) => format!("the map is full: it has {entries}"),
        (Errno::EPERM, _) => "the map is read-only".to_owned(),
        (Errno::EBADF, MapType::ProgArray) => {
            format!("no program has id {}; give its name", number(value))
        }
        (Errno::EBADF, _) => format!("no map has id {}", number(value)),
        (Errno::EINVAL, MapType::ProgArray) => "not a program that the array accepts".to_owned(),
        (Errno::EINVAL, MapType::ArrayOfMaps | MapType::HashOfMaps) => {
            format!("map {} does not match the map's inner map template", number(value))
        }
        (Errno::EINVAL, MapType::LpmTrie) => {
            let (len, most) = (number(key.get(..4).unwrap_or_default()), 8 * key.len().max(4) - 32);
            format!("a prefix of {len} bits: the map's keys have {most}")
        }
        (Errno::ENOMEM, _) => "out of memory".to_owned(),
        (_, map_type) => format!("a {map_type} map does not accept the entry"),
    };
    format!("{errno}: {what}")
}

/// Keys are places from 0 on.
fn has_index(map_type: MapType) -> bool {
    !matches!(
        map_type,
        MapType::Hash
            | MapType::PercpuHash
            | MapType::LruHash
            | MapType::LruPercpuHash
            | MapType::HashOfMaps
            | MapType::DevmapHash
            | MapType::Sockhash
    )
}

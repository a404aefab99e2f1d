//! `MapCreation::check` beside BPF_MAP_CREATE: every map type with every attribute varied, flags in
//! pairs, every type as an inner map. Each map is closed at once.

#![allow(clippy::print_stderr, reason = "a test that skips says so")]

use skep_btf::{BtfBuilder, Endian, IntEncoding};
use skep_kernel::bpf::{Map, MapCreate, btf_load};
use skep_kernel::reference;
use skep_uapi::{Amount, KernelProfile, MapCreation, MapFlags, MapShape, MapType, map_rule};
use std::os::fd::{AsRawFd, OwnedFd};

const KEYS: [u32; 16] = [0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 260, 261, 512, 513, 4096];
const VALUES: [u32; 27] = [
    0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 24, 32, 40, 64, 1016, 1024, 4064, 4096, 32768, 32769, 65407,
    65408, 4_194_024, 4_194_025, 4_194_251, 4_194_252, 4_194_305,
];
const ENTRIES: [u32; 12] = [0, 1, 2, 3, 255, 256, 257, 4096, 4097, 8192, 12288, (1 << 28) + 1];
const EXTRAS: [u64; 12] =
    [0, 1, 15, 16, 4095, 4096, 1 << 31, (1 << 32) - 4096, 1 << 32, 1 << 44, (1 << 44) + 1, 1 << 63];
/// Entries beyond which only what is refused is asked for: the rest would take the memory.
const ENTRIES_SAFE: u32 = 1 << 14;
const FLAG_BITS: u32 = 20;

const STORAGES: [MapType; 4] =
    [MapType::SkStorage, MapType::InodeStorage, MapType::TaskStorage, MapType::CgrpStorage];

fn is_outer(map_type: MapType) -> bool {
    matches!(map_type, MapType::ArrayOfMaps | MapType::HashOfMaps)
}

/// A small map that the kernel creates.
fn base(map_type: MapType) -> Option<MapCreation> {
    let rule = map_rule(map_type)?;
    let least = |amount: Amount| match amount {
        Amount::Zero | Amount::MultipleOrZero(_) => 0,
        Amount::Between(1, most) if most >= 4 => 4,
        Amount::Between(least, _) | Amount::Either(least, _) | Amount::Multiple(least, _) => least,
        Amount::PagesPowerOfTwo => 4096,
    };
    let shape = MapShape {
        key_size: least(rule.key) as u32,
        value_size: least(rule.value) as u32,
        max_entries: least(rule.entries) as u32,
        flags: rule.required,
    };
    let inner = is_outer(map_type).then_some(MapType::Array);
    let has_btf = STORAGES.contains(&map_type);
    Some(MapCreation { map_type, shape, map_extra: 0, has_btf, inner })
}

/// An int, and an array of as many bytes as the value.
fn btf(value_size: u32) -> (OwnedFd, u32, u32) {
    let mut builder = BtfBuilder::new();
    let int = builder.int("int", 4, IntEncoding::SIGNED);
    let byte = builder.int("char", 1, IntEncoding::NONE);
    let value = builder.array(byte, int, value_size);
    let bytes = builder.build().expect("a BTF").to_bytes(Endian::NATIVE);
    (btf_load(&bytes).expect("the kernel's leave"), int.0, value.0)
}

/// Whether the kernel creates it.
fn is_created(creation: &MapCreation) -> bool {
    let shape = &creation.shape;
    let described = creation.has_btf.then(|| btf(shape.value_size));
    let made = |inner: MapType| {
        let inner = base(inner).filter(|_| !is_outer(inner));
        inner.map(|inner| create(&inner, None, described_for(&inner).as_ref()))
    };
    let inner = match creation.inner {
        // One map of maps within another: the inner one needs a template, too.
        Some(inner) if is_outer(inner) => {
            let template = create(&base(MapType::Array).expect("a map"), None, None);
            let middle = base(inner).expect("a map");
            Some(create(&middle, template.as_ref(), None))
        }
        Some(inner) => made(inner),
        None => None,
    };
    create(creation, inner.flatten().as_ref(), described.as_ref()).is_some()
}

fn described_for(creation: &MapCreation) -> Option<(OwnedFd, u32, u32)> {
    creation.has_btf.then(|| btf(creation.shape.value_size))
}

fn create(
    creation: &MapCreation,
    inner: Option<&Map>,
    described: Option<&(OwnedFd, u32, u32)>,
) -> Option<Map> {
    let shape = &creation.shape;
    let wanted = MapCreate {
        map_type: creation.map_type.number(),
        key_size: shape.key_size,
        value_size: shape.value_size,
        max_entries: shape.max_entries,
        flags: shape.flags.bits(),
        inner_map: inner.map(Map::fd),
        name: "skep",
        btf: described.map(|row| row.0.as_raw_fd()),
        btf_key_type_id: described.map_or(0, |row| row.1),
        btf_value_type_id: described.map_or(0, |row| row.2),
        map_extra: creation.map_extra,
        ..MapCreate::default()
    };
    Map::create(&wanted).ok()
}

/// The map with each attribute varied.
fn variants(base: MapCreation) -> Vec<MapCreation> {
    let with = |edit: &dyn Fn(&mut MapCreation)| {
        let mut creation = base;
        edit(&mut creation);
        creation
    };
    let mut all = vec![base, with(&|c| c.inner = None)];
    all.extend(KEYS.map(|size| with(&|c| c.shape.key_size = size)));
    all.extend(ENTRIES.map(|entries| with(&|c| c.shape.max_entries = entries)));
    all.extend(EXTRAS.map(|extra| with(&|c| c.map_extra = extra)));
    if base.has_btf {
        all.push(with(&|c| c.has_btf = false));
    }
    for flag in [MapFlags::empty(), MapFlags::STACK_BUILD_ID] {
        for size in VALUES {
            all.push(with(&|c| (c.shape.value_size, c.shape.flags) = (size, c.shape.flags ^ flag)));
        }
    }
    for a in 0..FLAG_BITS {
        for b in a..FLAG_BITS {
            let bits = MapFlags::from_bits_retain(1 << a | 1 << b);
            all.push(with(&|c| c.shape.flags ^= bits));
        }
    }
    if base.map_type == MapType::Arena {
        for extra in [0, 1 << 44, (1 << 44) + (1 << 31), (1 << 32) - 4096] {
            for entries in [1, 2, 1 << 19, 1 << 20, (1 << 20) + 1] {
                all.push(with(&|c| (c.map_extra, c.shape.max_entries) = (extra, entries)));
            }
        }
    }
    if is_outer(base.map_type) {
        let inner = MapType::all().filter(|t| map_rule(*t).is_some());
        all.extend(inner.map(|inner| with(&|c| c.inner = Some(inner))));
    }
    all
}

#[test]
fn every_map_is_created_or_refused_as_by_the_kernel() {
    if let Err(why) = reference::answers(&KernelProfile::v6_18()) {
        return eprintln!("skipped: {why}");
    }
    let (mut asked, mut refused, mut differing) = (0, 0, Vec::new());
    for base in MapType::all().filter_map(base) {
        assert_eq!(base.check(), Ok(()), "{base:?}");
        for creation in variants(base) {
            let ours = creation.check();
            let is_arena = creation.map_type == MapType::Arena;
            if ours.is_ok() && creation.shape.max_entries > ENTRIES_SAFE && !is_arena {
                continue;
            }
            asked += 1;
            refused += usize::from(ours.is_err());
            if is_created(&creation) != ours.is_ok() {
                differing.push(format!("{creation:?}: ours {ours:?}"));
            }
        }
    }
    assert!(differing.is_empty(), "{} of {asked}:\n{}", differing.len(), differing.join("\n"));
    assert!(asked > 8000 && refused > 4000, "{refused} of {asked}");
}

/// An insn may name a descriptor by its number: small ones must be nothing.
#[test]
fn descriptors_of_maps_and_types_have_high_numbers() {
    if let Err(why) = reference::answers(&KernelProfile::v6_18()) {
        return eprintln!("skipped: {why}");
    }
    let map =
        create(&base(MapType::Array).expect("a map"), None, None).expect("the kernel's leave");
    let (types, ..) = btf(4);
    assert!(map.fd().min(types.as_raw_fd()) >= 700, "{} {}", map.fd(), types.as_raw_fd());
}

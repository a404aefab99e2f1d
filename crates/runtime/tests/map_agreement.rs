//! Performs the same random operations on a map here and on one of the host kernel: errnos, values
//! and keys must be the same.

#![allow(clippy::print_stderr, reason = "a test that skips says so")]

#[path = "../../testkit/src/rng.rs"]
#[allow(dead_code, unreachable_pub, reason = "not all of it is used here")]
mod rng;

use rng::Rng;
use skep_kernel::bpf::{self, MapCreate};
use skep_kernel::reference;
use skep_program::MapDef;
use skep_runtime::map::{MapHandle, UpdateFlags};
use skep_runtime::{Errno, Options, Runtime};
use skep_uapi::{KernelProfile, MapFlags, MapType};
use std::collections::BTreeMap;

struct Pair {
    ours: MapHandle,
    theirs: bpf::Map,
    key_size: usize,
}

/// "0-1" or "0": the last number, plus one.
fn cpus() -> u32 {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    list.trim().rsplit(['-', ',']).next().and_then(|n| n.parse::<u32>().ok()).map_or(1, |n| n + 1)
}

fn pair(map_type: MapType, key: u32, value: u32, entries: u32, flags: u32) -> Option<Pair> {
    if let Err(why) = reference::answers(&KernelProfile::v6_18()) {
        eprintln!("skipped: {why}");
        return None;
    }
    let spec = MapCreate {
        map_type: map_type.number(),
        key_size: key,
        value_size: value,
        max_entries: entries,
        flags,
        ..Default::default()
    };
    let def = MapDef {
        name: "m".into(),
        map_type,
        key_size: key,
        value_size: value,
        max_entries: entries,
        map_flags: MapFlags::from_bits_retain(flags),
        ..MapDef::default()
    };
    let runtime = Runtime::new(Options { cpus: cpus(), ..Options::default() }).unwrap();
    let ours = runtime.create_map(&def, None).unwrap();
    Some(Pair { ours, theirs: bpf::Map::create(&spec).unwrap(), key_size: key as usize })
}

fn answer<T: PartialEq>(ours: Result<T, Errno>) -> Result<T, i32> {
    ours.map_err(Errno::number)
}

impl Pair {
    fn update(&self, key: &[u8], value: &[u8], flags: UpdateFlags, what: &str) {
        let theirs = self.theirs.update_with(key, value, flags as u64).map_err(|e| e.errno);
        assert_eq!(
            answer(self.ours.update(key, value, flags)),
            theirs,
            "{what}: update {key:?} {flags:?}"
        );
    }

    fn lookup(&self, key: &[u8], what: &str) {
        let mut value = vec![0xee; self.ours.value_len()];
        let theirs = self.theirs.lookup(key, &mut value, false).map_err(|e| e.errno);
        assert_eq!(answer(self.ours.lookup(key)), theirs.map(|()| value), "{what}: lookup {key:?}");
    }

    fn delete(&self, key: &[u8], what: &str) {
        let theirs = self.theirs.delete(key).map_err(|e| e.errno);
        assert_eq!(answer(self.ours.delete(key)), theirs, "{what}: delete {key:?}");
    }

    fn pop(&self, what: &str) {
        let mut value = vec![0; self.ours.value_len()];
        let theirs = self.theirs.lookup(&[], &mut value, true).map_err(|e| e.errno);
        assert_eq!(answer(self.ours.pop()), theirs.map(|()| value), "{what}: pop");
    }

    fn keys_in_order(&self) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        type Next<'a> = &'a dyn Fn(Option<&[u8]>) -> Option<Vec<u8>>;
        let walk = |next: Next<'_>| {
            let mut keys: Vec<Vec<u8>> = Vec::new();
            while let Some(key) = next(keys.last().map(Vec::as_slice)) {
                keys.push(key);
                assert!(keys.len() < 10_000);
            }
            keys
        };
        let ours = walk(&|key| self.ours.next_key(key).ok());
        let theirs = walk(&|key| self.theirs.next_key(key.unwrap_or(&[])).ok());
        (ours, theirs)
    }
}

const FLAGS: [UpdateFlags; 4] =
    [UpdateFlags::Any, UpdateFlags::Any, UpdateFlags::NoExist, UpdateFlags::Exist];

/// Keys are small numbers, some beyond the capacity.
fn random_operations(pair: &Pair, seed: u64, what: &str, keys: u64) {
    let mut random = Rng::new(seed);
    for _ in 0..4_000 {
        let mut key = random.below(keys).to_le_bytes().to_vec();
        key.resize(pair.key_size.max(8), (random.below(2) * 7) as u8);
        key.truncate(pair.key_size);
        match random.below(8) {
            0..=3 => {
                let value: Vec<u8> =
                    (0..pair.ours.value_len()).map(|_| random.word() as u8).collect();
                pair.update(&key, &value, FLAGS[random.below(4) as usize], what);
            }
            4..=5 => pair.lookup(&key, what),
            _ => pair.delete(&key, what),
        }
    }
}

#[test]
fn arrays() {
    for (value, entries) in [(1, 1), (4, 5), (8, 16), (13, 7), (200, 3)] {
        let Some(pair) = pair(MapType::Array, 4, value, entries, 0) else { return };
        random_operations(&pair, 0x1234 + u64::from(value), "array", 20);
        let (ours, theirs) = pair.keys_in_order();
        assert_eq!(ours, theirs);
    }
}

#[test]
fn percpu_arrays() {
    for value in [8, 16, 13] {
        let Some(pair) = pair(MapType::PercpuArray, 4, value, 5, 0) else { return };
        // The kernel's padding between the CPUs' values is unspecified.
        if value % 8 == 0 {
            random_operations(&pair, 0x99, "percpu_array", 9);
        }
        let (ours, theirs) = pair.keys_in_order();
        assert_eq!(ours, theirs);
    }
}

#[test]
fn hashes() {
    let shapes = [(4, 8, 10), (8, 8, 3), (1, 1, 100), (13, 40, 64), (64, 5, 200), (16, 16, 1)];
    for flags in [0, MapFlags::NO_PREALLOC.bits()] {
        for (key, value, entries) in shapes {
            let Some(pair) = pair(MapType::Hash, key, value, entries, flags) else { return };
            random_operations(&pair, 77 + u64::from(key), "hash", 15);
            let (mut ours, mut theirs) = pair.keys_in_order();
            ours.sort();
            theirs.sort();
            assert_eq!(ours, theirs);
            ours.iter().for_each(|key| pair.lookup(key, "hash"));
        }
    }
}

#[test]
fn percpu_hashes() {
    let Some(pair) = pair(MapType::PercpuHash, 4, 8, 6, 0) else { return };
    random_operations(&pair, 5, "percpu_hash", 9);
    let (ours, theirs) = pair.keys_in_order();
    assert_eq!(ours.len(), theirs.len());
}

/// Which key a full map evicts differs from the kernel: uses fewer keys than entries.
#[test]
fn lru_hashes_below_their_capacity() {
    for map_type in [MapType::LruHash, MapType::LruPercpuHash] {
        let Some(pair) = pair(map_type, 4, 8, 1000, 0) else { return };
        random_operations(&pair, 31, "lru_hash", 20);
    }
}

#[test]
fn lpm_tries() {
    for (key, bits) in [(5u32, 8u64), (6, 16), (8, 32), (20, 128)] {
        let flags = MapFlags::NO_PREALLOC.bits();
        let Some(pair) = pair(MapType::LpmTrie, key, 8, 40, flags) else { return };
        let mut random = Rng::new(u64::from(key) * 7919);
        for round in 0..6_000u64 {
            let mut bytes = vec![0; key as usize];
            bytes[..4].copy_from_slice(&(random.below(bits + 2) as u32).to_ne_bytes());
            // Few different bytes, so that prefixes nest.
            let fill = |random: &mut Rng| [0u8, 0xff, 0x80, 0xa5, 0x01][random.below(5) as usize];
            bytes[4..].iter_mut().for_each(|b| *b = fill(&mut random));
            match random.below(8) {
                0..=3 => {
                    let flags = FLAGS[random.below(4) as usize];
                    pair.update(&bytes, &round.to_ne_bytes(), flags, "lpm");
                }
                4..=5 => pair.lookup(&bytes, "lpm"),
                _ => pair.delete(&bytes, "lpm"),
            }
            if round % 500 == 0 {
                let (ours, theirs) = pair.keys_in_order();
                // In the kernel, too, the bytes after the prefix in a key are those of the last
                // writer.
                assert_eq!(ours, theirs, "round {round}");
            }
        }
    }
}

#[test]
fn queues_and_stacks() {
    for map_type in [MapType::Queue, MapType::Stack] {
        let Some(pair) = pair(map_type, 0, 12, 5, 0) else { return };
        let mut random = Rng::new(3);
        for _ in 0..2_000 {
            let value: Vec<u8> = (0..12).map(|_| random.word() as u8).collect();
            match random.below(5) {
                0..=2 => pair.update(&[], &value, FLAGS[random.below(4) as usize], "queue"),
                3 => pair.pop("queue"),
                _ => pair.lookup(&[], "queue"),
            }
        }
        pair.delete(&[], "queue");
        let theirs = pair.theirs.next_key(&[]).map_err(|e| e.errno);
        assert_eq!(answer(pair.ours.next_key(None)), theirs);
    }
}

#[test]
fn bloom_filters() {
    let Some(pair) = pair(MapType::BloomFilter, 0, 8, 1000, 0) else { return };
    for i in 0..500u64 {
        pair.update(&[], &i.to_ne_bytes(), UpdateFlags::Any, "bloom");
    }
    pair.update(&[], &[0; 8], UpdateFlags::NoExist, "bloom");
    pair.update(&[], &[0; 8], UpdateFlags::Exist, "bloom");
    pair.delete(&[], "bloom");
    let mut false_answers = BTreeMap::from([("ours", 0), ("theirs", 0)]);
    for i in 0..2_000u64 {
        let theirs = pair.theirs.lookup(&[], &mut i.to_ne_bytes(), false);
        let theirs = match theirs.map_err(|e| e.errno) {
            Ok(()) => true,
            Err(2) => false,
            Err(other) => panic!("errno {other}"),
        };
        let ours = pair.ours.holds(&i.to_ne_bytes()).unwrap();
        if i < 500 {
            assert!(ours && theirs);
        }
        *false_answers.get_mut("ours").unwrap() += i32::from(i >= 500 && ours);
        *false_answers.get_mut("theirs").unwrap() += i32::from(i >= 500 && theirs);
    }
    assert!(false_answers["ours"] < 60, "{false_answers:?}");
}

#[test]
fn wrong_sizes_are_errors() {
    let Some(pair) = pair(MapType::Hash, 4, 8, 4, 0) else { return };
    assert_eq!(pair.ours.lookup(&[0; 3]), Err(Errno::EINVAL));
    assert_eq!(pair.ours.update(&[0; 4], &[0; 7], UpdateFlags::Any), Err(Errno::EINVAL));
    assert_eq!(pair.ours.delete(&[]), Err(Errno::EINVAL));
}

/// Maps without elements of their own, or with elements that only a kernel has.
#[test]
fn errnos_of_other_kinds() {
    let kinds = [
        (MapType::Ringbuf, (0, 0, 4096)),
        (MapType::PerfEventArray, (4, 4, 3)),
        (MapType::StackTrace, (4, 80, 4)),
        (MapType::ProgArray, (4, 4, 3)),
    ];
    for (map_type, (key, value, entries)) in kinds {
        let Some(pair) = pair(map_type, key, value, entries, 0) else { return };
        let what = map_type.name();
        for index in [0u32, 2, 3, 77] {
            let key = &index.to_ne_bytes()[..pair.key_size];
            pair.lookup(key, what);
            pair.delete(key, what);
            let next = pair.theirs.next_key(key).map_err(|e| e.errno);
            if !key.is_empty() {
                assert_eq!(answer(pair.ours.next_key(Some(key))), next, "{what}: next of {index}");
            }
            for flags in FLAGS {
                // In the kernel a descriptor that is not open; here an id that no program has.
                let value = &0x7fff_ffffu32.to_ne_bytes().repeat(20)[..pair.ours.value_len()];
                pair.update(key, value, flags, what);
            }
        }
        let next = pair.theirs.next_key(&[]).map_err(|e| e.errno);
        assert_eq!(answer(pair.ours.next_key(None)), next, "{what}: first key");
    }
}

#[test]
fn flags_of_access_bind_the_user() {
    for flags in [MapFlags::RDONLY, MapFlags::WRONLY, MapFlags::RDONLY_PROG, MapFlags::WRONLY_PROG]
    {
        for map_type in [MapType::Array, MapType::Hash] {
            let Some(pair) = pair(map_type, 4, 8, 4, flags.bits()) else { return };
            pair.update(&[1, 0, 0, 0], &[7; 8], UpdateFlags::Any, "access");
            pair.lookup(&[1, 0, 0, 0], "access");
            pair.delete(&[1, 0, 0, 0], "access");
            let next = pair.theirs.next_key(&[]).map_err(|e| e.errno);
            assert_eq!(answer(pair.ours.next_key(None)), next, "{map_type} {flags:?}");
        }
    }
}

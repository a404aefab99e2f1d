//! Values looked up in a trie stay valid during the run, and copies are consistent, despite
//! concurrent writers.

use super::{ENGINES, map, program, runtime};
use skep_program::MapDef;
use skep_runtime::map::{MapHandle, UpdateFlags};
use skep_runtime::{Ctx, LoadOptions};
use skep_uapi::{MapFlags, MapType, ProgType};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

fn trie(value: u32) -> Arc<[MapDef]> {
    let trie = map("m", MapType::LpmTrie, 8, value, 16);
    Arc::from([MapDef { map_flags: MapFlags::NO_PREALLOC, ..trie }])
}

/// Looks a key up, deletes it, inserts and deletes others, and reads the value: 1, as in Linux
/// 6.18.
const HOLDS: &str = "
    r1 = 32
    *(u32 *)(r10 - 8) = r1
    r7 = 1
    *(u32 *)(r10 - 4) = r7
    *(u64 *)(r10 - 16) = r7
    r1 = map[m]
    r2 = r10
    r2 += -8
    r3 = r10
    r3 += -16
    r4 = 0
    call bpf_map_update_elem
    r1 = map[m]
    r2 = r10
    r2 += -8
    call bpf_map_lookup_elem
    if r0 == 0 goto none
    r6 = r0
    r1 = map[m]
    r2 = r10
    r2 += -8
    call bpf_map_delete_elem
again:
    r7 += 1
    *(u32 *)(r10 - 4) = r7
    *(u64 *)(r10 - 16) = r7
    r1 = map[m]
    r2 = r10
    r2 += -8
    r3 = r10
    r3 += -16
    r4 = 0
    call bpf_map_update_elem
    r1 = map[m]
    r2 = r10
    r2 += -8
    call bpf_map_delete_elem
    if r7 < 2000 goto again
    r0 = *(u64 *)(r6 + 0)
    exit
none:
    r0 = 0
    exit
";

#[test]
fn a_run_keeps_what_it_has_looked_up_in_a_trie() {
    let defs = trie(8);
    let program = program(HOLDS, &defs);
    for engine in ENGINES {
        let runtime = runtime();
        let maps = runtime.create_maps(&defs, None);
        let options = LoadOptions { engine, ..LoadOptions::default() };
        let instance = runtime.load(&program, &maps, &options).unwrap();
        let mut ctx = Ctx::packet(ProgType::Xdp, &[0; 64]).unwrap();
        for _ in 0..20 {
            assert_eq!(instance.run(&mut ctx).unwrap().r0, 1);
        }
    }
}

/// Looks key 1 up and then reads its value repeatedly: how often it was that of another key.
const STANDS: &str = "
    r1 = 32
    *(u32 *)(r10 - 8) = r1
    r1 = 0x1000000
    *(u32 *)(r10 - 4) = r1
    r1 = map[m]
    r2 = r10
    r2 += -8
    call bpf_map_lookup_elem
    r8 = 0
    if r0 == 0 goto out
    r7 = *(u64 *)(r0 + 0)
    r9 = 5000
again:
    r1 = *(u64 *)(r0 + 0)
    if r1 == r7 goto same
    r8 = 1
same:
    r9 += -1
    if r9 != 0 goto again
    r1 = *(u64 *)(r0 + 24)
    if r1 == 1 goto out
    r8 = 1
out:
    r0 = r8
    exit
";

fn key(last: u32) -> [u8; 8] {
    let mut key = [0; 8];
    key[..4].copy_from_slice(&32u32.to_ne_bytes());
    key[4..].copy_from_slice(&last.to_be_bytes());
    key
}

/// Four words: the same number three times, and the key.
fn value(number: u64, last: u32) -> Vec<u8> {
    [number, number, number, u64::from(last)].iter().flat_map(|w| w.to_ne_bytes()).collect()
}

fn is_whole(value: &[u8], last: u32) -> bool {
    let words: Vec<u64> =
        value.chunks(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap())).collect();
    words[0] == words[1] && words[1] == words[2] && words[3] == u64::from(last)
}

fn write(map: &MapHandle, writer: u64) {
    for n in 0..40_000u64 {
        let last = (n * 7 + writer) as u32 % 16;
        let _ = map.update(&key(last), &value(n, last), UpdateFlags::Any);
        if n % 5 == 0 {
            let _ = map.delete(&key((n * 3) as u32 % 16));
        }
    }
}

#[test]
fn values_of_a_trie_are_whole_while_it_is_written() {
    let defs = trie(32);
    let program = program(STANDS, &defs);
    for engine in ENGINES {
        let runtime = runtime();
        let maps = runtime.create_maps(&defs, None);
        let options = LoadOptions { engine, ..LoadOptions::default() };
        let instance = runtime.load(&program, &maps, &options).unwrap();
        let map = maps.get("m").unwrap();
        let (done, seen, wrong) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            let writers = [0, 1].map(|writer| scope.spawn(move || write(map, writer)));
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut ctx = Ctx::packet(ProgType::Xdp, &[0; 64]).unwrap();
                    while !done.load(Relaxed) {
                        wrong.fetch_add(instance.run(&mut ctx).unwrap().r0, Relaxed);
                    }
                });
                scope.spawn(|| {
                    for last in (0..16).cycle().take_while(|_| !done.load(Relaxed)) {
                        let Ok(value) = map.lookup(&key(last)) else { continue };
                        seen.fetch_add(1, Relaxed);
                        wrong.fetch_add(u64::from(!is_whole(&value, last)), Relaxed);
                    }
                });
            }
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            done.store(true, Relaxed);
        });
        assert_eq!(wrong.into_inner(), 0);
        assert!(seen.into_inner() > 0);
    }
}

/// Keys of 16 bytes with a checksum.
#[test]
fn keys_of_a_hash_are_whole_while_it_is_written() {
    let runtime = runtime();
    let def = map("h", MapType::Hash, 16, 16, 64);
    let map = runtime.create_map(&def, None).unwrap();
    let pair = |n: u64| [n.to_ne_bytes(), n.to_ne_bytes()].concat();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (map, done) = (&map, &done);
        let writers = [0u64, 1].map(|writer| {
            scope.spawn(move || {
                for n in 0..60_000 {
                    let _ = map.update(&pair(2 * n + writer), &pair(n), UpdateFlags::Any);
                    if n >= 20 {
                        map.delete(&pair(2 * (n - 20) + writer)).unwrap();
                    }
                }
            })
        });
        scope.spawn(move || {
            while !done.load(Relaxed) {
                for (key, value) in map.entries() {
                    assert_eq!(key[..8], key[8..]);
                    assert_eq!(value[..8], value[8..]);
                }
            }
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Relaxed);
    });
}

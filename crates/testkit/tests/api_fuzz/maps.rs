//! Operations on maps.

use super::world::World;
use skep::program::MapDef;
use skep::runtime::map::{MapHandle, UpdateFlags};
use skep::uapi::{MapFlags, MapType};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

/// Longer values are not copied.
const COPIED_MAX: usize = 1 << 20;

/// Definitions, some of them invalid.
pub(super) fn definition(world: &mut World<'_>) -> MapDef {
    let random = &mut world.random;
    let types: Vec<MapType> = MapType::all().collect();
    let size = |random: &mut super::random::Random| match random.below(6) {
        0..4 => [0, 4, 4, 8, 16, 20][random.below(6)],
        4 => random.number() as u32,
        _ => random.below(600) as u32,
    };
    let flags = if random.one_in(4) { random.number() as u32 } else { 0 };
    let (key_size, value_size) = (size(random), size(random));
    let max_entries = match random.below(4) {
        0 => random.number() as u32,
        1 => 4096,
        _ => 1 + random.below(40) as u32,
    };
    let map_type = random.of(&types).unwrap_or_default();
    MapDef {
        name: "any".to_owned(),
        map_type,
        key_size: if random.one_in(3) { 4 } else { key_size },
        value_size,
        max_entries,
        map_flags: MapFlags::from_bits_retain(flags),
        map_extra: if random.one_in(8) { random.number() } else { 0 },
        frozen: random.one_in(16),
        autocreate: true,
        ..MapDef::default()
    }
}

/// Bytes, mostly of the right length.
fn bytes(world: &mut World<'_>, len: usize) -> Vec<u8> {
    let len = if world.random.one_in(20) { world.random.below(70) } else { len.min(COPIED_MAX) };
    if len <= 8 && world.random.one_in(2) {
        let small = world.random.below(9) as u64;
        return small.to_ne_bytes()[..len].to_vec();
    }
    world.random.bytes(len)
}

fn key(world: &mut World<'_>, map: &MapHandle) -> Vec<u8> {
    bytes(world, map.map().shape().key_size as usize)
}

fn is_large(map: &MapHandle) -> bool {
    map.value_len() > COPIED_MAX || map.map().shape().key_size as usize > COPIED_MAX
}

/// Changes of a map that are possible with bpf(2).
pub(super) fn change(world: &mut World<'_>) {
    let Some(map) = world.map() else { return };
    if is_large(&map) {
        return;
    }
    let key = key(world, &map);
    let flags = [UpdateFlags::Any, UpdateFlags::NoExist, UpdateFlags::Exist];
    match world.random.below(8) {
        0..4 => {
            let value = bytes(world, map.value_len());
            let flags = world.random.of(&flags).unwrap_or_default();
            let _ = map.update(&key, &value, flags);
        }
        4 | 5 => drop(map.delete(&key)),
        6 => drop(map.pop()),
        _ => {
            let len = world.random.below(100);
            let _ = map.user_ringbuf_write(&world.random.bytes(len));
        }
    }
}

/// Queries of a map.
pub(super) fn look(world: &mut World<'_>) {
    let Some(map) = world.map() else { return };
    if is_large(&map) {
        return;
    }
    let key = key(world, &map);
    match world.random.below(8) {
        0..3 => drop(map.lookup(&key)),
        3 => drop(map.next_key(Some(&key))),
        4 => drop(map.next_key(None)),
        5 => {
            let value = bytes(world, map.value_len());
            let _ = map.holds(&value);
        }
        // Iterates over all slots, including empty ones.
        6 if map.map().shape().max_entries <= 1 << 16 => map.entries().take(20).for_each(drop),
        _ => drop((map.take_samples(), map.map().btf().is_some(), format!("{map:?}"))),
    }
}

/// The same with typed maps.
pub(super) fn typed(world: &mut World<'_>) {
    let Some(map) = world.map() else { return };
    let (key, value) = (world.random.below(6) as u32, world.random.next());
    if is_large(&map) {
        return;
    }
    if let Ok(typed) = map.typed::<u32, u64>() {
        let _ = typed.set(&key, &value, UpdateFlags::Any);
        let _ = (typed.get(&key), typed.get_percpu(&key));
        let _ = typed.remove(&key);
    }
    if let Ok(typed) = map.typed::<u32, u32>() {
        let _ = typed.set(&key, &(value as u32 % 60), UpdateFlags::Any);
    }
    let _ = map.typed::<[u8; 16], [u64; 4]>();
    let _ =
        map.typed::<(), ()>().map(|typed| (typed.set(&(), &(), UpdateFlags::Any), typed.get(&())));
}

/// Consumes a ring buffer, with operations in the closure.
pub(super) fn consume(world: &mut World<'_>) {
    let Some(map) = world.map() else { return };
    let what = world.random.below(6);
    let mut each = |record: &[u8]| {
        match what {
            0 => world.run_any(),
            1 => drop(map.consume(|_| true)),
            2 => drop(map.poll(Duration::ZERO, |_| true)),
            3 => change(world),
            4 if record.len().is_multiple_of(3) => resume_unwind(Box::new("on purpose")),
            _ => {}
        }
        !record.is_empty()
    };
    let consumed = catch_unwind(AssertUnwindSafe(|| match what {
        5 => map.poll(Duration::from_micros(50), &mut each),
        _ => map.consume(&mut each),
    }));
    if let Err(panic) = consumed
        && panic.downcast_ref() != Some(&"on purpose")
    {
        resume_unwind(panic);
    }
}

/// Slots of prog arrays: by program, by id, of other runtimes, of other maps.
pub(super) fn slots(world: &mut World<'_>) {
    let Some(map) = world.map() else { return };
    let slot =
        if world.random.one_in(8) { world.random.number() } else { world.random.below(4) as u64 };
    let slot = slot as u32;
    match world.random.below(5) {
        0..3 => {
            let Some(instance) = world.instance() else { return };
            let _ = map.set_program(slot, &instance);
        }
        3 => drop(map.clear_program(slot)),
        _ => {
            let id = world.random.below(60) as u32;
            let _ = map.update(&slot.to_ne_bytes(), &id.to_ne_bytes(), UpdateFlags::Any);
            let _ = map.program(slot);
        }
    }
}

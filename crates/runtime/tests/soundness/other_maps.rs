//! Programs with maps other than those they were verified with.

use super::{ENGINES, map, program, runtime};
use skep_program::MapDef;
use skep_runtime::map::UpdateFlags;
use skep_runtime::{Ctx, Errno, ErrorKind, LoadOptions};
use skep_uapi::{MapFlags, MapType, ProgType};
use std::sync::Arc;

/// Reads the last word of a value of 800,000 bytes.
const LAST_WORD: &str = "
    r1 = 0
    *(u32 *)(r10 - 4) = r1
    r1 = map[m]
    r2 = r10
    r2 += -4
    call bpf_map_lookup_elem
    if r0 == 0 goto out
    r1 = 799992
    r0 += r1
    r0 = *(u64 *)(r0 + 0)
out:
    exit
";

fn constants(contents: [u8; 8], frozen: bool) -> MapDef {
    let map_flags = MapFlags::RDONLY_PROG;
    let contents = contents.to_vec();
    MapDef { map_flags, contents, frozen, ..map("m", MapType::Array, 4, 8, 1) }
}

/// Why a program that was verified with `verified` is not given a map created from `made`.
fn refused(text: &str, made: MapDef, verified: MapDef) -> String {
    let program = program(text, &Arc::from([verified]));
    let mut texts = ENGINES.map(|engine| {
        let runtime = runtime();
        let maps = runtime.create_maps(&Arc::from([made.clone()]), None);
        let options = LoadOptions { engine, ..LoadOptions::default() };
        let error = runtime.load(&program, &maps, &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
        error.to_string()
    });
    assert_eq!(texts[0], texts[1]);
    let text = std::mem::take(&mut texts[0]);
    text.rsplit(": ").next().unwrap_or_default().to_owned()
}

#[test]
fn a_map_with_smaller_values_is_refused() {
    let large = map("m", MapType::Array, 4, 800_000, 1);
    let small = map("m", MapType::Array, 4, 8, 1);
    let text = "it has 8 bytes of a value, not 800000";
    assert_eq!(refused(LAST_WORD, small, large.clone()), text);
    // Everything else that the verifier uses from a definition.
    let with = |change: fn(&mut MapDef)| {
        let mut other = large.clone();
        change(&mut other);
        refused(LAST_WORD, other, large.clone())
    };
    assert_eq!(with(|m| m.map_type = MapType::Hash), "its type is hash, not array");
    assert_eq!(with(|m| m.max_entries = 2), "it has 2 entries, not 1");
    assert_eq!(with(|m| m.map_flags = MapFlags::MMAPABLE), "it has 1024 as flags, not 0");
    let hash = |key| map("m", MapType::Hash, key, 800_000, 1);
    assert_eq!(refused(LAST_WORD, hash(64), hash(4)), "it has 64 bytes of a key, not 4");
}

#[test]
fn other_constants_are_refused() {
    let known = constants([1; 8], true);
    let read = LAST_WORD.replace("799992", "0");
    let others = "its constants differ";
    assert_eq!(refused(&read, constants([2; 8], true), known.clone()), others);
    assert_eq!(refused(&read, constants([1; 8], false), known), others);
}

#[test]
fn equal_definitions_are_enough() {
    let defs = || -> Arc<[MapDef]> { Arc::from([constants([7; 8], true)]) };
    let runtime = runtime();
    let program = program(&LAST_WORD.replace("799992", "0"), &defs());
    let maps = runtime.create_maps(&defs(), None);
    for engine in ENGINES {
        let options = LoadOptions { engine, ..LoadOptions::default() };
        let instance = runtime.load(&program, &maps, &options).unwrap();
        let mut ctx = Ctx::packet(ProgType::Xdp, &[0; 64]).unwrap();
        assert_eq!(instance.run(&mut ctx).unwrap().r0, 0x0707_0707_0707_0707);
    }
}

/// Their values are for another number of CPUs.
#[test]
fn maps_of_another_runtime_are_refused() {
    let defs: Arc<[MapDef]> = Arc::from([map("m", MapType::Array, 4, 800_000, 1)]);
    let (ours, other) = (runtime(), runtime());
    let maps = other.create_maps(&defs, None);
    let program = program(LAST_WORD, &defs);
    let error = ours.load(&program, &maps, &LoadOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "load program 'prog': the maps belong to another runtime");
    assert!(other.load(&program, &maps, &LoadOptions::default()).is_ok());
}

/// Elements with a constant key of an inner array exist: the verifier assumes so.
#[test]
fn an_inner_array_has_the_entries_of_the_template() {
    for (map_type, flags) in
        [(MapType::Array, MapFlags::INNER_MAP), (MapType::PercpuArray, MapFlags::empty())]
    {
        let inner = |entries| MapDef { map_flags: flags, ..map("inner", map_type, 4, 8, entries) };
        let outer = MapDef {
            inner: Some(Box::new(inner(8))),
            ..map("outer", MapType::ArrayOfMaps, 4, 4, 1)
        };
        let runtime = runtime();
        let outer = runtime.create_map(&outer, None).unwrap();
        let put = |entries| {
            let inner = runtime.create_map(&inner(entries), None).unwrap();
            outer.update(&[0; 4], &inner.map().id().to_ne_bytes(), UpdateFlags::Any)
        };
        let results = [7, 8, 9].map(put);
        assert_eq!(results, [Err(Errno::EINVAL), Ok(()), Ok(())], "{map_type}");
    }
}

/// The constants of a template are not those of the inner maps.
#[test]
fn a_template_has_no_constants() {
    let outer = |inner| MapDef {
        inner: Some(Box::new(inner)),
        ..map("outer", MapType::ArrayOfMaps, 4, 4, 1)
    };
    let create = |inner| runtime().create_map(&outer(inner), None).map(|_| ());
    assert_eq!(create(constants([1; 8], false)), Ok(()));
    let error = create(constants([1; 8], true)).unwrap_err();
    assert!(error.to_string().ends_with("the template of its inner maps is frozen"), "{error}");
}

//! Objects that libbpf refuses and that exist: made for other loaders.

use skep_insn::code::{BPF_PSEUDO_CALL, BPF_PSEUDO_MAP_FD};
use skep_object::{LoadClass, Loader, Object, OpenOptions};
use skep_program::Program;
use skep_uapi::{MapFlags, MapType, ProgType};
use std::path::Path;

fn open_for(loader: Loader, file: &str) -> Object {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let bytes = std::fs::read(tests.join("object").join(file)).unwrap();
    Object::open(&bytes, &OpenOptions { loader, cpus: 2, ..OpenOptions::default() }).unwrap()
}

fn open() -> Object {
    open_for(Loader::Any, "other_loaders.bpf.o")
}

#[test]
fn libbpf_refuses_the_object_and_says_so_to_others() {
    let note = open().note.unwrap();
    assert_eq!(note.class(), Some(LoadClass::Open));
    let object = open_for(Loader::Libbpf, "other_loaders.bpf.o");
    assert_eq!(object.refused.as_ref(), Some(&note));
    assert!(object.note.is_none());
    assert!(object.programs.iter().all(|p| p.program.as_ref().err() == Some(&note)));
}

#[test]
fn maps_may_have_sections_of_their_own() {
    let object = open_for(Loader::Any, "legacy_maps.bpf.o");
    let [map] = &*object.maps else { panic!("{:?}", object.maps) };
    assert_eq!((&*map.name, map.map_type, map.max_entries), ("counters", MapType::Hash, 100));
    let program = object.programs[0].program.as_ref().unwrap();
    assert!(program.insns.iter().any(|i| i.is_ld_imm64() && i.src == BPF_PSEUDO_MAP_FD));
    let refused = open_for(Loader::Libbpf, "legacy_maps.bpf.o").refused.unwrap();
    let text = "section maps/counters: libbpf 1.x rejects map definitions without BTF";
    assert!(refused.to_string().starts_with(text), "{refused}");
}

#[test]
fn what_a_loader_would_complete_is_said() {
    let object = open_for(Loader::Any, "outer_map.bpf.o");
    assert!(object.refused.is_none() && object.note.is_none());
    let inside = object.programs[0].program.as_ref().unwrap_err();
    let text = "map outer (hash_of_maps): the object's own loader must set its inner map";
    assert_eq!(inside.to_string(), format!("program looks_inside: {text}"));
    assert_eq!(inside.class(), None, "neither the file nor the kernel is wrong");
    // Sizes that can only be one thing are set.
    assert!(object.programs[1].program.is_ok());
    let events = object.maps.iter().find(|m| m.name == "events").unwrap();
    assert_eq!((events.key_size, events.value_size), (4, 4));

    let refused = open_for(Loader::Libbpf, "outer_map.bpf.o").refused.unwrap();
    assert_eq!(refused.class(), Some(LoadClass::Map));
    assert!(refused.to_string().contains("its inner map is not defined"), "{refused}");
}

fn entry(object: &Object) -> &Program {
    let found = object.programs.iter().find(|p| p.name == "entry").unwrap();
    found.program.as_ref().unwrap()
}

#[test]
fn maps_are_read_from_structs_of_any_length() {
    let maps = open().maps;
    let sizes: Vec<_> = maps
        .iter()
        .map(|m| (&*m.name, m.map_type, m.key_size, m.value_size, m.max_entries, m.map_flags))
        .collect();
    let none = MapFlags::empty();
    assert_eq!(
        sizes,
        [
            ("first", MapType::Hash, 4, 8, 100, MapFlags::NO_PREALLOC),
            ("second", MapType::Array, 4, 16, 7, none)
        ]
    );
}

#[test]
fn a_static_function_in_an_unknown_section_is_a_program() {
    let object = open();
    let entry = entry(&object);
    assert_eq!(entry.prog_type, ProgType::SchedCls, "the type that its context suggests");
    assert_eq!(entry.section, "from-container");
    let maps: Vec<i32> = entry
        .insns
        .iter()
        .filter(|i| i.is_ld_imm64() && i.src == BPF_PSEUDO_MAP_FD)
        .map(|i| i.imm)
        .collect();
    assert_eq!(maps, [0, 1], "the maps by index");
}

#[test]
fn a_function_of_another_section_is_appended() {
    let object = open();
    let entry = entry(&object);
    let start = entry.func_info[1].insn_off.index();
    // Nothing says the type of the callee as a program of its own.
    let callee = object.programs.iter().find(|p| p.name == "elsewhere").unwrap();
    let text = callee.program.as_ref().unwrap_err().to_string();
    assert!(text.contains("no program type is known for section name 'helpers'"), "{text}");
    let calls = entry.insns[start..].iter().filter(|i| i.code == 0x85).count();
    assert_eq!(calls, 1, "the callee's insns, at its func_info");
    let call = entry.insns.iter().position(|i| i.code == 0x85 && i.src == BPF_PSEUDO_CALL);
    let call = call.unwrap();
    assert_eq!(call as i64 + 1 + i64::from(entry.insns[call].imm), start as i64);
}

//! Objects that libbpf refuses and that exist: made for other loaders.

use skep_insn::code::{BPF_PSEUDO_CALL, BPF_PSEUDO_MAP_FD};
use skep_object::{Object, OpenOptions};
use skep_program::Program;
use skep_uapi::{MapFlags, MapType, ProgType};
use std::path::Path;

fn open() -> Object {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let bytes = std::fs::read(tests.join("object/other_loaders.bpf.o")).unwrap();
    Object::open(&bytes, &OpenOptions::default()).unwrap()
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
    assert_eq!(entry.prog_type, ProgType::Unspec);
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
    let callee = object.programs.iter().find(|p| p.name == "elsewhere").unwrap();
    let callee = callee.program.as_ref().unwrap();
    let start = entry.func_info[1].insn_off.index();
    assert_eq!(entry.insns[start..], callee.insns, "the callee's insns, at its func_info");
    let call = entry.insns.iter().position(|i| i.code == 0x85 && i.src == BPF_PSEUDO_CALL);
    let call = call.unwrap();
    assert_eq!(call as i64 + 1 + i64::from(entry.insns[call].imm), start as i64);
}

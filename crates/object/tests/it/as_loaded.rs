//! Objects whose maps, names, sections or externs libbpf or the kernel does not take; each was
//! loaded with libbpf 1.5 on 6.18.44.

use skep_object::{LoadClass, Loader, Object, OpenOptions};
use std::path::Path;

fn open_with(file: &str, options: &OpenOptions) -> Object {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/object");
    Object::open(&std::fs::read(dir.join(file)).unwrap(), options).unwrap()
}

fn options() -> OpenOptions {
    OpenOptions { kconfig: Some("CONFIG_HZ=250\n".into()), ..OpenOptions::default() }
}

/// What refuses the object as a whole.
const REFUSED: [(&str, LoadClass, &str); 11] = [
    (
        "numa_node.bpf.o",
        LoadClass::Map,
        "map map (hash) cannot be created: numa_node is 1000, there is no such node online",
    ),
    (
        "map_name.bpf.o",
        LoadClass::Map,
        "map a$b (array) cannot be created: the kernel does not take its name",
    ),
    (
        "slot_of_other_size.bpf.o",
        LoadClass::Map,
        "map outer (array_of_maps) cannot be filled: \
         slot 0: max_entries of larger is not the template's",
    ),
    (
        "gcc/slot_of_later_map.bpf.o",
        LoadClass::Map,
        "map outer (array_of_maps) cannot be filled: slot 0: inner is not created before it",
    ),
    ("empty_license.bpf.o", LoadClass::Open, "section license: it is empty"),
    (
        "version_of_8_bytes.bpf.o",
        LoadClass::Open,
        "section version: it has 8 bytes, it must have 4",
    ),
    ("unknown_attribute.bpf.o", LoadClass::Open, "map map: libbpf knows no attribute 'foobar'"),
    (
        "kconfig_char.bpf.o",
        LoadClass::Extern,
        "extern (kcfg) 'CONFIG_HZ': value '250' does not fit in 1 bytes",
    ),
    (
        "kconfig_virtual.bpf.o",
        LoadClass::Extern,
        "extern (kcfg) 'SKEP_VIRTUAL': libbpf defines no such extern",
    ),
    (
        "kconfig_tristate.bpf.o",
        LoadClass::Extern,
        "extern (kcfg) 'LINUX_SKEP': value '0' does not fit its type",
    ),
    (
        "kconfig_type.bpf.o",
        LoadClass::Open,
        "extern (kcfg) 'CONFIG_SKEP_FLOAT': type is not supported",
    ),
];

#[test]
fn objects_are_refused_for_the_reason_that_libbpf_has() {
    for (file, class, why) in REFUSED {
        let refused = open_with(file, &options()).refused.expect(file);
        assert_eq!((refused.class(), &*refused.to_string()), (Some(class), why), "{file}");
    }
    let any = OpenOptions { loader: Loader::Any, ..options() };
    let object = open_with("unknown_attribute.bpf.o", &any);
    assert!(object.refused.is_none() && object.note.is_some(), "other loaders may know it");
    object.program("uses_it").unwrap();
}

/// libbpf 1.5 and 1.7 load the first, and cannot create the map of the second.
#[test]
fn of_a_large_configuration_only_the_values_take_memory() {
    let kconfig = "CONFIG_LOCALVERSION=\"-skep\"\nCONFIG_CC_VERSION_TEXT=\"cc\"\n";
    let options = OpenOptions { kconfig: Some(kconfig.into()), ..OpenOptions::default() };
    let object = open_with("kconfig_large.bpf.o", &options);
    object.program("prog").expect("a program");
    let map = object.maps.iter().find(|map| map.name.ends_with(".kconfig")).expect("a map");
    assert_eq!((map.value_size, &map.contents[..]), (1 << 24, &b"-skep"[..]));
    assert_eq!((map.initial_byte(1), map.initial_byte(1 << 23)), (Some(b's'), Some(0)));
    let refused = open_with("kconfig_too_large.bpf.o", &options).refused.expect("a refusal");
    assert_eq!(refused.class(), Some(LoadClass::Map));
    let why = "map .kconfig (array) cannot be created: value_size is 2147483648";
    assert!(refused.to_string().starts_with(why), "{refused}");
}

#[test]
fn programs_have_names_that_the_kernel_takes() {
    let object = open_with("names.bpf.o", &options());
    assert_eq!(object.program("a$b").unwrap_err().class(), Some(LoadClass::Open));
    object.program("abcdefghijklmno$").unwrap();
}

#[test]
fn the_last_license_counts() {
    let object = open_with("two_licenses.bpf.o", &options());
    assert_eq!(object.program("reads").unwrap().license, "Prop");
}

#[test]
fn maps_whose_btf_the_kernel_does_not_take_have_none() {
    let object = open_with("fields_of_maps.bpf.o", &options());
    let described = object.maps.iter().filter(|def| def.btf_value_type_id != 0);
    let names: Vec<&str> = described.map(|def| &*def.name).collect();
    assert_eq!(names, ["array", "lru", "hash", "storage", "storage_by_int"]);
    let undescribed = object.maps.iter().find(|def| def.name == "percpu").unwrap();
    assert_eq!(undescribed.btf_key_type_id, 0);
}

#[test]
fn without_btf_in_the_kernel_nothing_is_described() {
    let object = open_with("btf_refused.bpf.o", &options());
    let note = object.note.as_ref().expect("a note").to_string();
    assert!(note.ends_with("(VAR): invalid name 'v$1'"), "{note}");
    let program = object.program("calls").unwrap();
    assert!(program.btf.is_none() && program.func_info.is_empty() && program.line_info.is_empty());
    assert!(object.maps.iter().all(|def| def.btf_value_type_id == 0));
    // People are shown the source all the same.
    let unloaded = program.unloaded.as_ref().expect("the info of the file");
    assert_eq!(unloaded.func_info.len(), program.function_starts().count());
    assert!(program.source_place(0).is_some_and(|place| place.file.ends_with("btf_refused.bpf.c")));
}

/// libbpf gives the symbols of a kernel the first integer of 4 bytes.
#[test]
fn without_an_integer_symbols_have_no_type() {
    let object = open_with("gcc/ksym_without_int.bpf.o", &options());
    let note = object.note.as_ref().expect("a note").to_string();
    assert!(note.ends_with("(VAR): it refers to no type"), "{note}");
    assert!(object.program("address").unwrap().unloaded.is_some());
}

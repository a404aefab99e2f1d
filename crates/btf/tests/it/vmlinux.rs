//! The BTF of the running kernel, where there is one: real sizes, real layouts.

use skep_btf::{Btf, Endian, Kind, Walk};

fn vmlinux() -> Option<(Vec<u8>, Btf)> {
    let bytes = std::fs::read("/sys/kernel/btf/vmlinux").ok()?;
    let btf = Btf::parse(&bytes).unwrap();
    Some((bytes, btf))
}

#[test]
fn parses_and_encodes_back() {
    let Some((bytes, btf)) = vmlinux() else { return };
    assert!(btf.len() > 10_000);
    assert_eq!(btf.to_bytes(btf.endian()), bytes);
    let swapped = Btf::parse(&btf.to_bytes(Endian::Big)).unwrap();
    assert_eq!(swapped.type_words(), btf.type_words());
}

#[test]
fn every_type_has_a_name_and_bounded_layout() {
    let Some((_, btf)) = vmlinux() else { return };
    for t in btf.iter() {
        assert!(!btf.type_name(t.id()).is_empty());
        if let Kind::Struct | Kind::Union | Kind::Int | Kind::Enum = t.kind() {
            let size = btf.size_of(t.id()).unwrap();
            let align = btf.align_of(t.id()).unwrap();
            assert!(size % align == 0, "{t:?} size {size} align {align}");
        }
    }
}

#[test]
fn names_find_types() {
    let Some((_, btf)) = vmlinux() else { return };
    let task = btf.find_by_name_kind("task_struct", Kind::Struct).unwrap();
    assert_eq!(btf.ty(task).name(), "task_struct");
    assert_eq!(btf.find_by_name_kind("task_struct", Kind::Func), None);
    assert_eq!(btf.find_by_name_kind("no_such_type_at_all", Kind::Struct), None);
    let parent = btf.ty(task).members().find(|m| m.name() == "group_leader").unwrap();
    let walk = btf.struct_access(task, parent.bit_offset / 8, 8).unwrap();
    let Walk::Ptr { to, field, .. } = walk else { panic!("{walk:?}") };
    assert_eq!((to, field), (task, "group_leader"));
}

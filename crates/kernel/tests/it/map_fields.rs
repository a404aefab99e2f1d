//! `map_may_hold` and `map_key_may_be` beside BPF_MAP_CREATE: a value with each special field, in
//! every type of map, and with each type of key.

#![allow(clippy::print_stderr, reason = "a test that skips says so")]

use skep_btf::{BtfBuilder, Endian, FieldKind, IntEncoding, MemberDef, TypeId, special_fields};
use skep_kernel::bpf::{Map, MapCreate, btf_load};
use skep_kernel::reference;
use skep_uapi::{Amount, KernelProfile, KeyForm, MapFlags, MapType};
use skep_uapi::{map_key_may_be, map_may_hold, map_rule};
use std::os::fd::AsRawFd;

const VALUE_BYTES: u32 = 64;

/// The fields that values may have, and whether they need a lock beside them.
const FIELDS: [(FieldKind, bool); 12] = [
    (FieldKind::SpinLock, false),
    (FieldKind::ResSpinLock, false),
    (FieldKind::Timer, false),
    (FieldKind::Workqueue, false),
    (FieldKind::TaskWork, false),
    (FieldKind::KptrUnref, false),
    (FieldKind::KptrRef, false),
    (FieldKind::KptrPercpu, false),
    (FieldKind::Uptr, false),
    (FieldKind::ListHead, true),
    (FieldKind::RbRoot, true),
    (FieldKind::Refcount, false),
];

struct Value {
    builder: BtfBuilder,
    int: TypeId,
    /// The type of the bytes that make up a key.
    byte: TypeId,
    id: TypeId,
}

/// A value that has the field at its start.
fn value(kind: FieldKind, with_lock: bool) -> Value {
    let mut builder = BtfBuilder::new();
    let int = builder.int("int", 4, IntEncoding::SIGNED);
    let byte = builder.int("char", 1, IntEncoding::NONE);
    let mut special = |name: &str, size: u32| {
        let bytes = builder.array(byte, int, size);
        builder.struct_(name, size, &[MemberDef::new("opaque", bytes, 0)])
    };
    let lock = with_lock.then(|| special("bpf_spin_lock", 4));
    let field = if kind.is_pointer() {
        // A struct of the kernel's own: a referenced kptr needs one that programs may release.
        let target = match kind {
            FieldKind::KptrPercpu => special("skep_own", 8),
            FieldKind::Uptr => special("skep_own", 8),
            _ => builder.struct_("task_struct", 0, &[]),
        };
        let tagged = builder.type_tag(kind.name(), target);
        builder.ptr(tagged)
    } else {
        special(kind.name(), kind.size())
    };
    let node = match kind {
        FieldKind::ListHead => Some(FieldKind::ListNode),
        FieldKind::RbRoot => Some(FieldKind::RbNode),
        _ => None,
    };
    if let Some(node) = node {
        let opaque = builder.array(byte, int, node.size());
        let of = builder.struct_(node.name(), node.size(), &[MemberDef::new("o", opaque, 0)]);
        builder.struct_("held", node.size(), &[MemberDef::new("node", of, 0)]);
    }
    let rest = builder.array(byte, int, VALUE_BYTES - 40);
    let mut members = vec![MemberDef::new("field", field, 0)];
    members.extend(lock.map(|lock| MemberDef::new("lock", lock, 36 * 8)));
    members.push(MemberDef::new("rest", rest, 40 * 8));
    let id = builder.struct_("value", VALUE_BYTES, &members);
    if node.is_some() {
        builder.decl_tag("contains:held:node", id, Some(0));
    }
    Value { builder, int, byte, id }
}

/// What the kernel says to a map of this type with the value: `None` if it cannot have values of
/// this size.
fn answer(
    map_type: MapType,
    flags: MapFlags,
    kind: FieldKind,
    is_locked: bool,
    key: Option<KeyForm>,
) -> Option<Result<(), i32>> {
    let rule = map_rule(map_type).filter(|rule| rule.value.allows(u64::from(VALUE_BYTES)))?;
    let least = |amount: Amount| match amount {
        Amount::Between(1, most) if most >= 4 => 4,
        Amount::Between(least, _) | Amount::Either(least, _) | Amount::Multiple(least, _) => least,
        _ => 0,
    };
    let mut value = value(kind, is_locked);
    let key_size = match key {
        Some(KeyForm::Ids) => 16,
        _ => least(rule.key) as u32,
    };
    if !rule.key.allows(key_size.into()) {
        return None;
    }
    let bytes = value.builder.array(value.byte, value.int, key_size);
    let prefix = MemberDef::new("bytes", bytes, 0);
    let key = key.unwrap_or(match (map_type, key_size) {
        (_, 0) => KeyForm::Absent,
        (MapType::LpmTrie, _) => KeyForm::Struct,
        (_, 4) => KeyForm::Int32,
        (_, 8) => KeyForm::Int64,
        _ => KeyForm::Other,
    });
    let long = value.builder.int("u64", 8, IntEncoding::NONE);
    let ids = [MemberDef::new("cgroup", long, 0), MemberDef::new("attach", value.int, 64)];
    let key = match key {
        KeyForm::Absent => TypeId::VOID,
        KeyForm::Struct => value.builder.struct_("key", key_size, &[prefix]),
        KeyForm::Int32 if key_size == 4 => value.int,
        KeyForm::Int64 if key_size == 8 => long,
        KeyForm::Int32 | KeyForm::Int64 => return None,
        KeyForm::Ids => value.builder.struct_("key", key_size, &ids),
        KeyForm::Other if key_size == 4 => value.builder.enum_("key", 4, &[("A", 0)]),
        KeyForm::Other => bytes,
    };
    let built = value.builder.build().expect("a BTF");
    let found = special_fields(&built, value.id).expect("fields");
    let is_node = kind == FieldKind::ListNode;
    assert!(is_node || found.iter().any(|it| it.kind == kind), "{kind:?}");
    let btf = btf_load(&value.builder.to_bytes(Endian::NATIVE)).expect("the kernel's leave");
    let wanted = MapCreate {
        map_type: map_type.number(),
        key_size,
        value_size: VALUE_BYTES,
        max_entries: least(rule.entries) as u32,
        flags: (rule.required | flags).bits(),
        name: "skep",
        btf: Some(btf.as_raw_fd()),
        btf_key_type_id: key.0,
        btf_value_type_id: value.id.0,
        ..MapCreate::default()
    };
    Some(Map::create(&wanted).map(drop).map_err(|e| e.errno))
}

#[test]
fn every_map_holds_the_fields_that_it_may() {
    if let Err(why) = reference::answers(&KernelProfile::v6_18()) {
        return eprintln!("skipped: {why}");
    }
    let (mut held, mut asked, mut differing) = (0, 0, Vec::new());
    for map_type in MapType::all() {
        for field in FIELDS {
            for flags in [MapFlags::empty(), MapFlags::RDONLY_PROG, MapFlags::WRONLY_PROG] {
                let rule = map_rule(map_type);
                if rule.is_none_or(|rule| !rule.allowed.contains(flags)) {
                    continue;
                }
                let Some(said) = answer(map_type, flags, field.0, field.1, None) else { continue };
                let ours = map_may_hold(map_type, flags, field.0.name());
                (asked, held) = (asked + 1, held + usize::from(ours));
                if said.is_ok() != ours {
                    differing.push(format!("{map_type} {flags:?} {}: {said:?}", field.0.name()));
                }
            }
        }
    }
    assert!(differing.is_empty(), "{} of {asked}:\n{}", differing.len(), differing.join("\n"));
    assert!(asked > 200 && held > 60, "{held} of {asked}");
}

/// Maps whose values programs can look up, or get by a helper of their own.
const LOOKED_UP: [MapType; 13] = [
    MapType::Hash,
    MapType::Array,
    MapType::PercpuHash,
    MapType::PercpuArray,
    MapType::LruHash,
    MapType::LruPercpuHash,
    MapType::LpmTrie,
    MapType::SkStorage,
    MapType::InodeStorage,
    MapType::TaskStorage,
    MapType::CgrpStorage,
    MapType::CgroupStorage,
    MapType::PercpuCgroupStorage,
];

const FORMS: [KeyForm; 6] = [
    KeyForm::Absent,
    KeyForm::Int32,
    KeyForm::Int64,
    KeyForm::Ids,
    KeyForm::Struct,
    KeyForm::Other,
];

#[test]
fn every_map_has_the_keys_that_it_may() {
    if let Err(why) = reference::answers(&KernelProfile::v6_18()) {
        return eprintln!("skipped: {why}");
    }
    let mut differing = Vec::new();
    for map_type in LOOKED_UP {
        for key in FORMS {
            // A value that every one of them may have, but for the tries and cgroups.
            let field = match map_type {
                MapType::LpmTrie | MapType::CgroupStorage | MapType::PercpuCgroupStorage => {
                    (FieldKind::ListNode, false)
                }
                _ => (FieldKind::Refcount, false),
            };
            let Some(said) = answer(map_type, MapFlags::empty(), field.0, field.1, Some(key))
            else {
                continue;
            };
            if said.is_ok() != map_key_may_be(map_type, key) {
                differing.push(format!("{map_type} {key:?}: {said:?}"));
            }
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

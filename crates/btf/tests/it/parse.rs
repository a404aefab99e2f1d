//! The parser on good, broken and arbitrary bytes.

use proptest::prelude::*;
use skep_btf::*;
use std::sync::Arc;

/// One type of every kind.
fn every_kind() -> BtfBuilder {
    let mut b = BtfBuilder::new();
    let int = b.int("int", 4, IntEncoding::SIGNED);
    let ptr = b.ptr(int);
    b.array(int, int, 3);
    let s = b.struct_("s", 16, &[MemberDef::new("x", int, 0), MemberDef::new("p", ptr, 64)]);
    b.union_("u", 4, &[MemberDef::new("x", int, 0), MemberDef::bits("bits", int, 0, 5)]);
    b.enum_("e", 4, &[("A", -1), ("B", 2)]);
    b.fwd("f", true);
    b.typedef_("t", s);
    for kind in [Kind::Volatile, Kind::Const, Kind::Restrict] {
        b.modifier(kind, int);
    }
    let proto = b.func_proto(int, &[("a", ptr), ("", TypeId::VOID)]);
    let func = b.func("main", proto, FuncLinkage::Global);
    let var = b.var("v", int, VarLinkage::Static);
    b.datasec(".data", 4, &[SecVar { ty: var, offset: 0, size: 4 }]);
    b.float("double", 8);
    b.decl_tag("exported", func, None);
    b.decl_tag("arg:ctx", func, Some(0));
    b.type_tag("rcu", s);
    b.enum64("big", false, &[("HUGE", 1 << 40)]);
    b
}

#[test]
fn every_kind_reads_back_in_both_byte_orders() {
    let b = every_kind();
    for endian in [Endian::Little, Endian::Big] {
        let bytes = b.to_bytes(endian);
        let btf = Btf::parse(&bytes).unwrap();
        assert_eq!((btf.endian(), btf.to_bytes(endian)), (endian, bytes));
        let mut kinds: Vec<u8> = btf.iter().map(|t| t.kind() as u8).collect();
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds, (1..=19).collect::<Vec<u8>>());
        let find = |name, kind| btf.ty(btf.find_by_name_kind(name, kind).unwrap());
        let s = find("s", Kind::Struct);
        let members: Vec<_> = s.members().map(|m| (m.name(), m.bit_offset)).collect();
        assert_eq!((s.stated_size(), members), (Some(16), vec![("x", 0), ("p", 64)]));
        let u: Vec<_> = find("u", Kind::Union).members().map(|m| m.bitfield_size).collect();
        assert_eq!(u, [0, 5]);
        let e = find("e", Kind::Enum);
        let values: Vec<_> = e.enumerators().map(|v| v.value as i64).collect();
        assert_eq!((e.is_signed_enum(), values), (true, vec![-1, 2]));
        let big = find("big", Kind::Enum64).enumerators().next().unwrap();
        assert_eq!((big.name, big.value), ("HUGE", 1 << 40));
        let int = find("int", Kind::Int);
        assert_eq!((int.int_bits(), int.int_encoding().is_signed()), (32, true));
        let main = find("main", Kind::Func);
        let params: Vec<_> = main.target().params().map(|p| (p.name, p.ty.0)).collect();
        assert_eq!((main.func_linkage(), params), (1, vec![("a", 2), ("", 0)]));
        assert_eq!(btf.decl_tags(main.id(), None).collect::<Vec<_>>(), ["exported"]);
        assert_eq!(btf.decl_tags(main.id(), Some(0)).collect::<Vec<_>>(), ["arg:ctx"]);
        let array = btf.iter().find_map(Type::array).unwrap();
        assert_eq!((array.elem, array.nelems), (int.id(), 3));
        let data = find(".data", Kind::Datasec).vars().next().unwrap();
        assert_eq!((btf.ty(data.ty).name(), data.size), ("v", 4));
        assert!(find("f", Kind::Fwd).is_fwd_union());
    }
}

#[test]
fn edits_keep_ids() {
    let btf = every_kind().build().unwrap();
    let id = |name, kind| btf.find_by_name_kind(name, kind).unwrap();
    let mut b = BtfBuilder::from_btf(&btf);
    let (sec, var, func) = (id(".data", Kind::Datasec), id("v", Kind::Var), id("main", Kind::Func));
    b.set_size(sec, 8);
    b.set_var(sec, 0, SecVar { ty: var, offset: 4, size: 4 });
    b.set_name(sec, ".data.renamed");
    b.set_var_linkage(var, VarLinkage::Extern);
    b.set_func_linkage(func, FuncLinkage::Static);
    b.overwrite(id("double", Kind::Float), |b| b.struct_("double", 8, &[]));
    let edited = b.build().unwrap();
    assert_eq!(edited.len(), btf.len());
    let t = edited.ty(sec);
    let first = t.vars().next().map(|v| (v.offset, v.size));
    assert_eq!((t.name(), t.stated_size(), first), (".data.renamed", Some(8), Some((4, 4))));
    assert_eq!((edited.ty(var).var_linkage(), edited.ty(func).func_linkage()), (2, 0));
    assert!(edited.find_by_name_kind("double", Kind::Struct).is_some());
}

#[test]
fn split_btf_goes_on_where_its_base_ends() {
    let base = Arc::new(every_kind().build().unwrap());
    let (ids, strings) = (base.end_id().0, base.string_bytes().len() as u32);
    // TYPEDEF of the base's `int` under a name in the split strings, then one of that.
    let mut bytes = BtfBuilder::new().to_bytes(Endian::Little);
    bytes.truncate(24);
    for word in [strings, 8 << 24, 1, 1, 8 << 24, ids] {
        bytes.extend(u32::to_le_bytes(word));
    }
    bytes.extend(b"module_int\0");
    for (at, word) in [(12, 24u32), (16, 24), (20, 11)] {
        bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }
    let split = Btf::parse_split(base.clone(), &bytes).unwrap();
    assert_eq!((split.first_id().0, split.len(), split.end_id().0), (ids, 2, ids + 2));
    assert_eq!(split.ty(TypeId(ids)).name(), "module_int");
    assert_eq!(split.ty(TypeId(ids + 1)).name(), base.str(1));
    assert_eq!(split.find_by_name_kind("module_int", Kind::Typedef), Some(TypeId(ids)));
    assert_eq!(split.find_by_name_kind("int", Kind::Int), Some(TypeId(1)));
    assert_eq!(split.size_of(TypeId(ids + 1)).unwrap(), 4);
    assert!(Btf::parse(&bytes).is_err());
}

#[test]
fn errors_say_where() {
    let good = {
        let mut b = BtfBuilder::new();
        let int = b.int("int", 4, IntEncoding::SIGNED);
        b.struct_("s", 4, &[MemberDef::new("x", int, 0)]);
        b.to_bytes(Endian::Little)
    };
    // Header 24, INT at 0x18 (4 words), STRUCT at 0x28 (6 words), strings "\0int\0s\0x\0" at 0x40.
    for (at, value, message) in [
        (0, 0, "offset 0x0: no BTF magic number"),
        (2, 2, "offset 0x2: version is not 1"),
        (4, 16, "offset 0x4: header length 16 is out of range"),
        (8, 1, "offset 0x8: type section is not aligned to 4 bytes"),
        (16, 1, "offset 0x10: strings begin before the types end"),
        (15, 1, "offset 0x8: type section (0x0 + 0x1000028) ends beyond the data"),
        (20, 99, "offset 0x10: string section (0x28 + 0x63) ends beyond the data"),
        (20, 8, "offset 0x40: string section does not end with NUL"),
        (0x40, 1, "offset 0x40: string section does not begin with NUL"),
        (0x18, 9, "BTF type 1: offset 0x18: name offset 0x9 is out of range (strings end at 0x9)"),
        (0x1f, 20, "BTF type 1: offset 0x18: unknown kind 20"),
        (0x1f, 0, "BTF type 1: offset 0x18: unknown kind 0"),
        (0x2c, 9, "BTF type 2: offset 0x28: STRUCT of 30 words is truncated"),
        (0x38, 3, "offset 0x28: type id 3 is out of range (ids end at 3)"),
    ] {
        let mut bytes = good.clone();
        bytes[at] = value;
        let e = Btf::parse(&bytes).unwrap_err();
        assert_eq!(e.to_string(), format!("parse BTF: {message}"));
    }
    for len in 0..good.len() {
        assert!(Btf::parse(&good[..len]).is_err(), "{len}");
    }
}

#[test]
fn modifiers_in_a_circle_are_refused() {
    let mut b = BtfBuilder::new();
    b.modifier(Kind::Const, TypeId(2));
    b.typedef_("t", TypeId(1));
    let e = b.build().unwrap_err();
    assert_eq!(e.to_string(), "parse BTF: BTF type 1: CONST is a cycle of modifiers");
    // As libbpf reads them; the kernel does not load them.
    let object = Btf::parse_of_object(&b.to_bytes(Endian::Little)).expect("well-formed");
    assert_eq!(object.skip_modifiers(TypeId(2)).id(), TypeId::VOID);
    assert!(refused_by_kernel(&object).expect("refused").to_string().contains("within itself"));
}

/// libbpf reads it; the kernel does not load it.
/// libbpf reads no number of parts of an integer, the kernel does.
#[test]
fn of_a_kind_without_parts_their_number_is_the_kernels_to_refuse() {
    let mut b = BtfBuilder::new();
    b.int("int", 4, IntEncoding::SIGNED);
    let mut bytes = b.to_bytes(Endian::Little);
    bytes[24 + 6] = 1;
    let btf = Btf::parse(&bytes).unwrap();
    assert_eq!(btf.iter().next().map(|ty| ty.kind()), Some(Kind::Int));
    assert!(refused_by_kernel(&btf).is_some());
}

#[test]
fn a_prototype_may_return_a_type_that_is_not_there() {
    let mut types = BtfBuilder::new();
    let int = types.int("int", 4, IntEncoding::SIGNED);
    let proto = types.func_proto(TypeId(99), &[("x", int)]);
    types.func("f", proto, FuncLinkage::Global);
    let btf = types.build().expect("well-formed");
    assert_eq!(btf.ty(proto).target().kind(), Kind::Void);
    assert!(refused_by_kernel(&btf).expect("refused").to_string().contains("no size"));
    types.ptr(TypeId(99));
    assert!(types.build().is_err());
}

/// A struct with the name of a lock in it, but no lock.
#[test]
fn a_special_field_of_no_use_refuses_all_types() {
    let at = |bit_offset: u32, size: u32| {
        let mut types = BtfBuilder::new();
        let int = types.int("int", 4, IntEncoding::SIGNED);
        let lock = types.struct_("bpf_spin_lock", 4, &[MemberDef::new("val", int, 0)]);
        types.struct_("holder", size, &[MemberDef::new("lock", lock, bit_offset)]);
        refused_by_kernel(&types.build().expect("well-formed")).is_some()
    };
    assert!(!at(0, 4) && !at(32, 8) && at(8, 5));
}

#[test]
fn strings_need_not_be_utf8() {
    let mut b = BtfBuilder::new();
    b.fwd("naXme", false);
    let mut bytes = b.to_bytes(Endian::Little);
    let at = bytes.iter().position(|&c| c == b'X').unwrap();
    bytes[at] = 0xff;
    let btf = Btf::parse(&bytes).unwrap();
    assert_eq!(btf.ty(TypeId(1)).name(), "na?me");
    assert_eq!(btf.to_bytes(Endian::Little), bytes);
}

/// Asks everything there is to ask, of every type.
fn ask_everything(btf: &Btf) {
    for t in btf.iter() {
        let id = t.id();
        let _ = (btf.type_name(id), btf.size_of(id), btf.align_of(id), special_fields(btf, id));
        let _ = (t.members().count(), t.enumerators().count(), t.params().count());
        for (off, size) in [(0, 8), (4, 4), (u32::MAX, 8), (12, 1)] {
            let _ = btf.struct_access(id, off, size);
        }
        let _ = btf.find_by_name_kind(t.name(), t.kind());
    }
    let _ = struct_metas(btf);
}

/// Every kind of relocation of every type with a few paths.
fn relocate_everything(btf: &Btf) {
    for t in btf.iter() {
        for kind in 0..13 {
            for access_str_off in [0, t.name_off()] {
                let relo = CoreRelo { insn_off: 0, type_id: t.id(), access_str_off, kind };
                let mut insns = [skep_insn::Insn::default(); 2];
                let _ = core::Relocator::new(btf, &[btf]).relocate(&mut insns, 0, &relo);
            }
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Btf::parse(&bytes);
        let _ = BtfExt::parse(&bytes);
    }

    #[test]
    fn mutated_btf_does_not_panic(
        edits in proptest::collection::vec((0usize..1000, any::<u8>()), 1..6),
    ) {
        let mut b = every_kind();
        b.string("0:0");
        b.string("0:1");
        let mut bytes = b.to_bytes(Endian::Little);
        for (at, value) in edits {
            let at = at % bytes.len();
            bytes[at] = value;
        }
        if let Ok(btf) = Btf::parse(&bytes) {
            ask_everything(&btf);
            relocate_everything(&btf);
        }
    }

    #[test]
    fn mutated_words_do_not_panic(
        words in proptest::collection::vec(
            (0u32..8, 0u8..20, 0u16..5, 0u32..12, any::<bool>()),
            1..30,
        ),
        fill in proptest::collection::vec(0u32..12, 400),
    ) {
        // Types that are well formed, so that what refers to what is all that is arbitrary.
        let mut types = Vec::new();
        let mut fill = fill.iter().cycle();
        for (name, kind, vlen, size, kflag) in words {
            let Some(kind) = Kind::from_number(kind) else { continue };
            let extra = match kind {
                Kind::Void => continue,
                Kind::Int | Kind::Var | Kind::DeclTag => 1,
                Kind::Array => 3,
                Kind::Struct | Kind::Union | Kind::Datasec | Kind::Enum64 => 3 * vlen,
                Kind::Enum | Kind::FuncProto => 2 * vlen,
                _ => 0,
            };
            let info = u32::from(kflag) << 31 | (kind as u32) << 24 | u32::from(vlen);
            types.extend([name, info, size]);
            types.extend(fill.by_ref().take(usize::from(extra)));
        }
        let mut bytes = BtfBuilder::new().to_bytes(Endian::Little);
        bytes.truncate(24);
        let len = types.len() as u32 * 4;
        types.iter().for_each(|w| bytes.extend(w.to_le_bytes()));
        bytes.extend(b"\0a\0bpf_timer\0\0");
        for (at, word) in [(12, len), (16, len), (20, 14)] {
            bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        if let Ok(btf) = Btf::parse(&bytes) {
            ask_everything(&btf);
            relocate_everything(&btf);
        }
    }
}

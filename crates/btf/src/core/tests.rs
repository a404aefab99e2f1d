//! Relocations of every kind and form, between hand-made BTFs.

use super::*;
use crate::{BtfBuilder, IntEncoding, MemberDef};
use skep_insn::code::*;

const U: IntEncoding = IntEncoding::NONE;
const S: IntEncoding = IntEncoding::SIGNED;

/// Ids of the types on both sides.
struct Ints {
    u32: TypeId,
    u64: TypeId,
    i32: TypeId,
}

fn ints(b: &mut BtfBuilder) -> Ints {
    let u32 = b.int("unsigned int", 4, U);
    Ints { u32, u64: b.int("unsigned long", 8, U), i32: b.int("int", 4, S) }
}

/// The compiler's output for each kind of relocation, with `value`.
fn mov(value: i32) -> Vec<Insn> {
    vec![Insn { code: BPF_ALU64 | BPF_MOV | BPF_K, dst: 1, imm: value, ..Insn::default() }]
}
fn load(size: u8, off: i16) -> Vec<Insn> {
    vec![Insn { code: BPF_LDX | BPF_MEM | size, dst: 1, src: 2, off, imm: 0 }]
}
fn imm64(value: u64) -> Vec<Insn> {
    let low = Insn { code: BPF_LD | BPF_IMM | BPF_DW, imm: value as i32, ..Insn::default() };
    vec![low, Insn { imm: (value >> 32) as i32, ..Insn::default() }]
}

/// One relocation of `insns[0]`.
struct Try {
    local: BtfBuilder,
    root: TypeId,
    access: &'static str,
    kind: ReloKind,
}

impl Try {
    fn on(mut self, insns: &mut [Insn], targets: &[&Btf]) -> Result<CoreOutcome, Error> {
        let access_str_off = self.local.string(self.access);
        let local = self.local.build().unwrap();
        let (type_id, kind) = (self.root, self.kind as u32);
        let relo = CoreRelo { insn_off: 0, type_id, access_str_off, kind };
        Relocator::new(&local, targets).relocate(insns, 0, &relo)
    }
}

/// `struct s { m }` on both sides with members made by `local` and `target`.
fn field_try(
    kind: ReloKind,
    access: &'static str,
    local: fn(&mut BtfBuilder, &Ints) -> Vec<MemberDef<'static>>,
    target: fn(&mut BtfBuilder, &Ints) -> Vec<MemberDef<'static>>,
) -> (Try, Btf) {
    let build = |members: fn(&mut BtfBuilder, &Ints) -> Vec<MemberDef<'static>>, name| {
        let mut b = BtfBuilder::new();
        let ints = ints(&mut b);
        let members = members(&mut b, &ints);
        let root = b.struct_(name, 64, &members);
        (b, root)
    };
    let (b, root) = build(local, "s___local");
    let target = build(target, "s").0.build().unwrap();
    (Try { local: b, root, access, kind }, target)
}

fn patched(from: u64, to: u64) -> Result<CoreOutcome, Error> {
    Ok(CoreOutcome::Patched { from, to })
}

#[test]
fn offset_moves_in_each_insn_form() {
    for (mut insns, expect) in
        [(mov(4), mov(24)), (load(BPF_W, 4), load(BPF_W, 24)), (imm64(4), imm64(24))]
    {
        let (t, target) = field_try(
            ReloKind::FieldByteOffset,
            "0:1",
            |_, i| vec![MemberDef::new("x", i.u32, 0), MemberDef::new("a", i.u32, 32)],
            |_, i| vec![MemberDef::new("a", i.u32, 192), MemberDef::new("x", i.u32, 0)],
        );
        assert_eq!(t.on(&mut insns, &[&target]), patched(4, 24));
        assert_eq!(insns, expect);
    }
}

#[test]
fn insn_must_hold_what_the_compiler_wrote() {
    let (t, target) = field_try(
        ReloKind::FieldByteOffset,
        "0:0",
        |_, i| vec![MemberDef::new("a", i.u32, 32)],
        |_, i| vec![MemberDef::new("a", i.u32, 64)],
    );
    let e = t.on(&mut mov(5), &[&target]).unwrap_err();
    assert_eq!(
        e.to_string(),
        "CO-RE relocation of insn 0: <byte_off> struct s___local (0:0): \
         insn holds 5 where 4 was expected"
    );
}

#[test]
fn unsigned_loads_change_width_and_signed_ones_are_poisoned() {
    let (t, target) = field_try(
        ReloKind::FieldByteOffset,
        "0:0",
        |_, i| vec![MemberDef::new("a", i.u32, 0)],
        |_, i| vec![MemberDef::new("a", i.u64, 64)],
    );
    let mut insns = load(BPF_W, 0);
    assert_eq!(t.on(&mut insns, &[&target]), patched(0, 8));
    assert_eq!(insns, load(BPF_DW, 8));

    let (t, target) = field_try(
        ReloKind::FieldByteOffset,
        "0:0",
        |_, i| vec![MemberDef::new("a", i.i32, 0)],
        |_, i| vec![MemberDef::new("a", i.u64, 64)],
    );
    let mut insns = load(BPF_W, 0);
    assert_eq!(t.on(&mut insns, &[&target]), Ok(CoreOutcome::Poisoned));
    assert_eq!((insns[0].code, insns[0].imm), (BPF_JMP | BPF_CALL, 195_896_080));
}

#[test]
fn arrays_are_loaded_by_element() {
    let (t, target) = field_try(
        ReloKind::FieldByteOffset,
        "0:0",
        |b, i| vec![MemberDef::new("a", b.array(i.u32, i.u32, 4), 0)],
        |b, i| vec![MemberDef::new("a", b.array(i.u32, i.u32, 8), 32)],
    );
    let mut insns = load(BPF_W, 0);
    assert_eq!(t.on(&mut insns, &[&target]), patched(0, 4));
    assert_eq!(insns, load(BPF_W, 4));
}

#[test]
fn array_elements_are_bounded_by_the_target_unless_flexible() {
    let local =
        |b: &mut BtfBuilder, i: &Ints| vec![MemberDef::new("a", b.array(i.u32, i.u32, 8), 0)];
    for (target, expect) in [
        (
            (|b, i| vec![MemberDef::new("a", b.array(i.u32, i.u32, 4), 64)])
                as fn(&mut BtfBuilder, &Ints) -> Vec<MemberDef<'static>>,
            Ok(CoreOutcome::Poisoned),
        ),
        (|b, i| vec![MemberDef::new("a", b.array(i.u32, i.u32, 0), 64)], patched(20, 28)),
        (
            |b, i| {
                vec![
                    MemberDef::new("a", b.array(i.u32, i.u32, 0), 64),
                    MemberDef::new("z", i.u32, 0),
                ]
            },
            { Ok(CoreOutcome::Poisoned) },
        ),
    ] {
        let (t, target) = field_try(ReloKind::FieldByteOffset, "0:0:5", local, target);
        assert_eq!(t.on(&mut mov(20), &[&target]), expect);
    }
}

#[test]
fn anonymous_members_are_transparent() {
    let (t, target) = field_try(
        ReloKind::FieldByteOffset,
        "0:0",
        |_, i| vec![MemberDef::new("deep", i.u32, 0)],
        |b, i| {
            let inner = b.struct_(
                "",
                8,
                &[MemberDef::new("x", i.u32, 0), MemberDef::new("deep", i.u32, 32)],
            );
            let outer =
                b.union_("", 8, &[MemberDef::new("y", i.u64, 0), MemberDef::new("", inner, 0)]);
            vec![MemberDef::new("other", i.u64, 0), MemberDef::new("", outer, 128)]
        },
    );
    assert_eq!(t.on(&mut mov(0), &[&target]), patched(0, 20));
}

#[test]
fn missing_fields_poison_or_answer_no() {
    let some = |_: &mut BtfBuilder, i: &Ints| vec![MemberDef::new("a", i.u32, 0)];
    let none = |_: &mut BtfBuilder, i: &Ints| vec![MemberDef::new("b", i.u32, 0)];
    let (t, target) = field_try(ReloKind::FieldExists, "0:0", some, none);
    assert_eq!(t.on(&mut mov(1), &[&target]), patched(1, 0));
    let (t, target) = field_try(ReloKind::FieldExists, "0:0", some, some);
    assert_eq!(t.on(&mut mov(1), &[&target]), patched(1, 1));
    let (t, target) = field_try(ReloKind::FieldByteOffset, "0:0", some, none);
    let mut insns = imm64(0);
    assert_eq!(t.on(&mut insns, &[&target]), Ok(CoreOutcome::Poisoned));
    assert!(insns.iter().all(|i| i.imm == POISON_IMM && i.code == BPF_JMP | BPF_CALL));
    // libbpf 1.8, asked with every opcode: what cannot be relocated is not poisoned either.
    for code in [BPF_ALU64 | BPF_MOV | BPF_X, BPF_LD | BPF_IMM, BPF_LD | BPF_ABS] {
        let mut insns = [Insn { code, ..Insn::default() }; 2];
        let (t, target) = field_try(ReloKind::FieldByteOffset, "0:0", some, none);
        assert!(t.on(&mut insns, &[&target]).is_err(), "{code:#x}");
    }
    // libbpf 1.5 does not relocate what is poisoned.
    let (t, target) = field_try(ReloKind::FieldByteOffset, "0:0", some, none);
    let again = t.on(&mut insns, &[&target]).unwrap_err().to_string();
    assert!(again.ends_with("cannot relocate an insn with opcode 0x85"), "{again}");
}

#[test]
fn fields_of_another_kind_do_not_fit() {
    let (t, target) = field_try(
        ReloKind::FieldExists,
        "0:0",
        |_, i| vec![MemberDef::new("a", i.u32, 0)],
        |b, i| vec![MemberDef::new("a", b.ptr(i.u32), 0)],
    );
    assert_eq!(t.on(&mut mov(1), &[&target]), patched(1, 0));
}

/// A bitfield of 5 bits at bit 35: bits 3 to 7 of byte 4, loaded as the u32 at byte 4.
#[test]
fn bitfields_say_how_to_load_and_shift() {
    let bits = |_: &mut BtfBuilder, i: &Ints| vec![MemberDef::bits("b", i.i32, 35, 5)];
    for (kind, value) in [
        (ReloKind::FieldByteOffset, 4),
        (ReloKind::FieldByteSize, 4),
        (ReloKind::FieldSigned, 1),
        (ReloKind::FieldLshiftU64, 64 - 8),
        (ReloKind::FieldRshiftU64, 64 - 5),
    ] {
        let (t, target) = field_try(kind, "0:0", bits, bits);
        assert_eq!(t.on(&mut mov(value), &[&target]), patched(value as u64, value as u64));
    }
}

/// What reads one can neither read the other.
#[test]
fn loads_of_a_field_that_is_a_bitfield_on_one_side_are_poisoned() {
    let plain = |_: &mut BtfBuilder, i: &Ints| vec![MemberDef::new("b", i.u32, 32)];
    let bits = |_: &mut BtfBuilder, i: &Ints| vec![MemberDef::bits("b", i.u32, 32, 5)];
    for (local, other) in
        [(plain as fn(&mut _, &_) -> _, bits as fn(&mut _, &_) -> _), (bits, plain)]
    {
        let (t, target) = field_try(ReloKind::FieldByteOffset, "0:0", local, other);
        assert_eq!(t.on(&mut load(BPF_W, 4), &[&target]), Ok(CoreOutcome::Poisoned));
        let (t, target) = field_try(ReloKind::FieldByteOffset, "0:0", local, other);
        assert_eq!(t.on(&mut mov(4), &[&target]), patched(4, 4));
    }
}

/// libbpf does not refuse it: the verifier refuses the shift.
#[test]
fn of_a_field_wider_than_a_word_the_shift_overflows() {
    fn array(b: &mut BtfBuilder, elem: TypeId, nelems: u32) -> Vec<MemberDef<'static>> {
        vec![MemberDef::new("a", b.array(elem, elem, nelems), 0)]
    }
    let narrow = |b: &mut BtfBuilder, i: &Ints| array(b, i.u32, 1);
    let wide = |b: &mut BtfBuilder, i: &Ints| array(b, i.u64, 2);
    let (t, target) = field_try(ReloKind::FieldRshiftU64, "0:0", narrow, wide);
    let mut insns = mov(32);
    assert_eq!(t.on(&mut insns, &[&target]), patched(32, u64::from(-64i32 as u32)));
    assert_eq!(insns, mov(-64));
}

/// A bitfield that straddles a u32 is loaded as u64.
#[test]
fn bitfields_that_straddle_are_loaded_wider() {
    let bits = |_: &mut BtfBuilder, i: &Ints| vec![MemberDef::bits("b", i.u32, 28, 8)];
    let (t, target) = field_try(ReloKind::FieldByteSize, "0:0", bits, bits);
    assert_eq!(t.on(&mut mov(8), &[&target]), patched(8, 8));
}

fn type_try(kind: ReloKind, make: fn(&mut BtfBuilder) -> TypeId) -> Try {
    let mut local = BtfBuilder::new();
    let root = make(&mut local);
    Try { local, root, access: "0", kind }
}

fn target(make: fn(&mut BtfBuilder) -> TypeId) -> Btf {
    let mut b = BtfBuilder::new();
    b.float("a type of the target only", 8);
    make(&mut b);
    b.build().unwrap()
}

#[test]
fn types_exist_and_have_sizes_and_ids() {
    let foo = |b: &mut BtfBuilder| b.struct_("foo", 12, &[]);
    let here = target(|b| b.struct_("foo", 20, &[]));
    let absent = target(|b| b.union_("foo", 20, &[]));
    for (kind, holds, found, not_found) in [
        (ReloKind::TypeExists, 1, 1, 0),
        (ReloKind::TypeSize, 12, 20, 0),
        (ReloKind::TypeIdTarget, 1, 2, 0),
        (ReloKind::TypeIdLocal, 1, 1, 1),
        (ReloKind::TypeMatches, 1, 1, 0),
    ] {
        let (mut a, mut b) = (imm64(holds), imm64(holds));
        assert_eq!(type_try(kind, foo).on(&mut a, &[&here]), patched(holds, found), "{kind:?}");
        assert_eq!(a, imm64(found));
        assert_eq!(type_try(kind, foo).on(&mut b, &[&absent]), patched(holds, not_found));
        assert_eq!(b, imm64(not_found));
    }
}

#[test]
fn typedefs_of_pointers_and_functions_compare_by_structure() {
    fn alias(b: &mut BtfBuilder, params: usize) -> TypeId {
        let int = b.int("int", 4, S);
        let proto = b.func_proto(int, &vec![("p", int); params]);
        let ptr = b.ptr(proto);
        b.typedef_("callback_t", ptr)
    }
    let same = target(|b| alias(b, 2));
    let other = target(|b| alias(b, 3));
    let t = || type_try(ReloKind::TypeExists, |b| alias(b, 2));
    assert_eq!(t().on(&mut mov(1), &[&same]), patched(1, 1));
    assert_eq!(t().on(&mut mov(1), &[&other]), patched(1, 0));
}

#[test]
fn matching_wants_every_member() {
    fn make(b: &mut BtfBuilder, names: &[&str]) -> TypeId {
        let int = b.int("int", 4, S);
        let members: Vec<_> = names.iter().map(|n| MemberDef::new(n, int, 0)).collect();
        b.struct_("foo", 16, &members)
    }
    let wide = target(|b| make(b, &["c", "a", "b"]));
    let narrow = target(|b| make(b, &["a", "c", "d"]));
    let t = || type_try(ReloKind::TypeMatches, |b| make(b, &["a", "b"]));
    assert_eq!(t().on(&mut mov(1), &[&wide]), patched(1, 1));
    assert_eq!(t().on(&mut mov(1), &[&narrow]), patched(1, 0));
}

/// Their sizes decide, not their kinds; values are not compared.
#[test]
fn enums_match_in_one_size() {
    let local = |b: &mut BtfBuilder| b.enum_("e", 8, &[("A", 1)]);
    let t = || type_try(ReloKind::TypeMatches, local);
    let wide = target(|b| b.enum64("e", false, &[("A", 2)]));
    let short = target(|b| b.enum_("e", 4, &[("A", 1)]));
    assert_eq!(t().on(&mut mov(1), &[&wide]), patched(1, 1));
    assert_eq!(t().on(&mut mov(1), &[&short]), patched(1, 0));
}

#[test]
fn values_of_4_bytes_are_signed() {
    let t = type_try(ReloKind::EnumvalValue, |b| b.enum_("e", 4, &[("A", 1)]));
    let mut bytes = {
        let mut b = BtfBuilder::new();
        b.enum_("e", 4, &[("A", i32::MIN)]);
        b.to_bytes(crate::Endian::Little)
    };
    // As unsigned.
    bytes[24 + 7] &= 0x7f;
    let target = Btf::parse(&bytes).unwrap();
    assert!(!target.ty(TypeId(1)).is_signed_enum());
    let (min, mut insns) = (i64::from(i32::MIN) as u64, imm64(1));
    assert_eq!(t.on(&mut insns, &[&target]), patched(1, min));
    assert_eq!(insns, imm64(min));
}

#[test]
fn enum_values_are_found_by_name_in_either_width() {
    let local = |b: &mut BtfBuilder| b.enum_("e", 4, &[("A___old", 1), ("B", 2)]);
    let wide = target(|b| b.enum64("e", false, &[("Z", 0), ("A", 0x1_0000_0002)]));
    let value = |kind, access| Try { access, ..type_try(kind, local) };
    let mut insns = imm64(1);
    let t = value(ReloKind::EnumvalValue, "0");
    assert_eq!(t.on(&mut insns, &[&wide]), patched(1, 0x1_0000_0002));
    assert_eq!(insns, imm64(0x1_0000_0002));
    let t = value(ReloKind::EnumvalExists, "1");
    assert_eq!(t.on(&mut mov(1), &[&wide]), patched(1, 0));
    let t = value(ReloKind::EnumvalValue, "1");
    assert_eq!(t.on(&mut imm64(2), &[&wide]), Ok(CoreOutcome::Poisoned));
    assert!(value(ReloKind::EnumvalValue, "2").on(&mut imm64(2), &[&wide]).is_err());
}

#[test]
fn candidates_must_agree_and_the_kernel_comes_first() {
    fn at(b: &mut BtfBuilder, bits: u32) -> TypeId {
        let int = b.int("int", 4, S);
        b.struct_("s", 64, &[MemberDef::new("a", int, bits)])
    }
    let t = || Try { access: "0:0", ..type_try(ReloKind::FieldByteOffset, |b| at(b, 0)) };
    let equal = target(|b| {
        at(b, 32);
        at(b, 32)
    });
    let unequal = target(|b| {
        at(b, 32);
        at(b, 64)
    });
    let (empty, module) = (target(|b| b.fwd("nothing", false)), target(|b| at(b, 64)));
    assert_eq!(t().on(&mut mov(0), &[&equal]), patched(0, 4));
    assert!(t().on(&mut mov(0), &[&unequal]).is_err());
    assert_eq!(t().on(&mut mov(0), &[&equal, &module]), patched(0, 4));
    assert_eq!(t().on(&mut mov(0), &[&empty, &module]), patched(0, 8));
    assert!(t().on(&mut mov(0), &[]).is_err());
}

#[test]
fn candidates_that_lack_one_field_are_not_asked_for_the_next() {
    let mut local = BtfBuilder::new();
    let int = local.int("int", 4, S);
    let type_id =
        local.struct_("s", 8, &[MemberDef::new("a", int, 0), MemberDef::new("b", int, 32)]);
    let accesses = [local.string("0:0"), local.string("0:1")];
    let (local, target) = (
        local.build().unwrap(),
        target(|b| {
            let int = b.int("int", 4, S);
            b.struct_("s___1", 4, &[MemberDef::new("a", int, 0)]);
            b.struct_("s___2", 4, &[MemberDef::new("b", int, 0)])
        }),
    );
    let targets = [&target];
    let mut relocator = Relocator::new(&local, &targets);
    let mut apply = |n: usize, insns: &mut [Insn]| {
        let relo = CoreRelo { insn_off: 0, type_id, access_str_off: accesses[n], kind: 0 };
        relocator.relocate(insns, 0, &relo)
    };
    assert_eq!(apply(0, &mut mov(0)), patched(0, 0));
    assert_eq!(apply(1, &mut mov(4)), Ok(CoreOutcome::Poisoned));
    assert_eq!(apply(0, &mut mov(0)), patched(0, 0));
}

#[test]
fn a_struct_that_holds_itself_ends_in_an_error() {
    let (t, target) = field_try(
        ReloKind::FieldByteOffset,
        "0:0",
        |_, i| vec![MemberDef::new("a", i.u32, 0)],
        |b, _| {
            let me = b.next_id();
            vec![MemberDef::new("", me, 0), MemberDef::new("", me, 0)]
        },
    );
    assert!(t.on(&mut mov(0), &[&target]).is_err());
}

#[test]
fn hostile_relocations_are_errors() {
    let foo = |b: &mut BtfBuilder| b.struct_("foo", 12, &[]);
    let btf = target(foo);
    for access in ["", ":", "0:", "a", "-1", "0:0", "99999999999", "0:1:2:3"] {
        let t = Try { access, ..type_try(ReloKind::FieldByteOffset, foo) };
        assert!(t.on(&mut mov(0), &[&btf]).is_err(), "{access}");
    }
    let local = btf;
    for (type_id, access_str_off, kind) in [(9, 0, 8), (1, 999, 8), (1, 0, 13)] {
        let relo = CoreRelo { insn_off: 0, type_id: TypeId(type_id), access_str_off, kind };
        assert!(Relocator::new(&local, &[&local]).relocate(&mut mov(0), 0, &relo).is_err());
    }
    assert!(type_try(ReloKind::TypeExists, foo).on(&mut [], &[&local]).is_err());
    assert!(type_try(ReloKind::TypeIdLocal, foo).on(&mut imm64(0)[..1], &[]).is_err());
}

/// The explanation of a failed relocation.
fn why(mut t: Try, target: &Btf) -> String {
    let access_str_off = t.local.string(t.access);
    let local = t.local.build().unwrap();
    let relo = CoreRelo { insn_off: 0, type_id: t.root, access_str_off, kind: t.kind as u32 };
    Relocator::new(&local, &[target]).explain(&relo)
}

#[test]
fn what_the_target_has_instead_is_said() {
    use ReloKind::*;
    let one = |kind, access, target| {
        let fields = |_: &mut BtfBuilder, t: &Ints| vec![MemberDef::new("gone", t.u32, 0)];
        let (t, target) = field_try(kind, access, fields, target);
        why(t, &target)
    };
    let asked = "CO-RE relocation <byte_off> of struct s___local.gone: the kernel's struct s";
    let said = one(FieldByteOffset, "0:0", |_, t| vec![MemberDef::new("kept", t.u32, 0)]);
    assert_eq!(said, format!("{asked} has no member gone"));
    let said = one(FieldByteOffset, "0:0", |b, t| {
        let inner = b.struct_("", 8, &[MemberDef::new("gone", t.u32, 0)]);
        vec![MemberDef::new("gone", inner, 0)]
    });
    let types = "has `struct (anon) gone`, the object's `unsigned int gone`";
    assert_eq!(said, format!("{asked} {types}"));
    let said = one(FieldByteOffset, "0:0", |_, t| vec![MemberDef::new("gone", t.u64, 0)]);
    assert!(said.ends_with("it has 8 bytes in the kernel, 4 in the object"), "{said}");

    let (t, target) = field_try(
        FieldByteOffset,
        "0:0:9",
        |b, t| vec![MemberDef::new("list", b.array(t.u32, t.u32, 16), 0)],
        |b, t| vec![MemberDef::new("list", b.array(t.u32, t.u32, 4), 0)],
    );
    let said = why(t, &target);
    assert!(said.ends_with("s___local.list[9]: the kernel's array has 4 elements"), "{said}");

    let mut local = BtfBuilder::new();
    let ints = ints(&mut local);
    let root = local.struct_("absent", 4, &[MemberDef::new("m", ints.u32, 0)]);
    let target = BtfBuilder::new().build().unwrap();
    let said = why(Try { local, root, access: "0:0", kind: FieldSigned }, &target);
    assert_eq!(
        said,
        "CO-RE relocation <signed> of struct absent.m: the kernel has no struct absent"
    );
}

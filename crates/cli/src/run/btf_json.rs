//! Values according to their BTF types, in the JSON form of `bpftool map dump`.
//!
//! Numbers are numbers, structs objects, arrays arrays; text in a `char` array is a string; an enum
//! value is the name of its enumerator; anything without a type is an array of bytes.
//!
//! # Invariants
//! 1. A value is described by at most [`nodes_max`] numbers and objects: nested unions show each
//!    byte several times, and the number doubles with each level. Larger descriptions are omitted.

use serde::ser::{Error, Serialize, SerializeMap, Serializer};
use skep::btf::{Btf, IntEncoding, Kind, Member, Type, TypeId};
use std::cell::Cell;
use std::io;

/// How deep types may nest.
const DEPTH_MAX: u32 = 32;

/// Largest number of numbers and objects for a value of this many bytes.
fn nodes_max(bytes: usize) -> usize {
    bytes.saturating_mul(4).saturating_add(1024)
}

/// Bytes and their type.
pub(super) struct Typed<'a> {
    btf: &'a Btf,
    id: TypeId,
    bytes: &'a [u8],
    depth: u32,
    /// The remaining budget while nodes are counted.
    left: Option<&'a Cell<usize>>,
}

/// Whether the type describes a value of this size; its contents do not matter.
pub(super) fn describes(typed: &Typed<'_>) -> bool {
    let size = typed.btf.size_of(typed.id).ok().and_then(|size| usize::try_from(size).ok());
    let left = Cell::new(nodes_max(typed.bytes.len()));
    let counted = Typed { left: Some(&left), ..*typed };
    typed.id != TypeId::VOID
        && size.is_some_and(|size| size <= typed.bytes.len())
        && serde_json::to_writer(io::sink(), &counted).is_ok()
}

impl<'a> Typed<'a> {
    pub(super) fn new(btf: &'a Btf, id: TypeId, bytes: &'a [u8]) -> Typed<'a> {
        Typed { btf, id, bytes, depth: DEPTH_MAX, left: None }
    }

    /// Counts nodes; the number does not depend on the bytes.
    fn take<E: Error>(&self, nodes: usize) -> Result<(), E> {
        let Some(left) = self.left else { return Ok(()) };
        left.set(left.get().checked_sub(nodes).ok_or_else(undescribed)?);
        Ok(())
    }

    /// The contents: this many bytes from an offset.
    fn part<E: Error>(&self, id: TypeId, from: usize, size: usize) -> Result<Typed<'a>, E> {
        let bytes = from.checked_add(size).and_then(|to| self.bytes.get(from..to));
        let depth = self.depth.checked_sub(1);
        let (Some(bytes), Some(depth)) = (bytes, depth) else { return Err(undescribed()) };
        Ok(Typed { btf: self.btf, id, bytes, depth, left: self.left })
    }

    fn size<E: Error>(&self, id: TypeId) -> Result<usize, E> {
        let size = self.btf.size_of(id).map_err(E::custom)?;
        usize::try_from(size).map_err(E::custom)
    }

    fn stated<E: Error>(&self, ty: Type<'_>) -> Result<&'a [u8], E> {
        let size = ty.stated_size().and_then(|size| usize::try_from(size).ok());
        size.and_then(|size| self.bytes.get(..size)).ok_or_else(undescribed)
    }

    fn members<S: Serializer>(&self, ty: Type<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        for member in ty.members() {
            let at = member.bit_offset as usize;
            if member.bitfield_size == 0 {
                let size = self.size(member.ty)?;
                object.serialize_entry(member.name(), &self.part(member.ty, at / 8, size)?)?;
            } else {
                self.take(1)?;
                object.serialize_entry(member.name(), &self.bitfield(member)?)?;
            }
        }
        object.end()
    }

    fn bitfield<E: Error>(&self, member: Member<'_>) -> Result<String, E> {
        let (at, bits) = (member.bit_offset as usize, u32::from(member.bitfield_size));
        let last = (at + bits as usize).div_ceil(8);
        let word = self.bytes.get(at / 8..last).ok_or_else(undescribed)?;
        let number = word.iter().rev().fold(0u128, |n, byte| n << 8 | u128::from(*byte));
        let number = (number >> (at % 8)) as u64 & (u64::MAX >> (64 - bits.clamp(1, 64)));
        Ok(format!("{number:#x}"))
    }

    fn array<S: Serializer>(&self, ty: Type<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        let info = ty.array().ok_or_else(undescribed)?;
        let size = self.size(info.elem)?;
        let len = size.checked_mul(info.nelems as usize);
        let bytes = len.and_then(|len| self.bytes.get(..len)).ok_or_else(undescribed)?;
        let elem = self.btf.skip_modifiers(info.elem);
        let depth = self.depth.checked_sub(1).ok_or_else(undescribed)?;
        if size == 1
            && elem.name() == "char"
            && let Some(text) = text(bytes)
        {
            self.take(bytes.len())?;
            return serializer.serialize_str(&text);
        }
        let (btf, id, left) = (self.btf, elem.id(), self.left);
        let values = bytes.chunks(size.max(1));
        serializer.collect_seq(values.map(|bytes| Typed { btf, id, bytes, depth, left }))
    }
}

fn undescribed<E: Error>() -> E {
    E::custom("the type does not describe it")
}

impl Serialize for Typed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.take(1)?;
        let ty = self.btf.skip_modifiers(self.id);
        match ty.kind() {
            Kind::Int => int(ty, self.stated(ty)?, serializer),
            Kind::Ptr => {
                serializer.serialize_u64(unsigned(self.bytes.get(..8).ok_or_else(undescribed)?))
            }
            Kind::Enum | Kind::Enum64 => enumerator(ty, self.stated(ty)?, serializer),
            Kind::Float => {
                serializer.serialize_u64(unsigned(&self.bytes[..self.bytes.len().min(8)]))
            }
            Kind::Struct | Kind::Union => self.members(ty, serializer),
            Kind::Array => self.array(ty, serializer),
            Kind::Var => self.part(ty.target().id(), 0, self.bytes.len())?.serialize(serializer),
            Kind::Datasec => serializer.collect_map([(ty.name(), Variables(self, ty))]),
            _ => Err(undescribed()),
        }
    }
}

/// The variables of a section, one object each.
struct Variables<'a>(&'a Typed<'a>, Type<'a>);

impl Serialize for Variables<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Variables(section, ty) = self;
        let variable = |var: skep::btf::SecVar| {
            let value = section.part(var.ty, var.offset as usize, var.size as usize)?;
            Ok(std::collections::BTreeMap::from([(section.btf.ty(var.ty).name(), value)]))
        };
        let all: Result<Vec<_>, S::Error> = ty.vars().map(variable).collect();
        all?.serialize(serializer)
    }
}

fn unsigned(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn signed(number: u64, bits: u32) -> i64 {
    let unused = 64 - bits.clamp(1, 64);
    (number << unused) as i64 >> unused
}

fn int<S: Serializer>(ty: Type<'_>, bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    if bytes.len() > 8 {
        let digits = crate::digits::hex(bytes.iter().rev());
        let digits = digits.trim_start_matches('0');
        let digits = if digits.is_empty() { "0" } else { digits };
        return serializer.collect_str(&format_args!("0x{digits}"));
    }
    let number = unsigned(bytes);
    let encoding = ty.int_encoding();
    if encoding == IntEncoding::BOOL {
        serializer.serialize_bool(number != 0)
    } else if encoding == IntEncoding::SIGNED {
        serializer.serialize_i64(signed(number, 8 * bytes.len() as u32))
    } else {
        serializer.serialize_u64(number)
    }
}

fn enumerator<S: Serializer>(ty: Type<'_>, bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    let number = unsigned(bytes);
    let bits = 8 * bytes.len() as u32;
    let number = if ty.is_signed_enum() { signed(number, bits) as u64 } else { number };
    match ty.enumerators().find(|e| e.value == number) {
        Some(found) => serializer.serialize_str(found.name),
        None => serializer.serialize_i64(number as i64),
    }
}

/// Printable text up to its terminator; bytes after that are ignored.
fn text(bytes: &[u8]) -> Option<String> {
    let text = &bytes[..bytes.iter().position(|byte| *byte == 0)?];
    let printable = text.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
    printable.then(|| text.iter().map(|byte| char::from(*byte)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep::btf::{BtfBuilder, MemberDef};

    /// Each value as printed by `bpftool -j map dump` (7.1).
    #[test]
    fn values_are_printed_as_bpftool_does() {
        let mut b = BtfBuilder::new();
        let int = b.int("int", 4, IntEncoding::SIGNED);
        let long = b.int("unsigned long long", 8, IntEncoding::NONE);
        let character = b.int("char", 1, IntEncoding::SIGNED);
        let byte = b.int("unsigned char", 1, IntEncoding::NONE);
        let boolean = b.int("_Bool", 1, IntEncoding::BOOL);
        let wide = b.int("__int128", 16, IntEncoding::SIGNED);
        let pointer = b.ptr(TypeId::VOID);
        let name = b.array(character, int, 4);
        let bytes = b.array(byte, int, 3);
        let inner = b.struct_(
            "inner",
            8,
            &[MemberDef::new("a", int, 0), MemberDef::new("b", character, 32)],
        );
        let btf = b.build().unwrap();
        let printed = |ty: TypeId, bytes: &[u8]| {
            let typed = Typed::new(&btf, ty, bytes);
            if describes(&typed) { serde_json::to_string(&typed).unwrap() } else { String::new() }
        };
        let ones: Vec<u8> = (0..16).collect();
        for (ty, bytes, wanted) in [
            (int, &[0xfd, 0xff, 0xff, 0xff][..], "-3"),
            (long, &[0, 0, 0, 0, 0, 0, 0, 0x10], "1152921504606846976"),
            (pointer, &[0xef, 0xbe, 0xad, 0xde, 0, 0, 0, 0], "3735928559"),
            (character, b"Q", "81"),
            (boolean, &[1], "true"),
            (wide, &ones, "\"0xf0e0d0c0b0a09080706050403020100\""),
            (wide, &[0; 16], "\"0x0\""),
            (name, b"abc\0", "\"abc\""),
            (name, b"a\0c\0", "\"a\""),
            (name, &[0; 4], "\"\""),
            (name, b"wxyz", "[119,120,121,122]"),
            (name, b"a\x01b\0", "[97,1,98,0]"),
            (bytes, &[1, 2, 255], "[1,2,255]"),
            (inner, &[0xfe, 0xff, 0xff, 0xff, 65, 0, 0, 0], r#"{"a":-2,"b":65}"#),
            (int, &[1, 2], ""),
        ] {
            assert_eq!(printed(ty, bytes), wanted, "{bytes:?}");
        }
    }

    /// 4 bytes that would be described by 4^14 numbers: they are printed as an array of bytes.
    #[test]
    fn a_value_has_no_more_nodes_than_its_bytes_pay_for() {
        let mut b = BtfBuilder::new();
        let int = b.int("int", 4, IntEncoding::SIGNED);
        let character = b.int("char", 1, IntEncoding::SIGNED);
        let text = b.array(character, int, 8192);
        let mut unions = vec![int];
        for depth in 0..14 {
            let inner = unions[depth];
            let members = ["a", "b", "c", "d"].map(|name| MemberDef::new(name, inner, 0));
            unions.push(b.union_(&format!("u{depth}"), 4, &members));
        }
        let all = b.union_(
            "all",
            8192,
            &["a", "b", "c", "d", "e"].map(|name| MemberDef::new(name, text, 0)),
        );
        let two = b.union_("two", 8192, &["a", "b"].map(|name| MemberDef::new(name, text, 0)));
        let btf = b.build().unwrap();
        let described = |id, bytes: &[u8]| describes(&Typed::new(&btf, id, bytes));
        for (depth, id) in unions.iter().enumerate() {
            assert_eq!(described(*id, &[0; 4]), depth <= 4, "{depth} unions");
        }
        // What is a string in one entry is an array of numbers in the next.
        for filled in [0, 1] {
            assert!(described(two, &[filled; 8192]), "{filled}");
            assert!(!described(all, &[filled; 8192]), "{filled}");
        }
    }
}

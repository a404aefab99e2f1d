//! Values as their BTF types describe them, in JSON as `bpftool map dump` gives it.
//!
//! Numbers are numbers, structs objects, arrays arrays; text in a `char` array is a string;
//! an enum's value is the name of its enumerator; what has no type is an array of bytes.

use serde_json::{Map, Value, json};
use skep::btf::{Btf, IntEncoding, Kind, Member, Type, TypeId};

/// How deep types may nest.
const DEPTH_MAX: u32 = 32;

/// The value in `bytes`, which has type `id`; `None` if the type does not describe it.
pub(super) fn format(btf: &Btf, id: u32, bytes: &[u8]) -> Option<Value> {
    if id == 0 || usize::try_from(btf.size_of(TypeId(id)).ok()?).ok()? > bytes.len() {
        return None;
    }
    value(btf, btf.ty(TypeId(id)), (bytes, DEPTH_MAX))
}

fn value(btf: &Btf, ty: Type<'_>, (bytes, depth): (&[u8], u32)) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    let ty = btf.skip_modifiers(ty.id());
    match ty.kind() {
        Kind::Int => int(ty, bytes),
        Kind::Ptr => Some(json!(unsigned(bytes.get(..8)?))),
        Kind::Enum | Kind::Enum64 => {
            let size = usize::try_from(ty.stated_size()?).ok()?;
            Some(enumerator(ty, bytes.get(..size)?))
        }
        Kind::Float => Some(json!(unsigned(bytes.get(..bytes.len().min(8))?))),
        Kind::Struct | Kind::Union => {
            let mut object = Map::new();
            for member in ty.members() {
                object.insert(member.name.to_owned(), member_value(btf, member, (bytes, depth))?);
            }
            Some(Value::Object(object))
        }
        Kind::Array => array(btf, ty, (bytes, depth)),
        Kind::Var => value(btf, ty.target(), (bytes, depth)),
        Kind::Datasec => {
            let mut variables = Vec::new();
            for var in ty.vars() {
                let (from, size) = (var.offset as usize, var.size as usize);
                let bytes = bytes.get(from..from.checked_add(size)?)?;
                let variable = btf.ty(var.ty);
                let name = variable.name().to_owned();
                variables.push(json!({ name: value(btf, variable, (bytes, depth))? }));
            }
            let name = ty.name().to_owned();
            Some(json!({ name: variables }))
        }
        _ => None,
    }
}

fn unsigned(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn signed(number: u64, bits: u32) -> i64 {
    let unused = 64 - bits.clamp(1, 64);
    (number << unused) as i64 >> unused
}

fn int(ty: Type<'_>, bytes: &[u8]) -> Option<Value> {
    let size = usize::try_from(ty.stated_size()?).ok()?;
    let bytes = bytes.get(..size)?;
    if size > 8 {
        let digits: String = bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect();
        let digits = digits.trim_start_matches('0');
        return Some(json!(format!("0x{}", if digits.is_empty() { "0" } else { digits })));
    }
    let number = unsigned(bytes);
    let encoding = ty.int_encoding();
    Some(if encoding == IntEncoding::BOOL {
        json!(number != 0)
    } else if encoding == IntEncoding::SIGNED {
        json!(signed(number, 8 * size as u32))
    } else {
        json!(number)
    })
}

fn enumerator(ty: Type<'_>, bytes: &[u8]) -> Value {
    let number = unsigned(bytes);
    let bits = 8 * bytes.len() as u32;
    let number = if ty.is_signed_enum() { signed(number, bits) as u64 } else { number };
    let name = ty.enumerators().find(|e| e.value == number).map(|e| e.name.to_owned());
    name.map_or_else(|| json!(number as i64), Value::String)
}

fn member_value(btf: &Btf, member: Member<'_>, (bytes, depth): (&[u8], u32)) -> Option<Value> {
    let at = member.bit_offset as usize;
    if member.bitfield_size == 0 {
        return value(btf, btf.ty(member.ty), (bytes.get(at / 8..)?, depth));
    }
    let bits = u32::from(member.bitfield_size);
    let last = (at + bits as usize).div_ceil(8);
    let word = bytes.get(at / 8..last)?;
    let number = word.iter().rev().fold(0u128, |n, byte| n << 8 | u128::from(*byte));
    let number = (number >> (at % 8)) as u64 & (u64::MAX >> (64 - bits.clamp(1, 64)));
    Some(json!(format!("{number:#x}")))
}

fn array(btf: &Btf, ty: Type<'_>, (bytes, depth): (&[u8], u32)) -> Option<Value> {
    let info = ty.array()?;
    let size = usize::try_from(btf.size_of(info.elem).ok()?).ok()?;
    let len = size.checked_mul(info.nelems as usize)?;
    let bytes = bytes.get(..len)?;
    let elem = btf.skip_modifiers(info.elem);
    if size == 1
        && elem.name() == "char"
        && let Some(text) = text(bytes)
    {
        return Some(Value::String(text));
    }
    let values = bytes.chunks(size.max(1)).map(|bytes| value(btf, elem, (bytes, depth)));
    values.collect::<Option<Vec<_>>>().map(Value::Array)
}

/// Printable text up to its 0; what is behind does not count.
fn text(bytes: &[u8]) -> Option<String> {
    let text = &bytes[..bytes.iter().position(|byte| *byte == 0)?];
    let printable = text.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
    printable.then(|| text.iter().map(|byte| char::from(*byte)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep::btf::BtfBuilder;

    /// Each value as `bpftool -j map dump` (7.1) printed it.
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
        let inner = b.struct_("inner", 8, &[("a", int, 0, 0), ("b", character, 32, 0)]);
        let btf = b.build().unwrap();
        let printed = |ty: TypeId, bytes: &[u8]| {
            format(&btf, ty.0, bytes).map(|value| value.to_string()).unwrap_or_default()
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
}

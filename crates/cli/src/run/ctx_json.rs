//! `--ctx-json`: fields of the context by their names.
//!
//! The names for a packet's context are those of the uapi struct. For any other context they are
//! those of the struct given by the program's BTF as its argument type; an array of numbers fills
//! it word by word, like the arguments of tracepoints.

use crate::Error;
use serde_json::{Map, Value};
use skep::btf::{Btf, Kind, Member, Type, TypeId};
use skep::program::Program;
use skep_report::counted;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;

/// Maximum size of a description: far more than any needs.
const JSON_BYTES_MAX: u64 = 16 << 20;
/// Maximum size of a context.
const CTX_BYTES_MAX: usize = u16::MAX as usize;
/// Maximum number of field names in an error.
const NAMES_MAX: usize = 60;

/// The argument's type, from the program's BTF.
pub(super) struct CtxType {
    btf: Arc<Btf>,
    /// What the argument points to.
    id: TypeId,
}

impl CtxType {
    pub(super) fn of(program: &Program) -> Option<CtxType> {
        let btf = Arc::clone(program.btf.as_ref()?);
        let func = btf.get(TypeId(program.func_info.first()?.type_id))?;
        let argument = func.target().params().next()?;
        let pointer = btf.skip_modifiers(argument.ty);
        let id =
            (pointer.kind() == Kind::Ptr).then(|| btf.skip_modifiers(pointer.target_id()).id());
        Some(CtxType { id: id?, btf })
    }
}

/// The JSON itself, or the file that contains it.
///
/// # Errors
///
/// One line.
pub(super) fn read(text: &str) -> Result<Value, Error> {
    let wrong = |why: Error| Error::at("--ctx-json", why);
    if text.trim_start().starts_with(['{', '[']) {
        return serde_json::from_str(text).map_err(|e| wrong(Error::caused(e)));
    }
    let mut json = String::new();
    let opened = File::open(text).map(|file| file.take(JSON_BYTES_MAX));
    let read = opened.and_then(|mut file| file.read_to_string(&mut json));
    read.map_err(|e| wrong(Error::caused(skep::Error::io(text.as_ref(), "reading the file", e))))?;
    serde_json::from_str(&json).map_err(|e| wrong(Error::at(text, e)))
}

/// `{"mark": 7, "cb": [1, 2]}` as `mark`, `cb[0]`, `cb[1]`.
pub(super) fn packet_fields(json: &Value) -> Result<Vec<(String, u64)>, Error> {
    let Value::Object(all) = json else {
        return Err("--ctx-json: expected an object of fields, such as {\"mark\": 7}".into());
    };
    let number = |name: &str, value: &Value| {
        let number = number(value).and_then(|number| u64::try_from(number).ok());
        number.ok_or_else(|| format!("--ctx-json: '{name}': {value} is not an unsigned integer"))
    };
    let mut fields = Vec::new();
    for (name, value) in all {
        match value {
            Value::Array(values) => {
                for (at, value) in values.iter().enumerate() {
                    fields.push((format!("{name}[{at}]"), number(name, value)?));
                }
            }
            value => fields.push((name.clone(), number(name, value)?)),
        }
    }
    Ok(fields)
}

/// Stores the fields in the bytes of a context, which may grow.
///
/// # Errors
///
/// One line: there is no such field, a value that does not fit.
pub(super) fn fill(
    json: &Value,
    ctx_type: Option<&CtxType>,
    bytes: &mut Vec<u8>,
) -> Result<(), Error> {
    let wrong = |why: Error| Error::at("--ctx-json", why);
    match json {
        Value::Array(words) => {
            for (at, word) in words.iter().enumerate() {
                let word = scalar(word, 8).map_err(wrong)?;
                place(bytes, 8 * at, 8).map_err(wrong)?.copy_from_slice(&word);
            }
            Ok(())
        }
        Value::Object(fields) => {
            let structure = ctx_type.map(|ctx| ctx.btf.ty(ctx.id));
            let structure = structure.filter(|ty| matches!(ty.kind(), Kind::Struct | Kind::Union));
            let Some(ty) = structure else {
                let text = "the program's BTF does not describe its context; fill it with an array \
                            of 64-bit numbers, --hex or --data-file";
                return Err(wrong(text.into()));
            };
            members(ty, fields, bytes, 0).map_err(wrong)
        }
        _ => Err(wrong("expected an object of fields or an array of numbers".into())),
    }
}

/// The bytes of a field; the context grows if necessary.
fn place(bytes: &mut Vec<u8>, at: usize, size: usize) -> Result<&mut [u8], Error> {
    let end = at.saturating_add(size);
    if end > CTX_BYTES_MAX {
        return Err(format!("the maximum context size is {CTX_BYTES_MAX} bytes").into());
    }
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    Ok(&mut bytes[at..end])
}

/// A number, or one in a string (`"0x1f"`); true is 1.
fn number(value: &Value) -> Option<i128> {
    match value {
        Value::Number(number) => {
            number.as_u64().map(i128::from).or_else(|| number.as_i64().map(i128::from))
        }
        Value::Bool(value) => Some((*value).into()),
        Value::String(text) => i128::from_str_radix(text.strip_prefix("0x")?, 16).ok(),
        _ => None,
    }
}

fn scalar(value: &Value, size: usize) -> Result<Vec<u8>, Error> {
    let number = number(value).ok_or_else(|| format!("{value} is not an integer"))?;
    let bits = 8 * size.min(8) as u32;
    if number >> bits != 0 && number >> (bits - 1) != -1 {
        return Err(format!("{value} does not fit in {}", counted(size as u64, "byte")).into());
    }
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.resize(size, 0);
    Ok(bytes)
}

fn members(
    ty: Type<'_>,
    fields: &Map<String, Value>,
    bytes: &mut Vec<u8>,
    at: usize,
) -> Result<(), Error> {
    for (name, value) in fields {
        let Some((member, from)) = find(ty, name, 8) else {
            let mut names = Vec::new();
            list(ty, 8, &mut names);
            let more = if names.len() > NAMES_MAX { ", ..." } else { "" };
            names.truncate(NAMES_MAX);
            let names = names.join(", ");
            return Err(format!("no field '{name}'; there are: {names}{more}").into());
        };
        let bit = from + member.bit_offset as usize;
        let put = match member.bitfield_size {
            0 => put(ty.btf().ty(member.ty), value, bytes, at + bit / 8),
            bits => put_bits(value, bytes, 8 * at + bit, bits.into()),
        };
        put.map_err(|what| format!("'{name}': {what}"))?;
    }
    Ok(())
}

/// A member, and the bit offset of the struct that contains it: members of anonymous structs belong
/// to the outer struct.
fn find<'a>(ty: Type<'a>, name: &str, depth: u32) -> Option<(Member<'a>, usize)> {
    let depth = depth.checked_sub(1)?;
    ty.members().find_map(|member| match member.name() {
        "" => {
            let inner = ty.btf().skip_modifiers(member.ty);
            let (found, from) = find(inner, name, depth)?;
            Some((found, from + member.bit_offset as usize))
        }
        known => (known == name).then_some((member, 0)),
    })
}

fn list<'a>(ty: Type<'a>, depth: u32, names: &mut Vec<&'a str>) {
    for member in ty.members() {
        match (member.name(), depth.checked_sub(1)) {
            ("", Some(depth)) => list(ty.btf().skip_modifiers(member.ty), depth, names),
            (name, _) => names.push(name),
        }
    }
}

fn put(ty: Type<'_>, value: &Value, bytes: &mut Vec<u8>, at: usize) -> Result<(), Error> {
    let btf = ty.btf();
    let ty = btf.skip_modifiers(ty.id());
    let size = btf.size_of(ty.id()).map_err(Error::caused)? as usize;
    match (ty.kind(), value) {
        (Kind::Struct | Kind::Union, Value::Object(fields)) => members(ty, fields, bytes, at),
        (Kind::Array, Value::Array(values)) => {
            let info = ty.array().ok_or("a broken type")?;
            // An array without a length (`args[0]`) takes as many elements as are given.
            if info.nelems != 0 && values.len() > info.nelems as usize {
                return Err(format!("{} values, maximum {}", values.len(), info.nelems).into());
            }
            let each = btf.size_of(info.elem).map_err(Error::caused)? as usize;
            let mut values = values.iter().enumerate();
            values.try_for_each(|(n, value)| put(btf.ty(info.elem), value, bytes, at + n * each))
        }
        (Kind::Array, Value::String(text)) if text.len() <= size => {
            place(bytes, at, text.len())?.copy_from_slice(text.as_bytes());
            Ok(())
        }
        (Kind::Enum | Kind::Enum64, Value::String(text)) if !text.starts_with("0x") => {
            let found = ty.enumerators().find(|e| e.name == text);
            let found = found.ok_or_else(|| format!("no enumerator '{text}'"))?;
            place(bytes, at, size)?.copy_from_slice(&found.value.to_le_bytes()[..size.min(8)]);
            Ok(())
        }
        (Kind::Int | Kind::Ptr | Kind::Enum | Kind::Enum64, value) => {
            let number = scalar(value, size)?;
            place(bytes, at, size)?.copy_from_slice(&number[..size]);
            Ok(())
        }
        (_, value) => Err(format!("{value} is not a valid {}", btf.type_name(ty.id())).into()),
    }
}

fn put_bits(value: &Value, bytes: &mut Vec<u8>, bit: usize, bits: u32) -> Result<(), Error> {
    let number = number(value).ok_or_else(|| format!("{value} is not an integer"))?;
    if number >> bits != 0 && number >> (bits - 1) != -1 {
        return Err(format!("{value} does not fit in {bits} bits").into());
    }
    place(bytes, bit / 8, (bit % 8 + bits as usize).div_ceil(8))?;
    for n in 0..bits as usize {
        let (at, mask) = ((bit + n) / 8, 1 << ((bit + n) % 8));
        match number >> n & 1 {
            0 => bytes[at] &= !mask,
            _ => bytes[at] |= mask,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use skep::btf::{BtfBuilder, IntEncoding, MemberDef};

    #[test]
    fn fields_of_a_packets_context() {
        let found = packet_fields(&read(r#"{"mark": "0x7", "cb": [1, 2]}"#).unwrap());
        let wanted = [("cb[0]", 1), ("cb[1]", 2), ("mark", 7)];
        assert_eq!(found, Ok(wanted.map(|(name, value)| (name.to_owned(), value)).to_vec()));
        assert!(
            packet_fields(&json!({"mark": -1}))
                .unwrap_err()
                .to_string()
                .contains("is not an unsigned integer")
        );
        assert!(
            packet_fields(&json!([1])).unwrap_err().to_string().contains("an object of fields")
        );
        assert!(read("/no/such/file").is_err());
    }

    #[test]
    fn fields_of_the_struct_that_btf_knows() {
        let mut b = BtfBuilder::new();
        let int = b.int("int", 4, IntEncoding::SIGNED);
        let long = b.int("unsigned long", 8, IntEncoding::NONE);
        let character = b.int("char", 1, IntEncoding::SIGNED);
        let name = b.array(character, int, 4);
        let args = b.array(long, int, 0);
        let colour = b.enum_("colour", 4, &[("RED", 1), ("BLUE", 2)]);
        let either = b.union_(
            "",
            4,
            &[MemberDef::new("whole", int, 0), MemberDef::new("part", character, 0)],
        );
        let members = [
            MemberDef::new("id", int, 0),
            MemberDef::new("", either, 32),
            MemberDef::new("name", name, 64),
            MemberDef::new("colour", colour, 96),
            MemberDef::bits("low", int, 128, 3),
            MemberDef::bits("high", int, 131, 5),
            MemberDef::new("args", args, 192),
        ];
        let id = b.struct_("ctx", 24, &members);
        let ctx = CtxType { id, btf: Arc::new(b.build().unwrap()) };
        let filled = |json: Value| {
            let mut bytes = vec![0; 4];
            fill(&json, Some(&ctx), &mut bytes).map(|()| bytes)
        };
        assert_eq!(filled(json!({"id": -2})), Ok(vec![0xfe, 0xff, 0xff, 0xff]));
        assert_eq!(filled(json!({"part": 7})), Ok(vec![0, 0, 0, 0, 7]));
        assert_eq!(
            filled(json!({"whole": 1, "name": "ab", "colour": "BLUE", "low": 5, "high": -1})),
            Ok([&[0, 0, 0, 0, 1, 0, 0, 0, b'a', b'b', 0, 0, 2, 0, 0, 0][..], &[0xfd]].concat())
        );
        let args = [vec![0; 24], vec![9, 0, 0, 0, 0, 0, 0, 0], vec![0xff; 8]].concat();
        assert_eq!(filled(json!({"args": [9, u64::MAX]})), Ok(args));
        assert_eq!(filled(json!([1, "0x2"])).map(|bytes| bytes.len()), Ok(16));
        for (json, wanted) in [
            (json!({"nope": 1}), "no field 'nope'; there are: id, whole, part, name"),
            (json!({"id": 1u64 << 32}), "'id': 4294967296 does not fit in 4 bytes"),
            (json!({"low": 8}), "'low': 8 does not fit in 3 bits"),
            (json!({"id": 1.5}), "'id': 1.5 is not an integer"),
            (json!({"name": [1, 2, 3, 4, 5]}), "'name': 5 values, maximum 4"),
            (json!({"colour": "GREEN"}), "no enumerator 'GREEN'"),
            (json!({"args": vec![0; 9000]}), "the maximum context size is 65535 bytes"),
            (json!(7), "expected an object of fields or an array"),
        ] {
            let error = filled(json).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
        let error = fill(&json!({"a": 1}), None, &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("an array of 64-bit numbers, --hex or --data-file"), "{error}");
    }
}

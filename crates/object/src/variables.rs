//! The global variables of an object, which can be set before its programs load.

use crate::Object;
use skep_btf::{Btf, Kind, Type, TypeId};
use skep_program::MapDef;

/// A variable of a data section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobalVariable {
    /// Its name, as accepted by [`Object::set_global`].
    pub name: String,
    /// Its type, in C notation.
    pub ty: String,
    /// Bytes.
    pub size: u32,
    /// `.data`, `.rodata`, `.bss` and so on.
    pub section: String,
    /// Its value; `None` if the section has no bytes for it.
    pub value: Option<GlobalValue>,
}

/// The initial value of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GlobalValue {
    /// A number.
    Number(i128),
    /// An enumerator's name, with its number.
    Enumerator(String, i128),
    /// An array of characters that ends with a zero.
    Text(String),
    /// Anything else, by its bytes.
    Bytes(Vec<u8>),
}

impl Object {
    /// The global variables of data sections, in the order of their sections and addresses.
    /// Variables without types (no BTF) are not included.
    pub fn variables(&self) -> Vec<GlobalVariable> {
        let Some(btf) = &self.btf else { return Vec::new() };
        let sections = btf.iter().filter(|ty| ty.kind() == Kind::Datasec);
        let mut found = Vec::new();
        for section in sections {
            let holds = |map: &&MapDef| map.btf_value_type_id == section.id().0;
            let Some(map) = self.maps.iter().find(holds) else { continue };
            let mut vars: Vec<_> = section.vars().collect();
            vars.sort_by_key(|var| var.offset);
            for var in vars {
                let Some(named) = btf.get(var.ty).filter(|ty| ty.kind() == Kind::Var) else {
                    continue;
                };
                let ty = named.target_id();
                found.push(GlobalVariable {
                    name: named.name().to_owned(),
                    ty: btf.type_name(ty),
                    size: var.size,
                    section: section.name().to_owned(),
                    value: bytes(map, var.offset, var.size).map(|bytes| value(btf, ty, &bytes)),
                });
            }
        }
        found
    }
}

/// Longest variable whose value is read.
const VALUE_BYTES_MAX: u32 = 1 << 20;

/// The bytes of a variable; zero if the file has none.
fn bytes(map: &MapDef, offset: u32, size: u32) -> Option<Vec<u8>> {
    offset.checked_add(size).filter(|&end| end <= map.value_size)?;
    if size > VALUE_BYTES_MAX {
        return None;
    }
    let given = map.contents.get(offset as usize..).unwrap_or_default();
    let mut bytes = given.get(..size as usize).unwrap_or(given).to_vec();
    bytes.resize(size as usize, 0);
    Some(bytes)
}

fn value(btf: &Btf, ty: TypeId, bytes: &[u8]) -> GlobalValue {
    let plain = btf.skip_modifiers(ty);
    let number = match plain.kind() {
        Kind::Int => number(bytes, plain.int_encoding().is_signed()),
        Kind::Enum | Kind::Enum64 => number(bytes, plain.is_signed_enum()),
        _ => None,
    };
    match number {
        Some(number) => {
            let held = |value: u64| match plain.is_signed_enum() {
                true => i128::from(value as i64) == number,
                false => i128::from(value) == number,
            };
            let is_enum = plain.kind().is_any_enum();
            let name = plain.enumerators().find(|e| is_enum && held(e.value));
            match name {
                Some(name) => GlobalValue::Enumerator(name.name.to_owned(), number),
                None => GlobalValue::Number(number),
            }
        }
        None => match text(btf, plain, bytes) {
            Some(text) => GlobalValue::Text(text),
            None => GlobalValue::Bytes(bytes.to_vec()),
        },
    }
}

/// The number in at most 8 bytes; objects are little endian here.
fn number(bytes: &[u8], signed: bool) -> Option<i128> {
    if bytes.is_empty() || bytes.len() > 8 {
        return None;
    }
    let unsigned = bytes.iter().rev().fold(0i128, |sum, byte| sum << 8 | i128::from(*byte));
    let bits = bytes.len() * 8;
    let negative = signed && unsigned >> (bits - 1) & 1 == 1;
    Some(if negative { unsigned - (1 << bits) } else { unsigned })
}

/// An array of `char` that contains a text up to its first zero, followed by zeroes.
fn text(btf: &Btf, ty: Type<'_>, bytes: &[u8]) -> Option<String> {
    let array = ty.array()?;
    let elem = btf.skip_modifiers(array.elem);
    if elem.kind() != Kind::Int || elem.name() != "char" {
        return None;
    }
    let end = bytes.iter().position(|&byte| byte == 0)?;
    let (text, rest) = bytes.split_at(end);
    let is_text = !text.is_empty() && rest.iter().all(|&byte| byte == 0);
    String::from_utf8(text.to_vec()).ok().filter(|_| is_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(name: &str) -> Object {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/");
        let bytes = std::fs::read(format!("{dir}{name}")).unwrap();
        Object::open(&bytes, &crate::OpenOptions::default()).unwrap()
    }

    #[test]
    fn what_is_set_is_listed() {
        let mut object = sample("map_kinds.bpf.o");
        object.set_global("scale", -2).unwrap();
        let variables = object.variables();
        let scale = variables.iter().find(|var| var.name == "scale").unwrap();
        assert_eq!((scale.section.as_str(), scale.size), (".rodata", 4));
        assert_eq!(scale.value, Some(GlobalValue::Number(0xffff_fffe)));
        let weights = variables.iter().find(|var| var.name == "weights").unwrap();
        assert_eq!((weights.section.as_str(), weights.size), (".data", 64));
        assert!(matches!(&weights.value, Some(GlobalValue::Bytes(bytes)) if bytes.len() == 64));
        // Every variable can be named, and those that hold a number can be set to it.
        for var in &variables {
            if let Some(GlobalValue::Number(number)) = var.value {
                object
                    .set_variable(&var.name.parse().unwrap(), &crate::Value::Number(number))
                    .unwrap();
            }
        }
        assert_eq!(object.variables(), variables);
    }

    #[test]
    fn numbers_have_signs() {
        assert_eq!(number(&[0xff, 0xff], true), Some(-1));
        assert_eq!(number(&[0xff, 0xff], false), Some(0xffff));
        assert_eq!(number(&[0xff; 8], true), Some(-1));
        assert_eq!(number(&[0xff; 8], false), Some(i128::from(u64::MAX)));
        assert_eq!(number(&[1; 9], false), None);
        assert_eq!(number(&[], false), None);
    }

    #[test]
    fn nothing_is_known_without_types() {
        assert_eq!(Object::default().variables(), []);
    }
}

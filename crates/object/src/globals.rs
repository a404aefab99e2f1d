//! Global variables: changes the initial contents of a data section before the programs load, as a
//! loader does through a skeleton.

use crate::error::Result;
use crate::{Error, Object};
use skep_btf::{Btf, Kind, Type, TypeId};
use skep_program::MapDef;
use std::str::FromStr;
use std::sync::Arc;

/// A global variable, or a part of one: `limits[2].high`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    name: String,
    /// From the variable to the innermost part.
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Name(String),
    Index(u32),
}

/// The value for a variable. Unsigned variables accept negative numbers too, which wrap around.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A number, which must fit.
    Number(i128),
    /// An enumerator of the variable's type; a number as in C; `true` or `false`; the text of an
    /// array of `char`, also in quotes.
    Text(String),
}

macro_rules! numbers {
    ($($number:ty),*) => {
        $(impl From<$number> for Value {
            fn from(number: $number) -> Value {
                Value::Number(number.into())
            }
        })*
    };
}

numbers!(bool, i8, u8, i16, u16, i32, u32, i64, u64);

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl FromStr for Variable {
    type Err = Error;

    fn from_str(name: &str) -> Result<Variable> {
        let wrong = || Error::new(format!("'{name}' is not a valid name"));
        let mut steps = parse_path(name).ok_or_else(wrong)?.into_iter();
        let Some(Step::Name(name)) = steps.next() else { return Err(wrong()) };
        Ok(Variable { name, steps: steps.collect() })
    }
}

/// The location of an assignment in the variable's section.
struct Place<'a> {
    ty: Type<'a>,
    bit_offset: u64,
    /// Bits of a bitfield; 0 for an ordinary value.
    bitfield_bits: u8,
}

impl Object {
    /// Sets a global variable of `.data`, `.rodata` or `.bss` for programs verified, and maps
    /// created, from now on. The verifier knows the contents of `.rodata`.
    ///
    /// The number must fit, whatever its Rust type: `100u32` may be assigned to a `u16`. As in
    /// veristat, an unsigned variable accepts negative numbers too: -1 sets all bits.
    ///
    /// ```no_run
    /// # fn set(object: &mut skep_object::Object) -> Result<(), skep_object::Error> {
    /// object.set_global("limit", 100u32)?;
    /// object.set_global("weights[1]", -1)?;
    /// object.set_global("config.mode", "MODE_DROP")
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// There is no such variable in a data section, or the value does not fit its type.
    pub fn set_global(&mut self, name: &str, value: impl Into<Value>) -> Result<()> {
        self.set_variable(&name.parse()?, &value.into())
    }

    /// The same, with a parsed name.
    ///
    /// # Errors
    ///
    /// As for [`Object::set_global`].
    pub fn set_variable(&mut self, variable: &Variable, value: &Value) -> Result<()> {
        let btf = self.btf.clone().ok_or_else(|| Error::new("the object has no BTF"))?;
        let name = &variable.name;
        let (section, var, offset) =
            find_variable(&btf, name).ok_or_else(|| Error::new(format!("no variable '{name}'")))?;
        let mut place = Place {
            ty: btf.skip_modifiers(var),
            bit_offset: u64::from(offset) * 8,
            bitfield_bits: 0,
        };
        for step in &variable.steps {
            place = descend(&btf, &place, step)?;
        }
        let text = text_of(&btf, &place, value)?;
        let number = match value {
            _ if text.is_some() => 0,
            Value::Number(number) => *number,
            Value::Text(text) => number_of(text, place.ty)?,
        };
        let mut maps: Vec<MapDef> = self.maps.to_vec();
        let holds = |map: &&mut MapDef| map.btf_value_type_id == section.0;
        let map = maps
            .iter_mut()
            .find(holds)
            .ok_or_else(|| Error::new(format!("'{name}' is not in a data section")))?;
        fill(map)?;
        match text {
            Some(bytes) => write_bytes(&mut map.contents, &place, &bytes)?,
            None => write_value(&mut map.contents, &place, number)?,
        }
        self.maps = Arc::from(maps);
        for program in self.programs.iter_mut().filter_map(|p| p.program.as_mut().ok()) {
            program.maps = Arc::clone(&self.maps);
        }
        Ok(())
    }
}

/// Largest section without contents in the file (`.bss`) that can be written to.
const ZEROES_MAX: u32 = 64 << 20;

/// A section without bytes in the file is all zeroes.
fn fill(map: &mut MapDef) -> Result<()> {
    if map.value_size > ZEROES_MAX && map.contents.len() < map.value_size as usize {
        let bytes = map.value_size;
        return Err(Error::new(format!("its section has {bytes} bytes, too many to write to")));
    }
    map.contents.resize((map.value_size as usize).max(map.contents.len()), 0);
    Ok(())
}

/// `a.b[3].c`, as steps.
fn parse_path(name: &str) -> Option<Vec<Step>> {
    let mut path = Vec::new();
    for part in name.split('.') {
        let mut pieces = part.split('[');
        let field = pieces.next()?.trim();
        let is_name = !field.is_empty() && field.chars().all(|c| c.is_alphanumeric() || c == '_');
        if !is_name {
            return None;
        }
        path.push(Step::Name(field.to_owned()));
        for index in pieces {
            path.push(Step::Index(index.trim().strip_suffix(']')?.trim().parse().ok()?));
        }
    }
    Some(path)
}

/// Section, type and offset in bytes of a variable.
fn find_variable(btf: &Btf, name: &str) -> Option<(TypeId, TypeId, u32)> {
    let sections = btf.iter().filter(|ty| ty.kind() == Kind::Datasec);
    for section in sections {
        let named = |var: &skep_btf::SecVar| {
            btf.get(var.ty).is_some_and(|ty| ty.kind() == Kind::Var && ty.name() == name)
        };
        if let Some(var) = section.vars().find(named) {
            return Some((section.id(), btf.get(var.ty)?.target_id(), var.offset));
        }
    }
    None
}

fn descend<'a>(btf: &'a Btf, place: &Place<'a>, step: &Step) -> Result<Place<'a>> {
    match step {
        Step::Name(name) => find_member(btf, place.ty, name, 0)
            .map(|found| Place { bit_offset: place.bit_offset + found.bit_offset, ..found })
            .ok_or_else(|| {
                Error::new(format!("no member '{name}' in {}", btf.type_name(place.ty.id())))
            }),
        Step::Index(index) => {
            let other = || Error::new("indexing something that is not an array");
            let array = place.ty.array().ok_or_else(other)?;
            if *index >= array.nelems {
                let elements = if array.nelems == 1 { "element" } else { "elements" };
                let text = format!("index {index} is out of range ({} {elements})", array.nelems);
                return Err(Error::new(text));
            }
            let elem_bytes = btf.size_of(array.elem)?;
            let bits = (u64::from(*index) * u64::from(elem_bytes)).checked_mul(8);
            let bit_offset = bits.and_then(|bits| place.bit_offset.checked_add(bits));
            Ok(Place {
                ty: btf.skip_modifiers(array.elem),
                bit_offset: bit_offset.filter(|offset| *offset < BITS_MAX).ok_or_else(outside)?,
                bitfield_bits: 0,
            })
        }
    }
}

/// A limit above all sections, with room for member offsets.
const BITS_MAX: u64 = 1 << 40;

fn outside() -> Error {
    Error::new("outside its section")
}

/// Maximum nesting of anonymous structs that is searched.
const ANONYMOUS_DEPTH_MAX: u32 = 16;

/// A member, possibly of an anonymous struct inside.
fn find_member<'a>(btf: &'a Btf, ty: Type<'a>, name: &str, depth: u32) -> Option<Place<'a>> {
    if depth > ANONYMOUS_DEPTH_MAX {
        return None;
    }
    for member in ty.members() {
        let inner = btf.skip_modifiers(member.ty);
        let bit_offset = u64::from(member.bit_offset);
        if member.name() == name {
            return Some(Place { ty: inner, bit_offset, bitfield_bits: member.bitfield_size });
        }
        if member.name().is_empty()
            && let Some(found) = find_member(btf, inner, name, depth + 1)
        {
            return Some(Place { bit_offset: bit_offset + found.bit_offset, ..found });
        }
    }
    None
}

/// The bytes of a text for an array of `char`, up to the array's end; `None` for other types.
fn text_of(btf: &Btf, place: &Place<'_>, value: &Value) -> Result<Option<Vec<u8>>> {
    let (Value::Text(text), Some(array)) = (value, place.ty.array()) else { return Ok(None) };
    let elem = btf.skip_modifiers(array.elem);
    if elem.kind() != Kind::Int || elem.name() != "char" {
        return Ok(None);
    }
    let quoted = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let text = quoted.unwrap_or(text).as_bytes();
    let (len, room) = (text.len(), array.nelems as usize);
    if len >= room {
        let text = format!("a text of {len} bytes and its zero do not fit {room} bytes");
        return Err(Error::new(text));
    }
    // A section is not longer than this, however large the array.
    let room = room.min(ZEROES_MAX as usize);
    Ok(Some(text.iter().copied().chain(std::iter::repeat(0)).take(room).collect()))
}

fn write_bytes(contents: &mut [u8], place: &Place<'_>, bytes: &[u8]) -> Result<()> {
    let start = usize::try_from(place.bit_offset / 8).map_err(|_| outside())?;
    let end = start.checked_add(bytes.len()).ok_or_else(outside)?;
    contents.get_mut(start..end).ok_or_else(outside)?.copy_from_slice(bytes);
    Ok(())
}

fn number_of(text: &str, ty: Type<'_>) -> Result<i128> {
    if ty.kind().is_any_enum()
        && let Some(hit) = ty.enumerators().find(|e| e.name == text)
    {
        let signed = ty.is_signed_enum();
        return Ok(if signed { i128::from(hit.value as i64) } else { i128::from(hit.value) });
    }
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    // A second sign is invalid, though `from_str_radix` accepts one.
    let radix = |digits: &str, radix| {
        let digits = Some(digits).filter(|d| !d.starts_with(['+', '-']))?;
        i128::from_str_radix(digits, radix).ok()
    };
    let size = match digits {
        "true" if !negative => Some(1),
        "false" if !negative => Some(0),
        _ => match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            Some(hex) => radix(hex, 16),
            None if digits.len() > 1 && digits.starts_with('0') => radix(digits, 8),
            None => radix(digits, 10),
        },
    };
    let neither = || Error::new(format!("'{text}' is neither a number nor an enumerator"));
    let size = size.ok_or_else(neither)?;
    Ok(if negative { -size } else { size })
}

fn write_value(contents: &mut [u8], place: &Place<'_>, value: i128) -> Result<()> {
    let scalar = matches!(place.ty.kind(), Kind::Int | Kind::Enum | Kind::Enum64);
    let other = || Error::new("not an integer or enum");
    let size = place.ty.stated_size().filter(|_| scalar).ok_or_else(other)?;
    if !matches!(size, 1 | 2 | 4 | 8) {
        return Err(Error::new(format!("unsupported integer size: {size} bytes")));
    }
    let bits = match place.bitfield_bits {
        0 => size * 8,
        bits => u32::from(bits),
    };
    if bits > size * 8 {
        return Err(Error::new(format!("a bitfield of {bits} bits in {size} bytes")));
    }
    let signed = match place.ty.kind() {
        Kind::Int => place.ty.int_encoding().is_signed(),
        _ => place.ty.is_signed_enum(),
    };
    let (low, high) = match signed {
        true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        // Negative values wrap around, as in veristat.
        false => (-(1i128 << bits.min(63)), (1i128 << bits) - 1),
    };
    if value < low || value > high {
        return Err(Error::new(format!("{value} is out of range ({low} to {high})")));
    }
    // Bit by bit, so that bitfields need no special case. Objects are little-endian here.
    for bit in 0..bits {
        let at = place.bit_offset + u64::from(bit);
        let byte = usize::try_from(at / 8).ok().and_then(|index| contents.get_mut(index));
        let byte = byte.ok_or_else(outside)?;
        let mask = 1u8 << (at % 8);
        if value >> bit & 1 == 1 { *byte |= mask } else { *byte &= !mask }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_btf::{BtfBuilder, IntEncoding, MemberDef, SecVar, VarLinkage};

    #[test]
    fn paths() {
        let name = |text: &str| Step::Name(text.to_owned());
        let steps = |text: &str| text.parse().map(|variable: Variable| variable.steps);
        assert_eq!(steps("a"), Ok(vec![]));
        assert_eq!(steps("a[1][2].b"), Ok(vec![Step::Index(1), Step::Index(2), name("b")]));
        for bad in ["", "a[x]", "a..b", "a[1", "a b"] {
            assert!(steps(bad).is_err(), "{bad}");
        }
    }

    fn sample(name: &str) -> Object {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/");
        let bytes = std::fs::read(format!("{dir}{name}")).unwrap();
        Object::open(&bytes, &crate::OpenOptions::default()).unwrap()
    }

    fn set(object: &mut Object, text: &str) -> Result<(), String> {
        let (name, value) = text.split_once('=').ok_or("no assignment")?;
        object.set_global(name.trim(), value.trim()).map_err(|e| e.to_string())
    }

    #[test]
    fn values_reach_the_section_and_every_program() {
        let mut object = sample("map_kinds.bpf.o");
        set(&mut object, "weights[1] = 0x0102030405060708").unwrap();
        object.set_global("scale", 7).unwrap();
        let section = |suffix: &str| {
            object.maps.iter().find(|map| map.name.ends_with(suffix)).unwrap().contents.as_slice()
        };
        assert_eq!(section(".data")[8..16], [8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(section(".data")[..8], [1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(section(".rodata")[..4], [7, 0, 0, 0]);
        // The number fits, though its Rust type is wider.
        object.set_global("scale", 8u64).unwrap();
        assert!(object.set_global("scale", u64::MAX).is_err());
        for entry in &object.programs {
            assert!(Arc::ptr_eq(&entry.program.as_ref().unwrap().maps, &object.maps));
        }
    }

    #[test]
    fn unsigned_variables_take_negative_values_as_veristat_does() {
        let mut object = sample("map_kinds.bpf.o");
        set(&mut object, "scale = -1").unwrap();
        let section = object.maps.iter().find(|map| map.name.ends_with(".rodata")).unwrap();
        assert_eq!(section.contents[..4], [0xff; 4]);
    }

    #[test]
    fn a_section_of_zeroes_can_be_written_to() {
        let mut object = sample("refused.bpf.o");
        set(&mut object, "letters[31] = 7").unwrap();
        let section = object.maps.iter().find(|map| map.name.ends_with(".bss")).unwrap();
        assert_eq!((section.contents.len(), section.contents[31]), (32, 7));
        let mut maps = object.maps.to_vec();
        maps.iter_mut().for_each(|map| (map.value_size, map.contents) = (1 << 30, Vec::new()));
        object.maps = Arc::from(maps);
        let message = "its section has 1073741824 bytes, too many to write to";
        assert_eq!(set(&mut object, "letters[31] = 7"), Err(message.to_owned()));
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let mut object = sample("map_kinds.bpf.o");
        for (text, message) in [
            ("nope = 1", "no variable 'nope'"),
            ("weights[8] = 1", "index 8 is out of range (8 elements)"),
            ("weights = 1", "not an integer or enum"),
            ("scale[0] = 1", "indexing something that is not an array"),
            ("scale = ten", "'ten' is neither a number nor an enumerator"),
            ("scale = -4294967297", "-4294967297 is out of range (-4294967296 to 4294967295)"),
            ("scale = 4294967296", "4294967296 is out of range (-4294967296 to 4294967295)"),
            ("scale = --5", "'--5' is neither a number nor an enumerator"),
            ("scale = +5", "'+5' is neither a number nor an enumerator"),
            ("scale = 0x-5", "'0x-5' is neither a number nor an enumerator"),
            ("scale = 0-5", "'0-5' is neither a number nor an enumerator"),
            ("scale = -true", "'-true' is neither a number nor an enumerator"),
            (
                "scale = --170141183460469231731687303715884105728",
                "'--170141183460469231731687303715884105728' is neither a number nor an enumerator",
            ),
        ] {
            assert_eq!(set(&mut object, text), Err(message.to_owned()), "{text}");
        }
    }

    #[test]
    fn an_array_of_characters_takes_a_text() {
        let text = || {
            of_type(|btf, int| {
                let char = btf.int("char", 1, IntEncoding::default());
                btf.array(char, int, 5)
            })
        };
        let mut object = text();
        for (value, held) in
            [("v = eth0", "eth0\0"), ("v = \"lo\"", "lo\0\0\0"), ("v = \"\"", "\0\0\0\0\0")]
        {
            assert_eq!(set(&mut object, value), Ok(()));
            assert_eq!(object.maps[0].contents[..5], *held.as_bytes());
        }
        let long = Err("a text of 5 bytes and its zero do not fit 5 bytes".to_owned());
        assert_eq!(set(&mut text(), "v = wlan0"), long);
        assert_eq!(
            text().set_global("v", 1).map_err(|e| e.to_string()),
            Err("not an integer or enum".to_owned())
        );
        let mut large = of_type(|btf, int| {
            let char = btf.int("char", 1, IntEncoding::default());
            btf.array(char, int, u32::MAX)
        });
        assert_eq!(set(&mut large, "v = x"), Err(outside().to_string()));
    }

    /// An object whose one variable is `v`, of a type that `make` builds on a 4-byte int.
    fn of_type(make: impl FnOnce(&mut BtfBuilder, TypeId) -> TypeId) -> Object {
        let mut btf = BtfBuilder::new();
        let int = btf.int("unsigned int", 4, IntEncoding::default());
        let ty = make(&mut btf, int);
        let var = btf.var("v", ty, VarLinkage::Global);
        let section = btf.datasec(".data", 8, &[SecVar { ty: var, offset: 0, size: 8 }]);
        let map =
            MapDef { btf_value_type_id: section.0, contents: vec![0; 8], ..MapDef::default() };
        let btf = Some(Arc::new(btf.build().unwrap()));
        Object { btf, maps: Arc::from([map]), ..Object::default() }
    }

    #[test]
    fn bitfields_that_no_compiler_makes_are_said() {
        let bitfield =
            |bits| of_type(|btf, int| btf.struct_("s", 4, &[MemberDef::bits("f", int, 0, bits)]));
        assert_eq!(set(&mut bitfield(32), "v.f = 1"), Ok(()));
        assert_eq!(set(&mut bitfield(3), "v.f = 8"), Err("8 is out of range (-8 to 7)".into()));
        for bits in [33, 64, 128, 200, 255] {
            let message = format!("a bitfield of {bits} bits in 4 bytes");
            assert_eq!(set(&mut bitfield(bits), "v.f = 1"), Err(message));
        }
    }

    #[test]
    fn arrays_that_no_memory_holds_are_said() {
        let mut object = of_type(|btf, int| {
            let large = btf.struct_("large", u32::MAX, &[]);
            btf.array(large, int, u32::MAX)
        });
        for index in ["4294967294", "1000000"] {
            assert_eq!(set(&mut object, &format!("v[{index}] = 1")), Err(outside().to_string()));
        }
        let mut of_void = of_type(|btf, int| btf.array(TypeId::VOID, int, 2));
        let error = of_void.set_global("v[1]", 1).unwrap_err();
        let source = std::error::Error::source(&error);
        assert!(source.is_some_and(|it| it.is::<skep_btf::Error>()), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_an_assignment_or_an_error(text in "[a-z.\\[\\]0-9=x \\-]{0,24}|\\PC*") {
            let mut object = Object::default();
            assert!(set(&mut object, &text).is_err());
        }
    }
}

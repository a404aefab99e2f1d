//! `--map NAME=@FILE`: entries read from JSON, in the form that `map_json` writes, or written by
//! hand. Records of ring buffers and perf event arrays are written by programs and cannot be given.
//!
//! # Invariants
//! 1. One entry is in memory at a time, and no more of it than the map takes; a number or a string
//!    of the file has at most [`TOKEN_BYTES_MAX`].

use super::map_errno;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use skep::runtime::ObjectMaps;
use skep::runtime::map::{MapHandle, UpdateFlags};
use skep::uapi::MapType;
use skep_report::counted;
use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};

/// A number or a string, with surrounding spaces.
const TOKEN_BYTES_MAX: u64 = 1 << 20;

/// Names allowed in slots of prog arrays.
pub(super) struct Programs<'a> {
    /// With their ids.
    pub(super) loaded: Vec<(&'a str, u32)>,
    /// With why they are not loaded.
    pub(super) missed: &'a [(String, String)],
}

/// Fills a map as `NAME=@FILE` says.
///
/// # Errors
///
/// One line: no such map or file, invalid JSON, an entry that does not fit the map. Earlier entries
/// are then in the map.
pub(super) fn preload(
    text: &str,
    maps: &ObjectMaps,
    programs: &Programs<'_>,
) -> Result<(), crate::Error> {
    let wrong = |what: &dyn fmt::Display| format!("--map {text}: {what}");
    let (name, path) = text
        .split_once("=@")
        .ok_or_else(|| wrong(&"expected NAME=@FILE, with entries in --dump-maps format"))?;
    let map = maps.get(name).map_err(|e| crate::Error::because(wrong(&e), e))?;
    let left = Cell::new(TOKEN_BYTES_MAX);
    let file = BufReader::new(
        File::open(path).map_err(|e| crate::Error::because(wrong(&skep::io_text(&e)), e))?,
    );
    let mut json = serde_json::Deserializer::from_reader(Tokens { file, left: &left });
    let reader = Reader { map, programs, left: &left };
    let read = Root { reader, name }.deserialize(&mut json).and_then(|()| json.end());
    read.map_err(|e| {
        let (text, line, column) = (e.to_string(), e.line(), e.column());
        if e.is_io() {
            return crate::Error::because(wrong(&text), e);
        }
        let what = text.strip_suffix(&format!(" at line {line} column {column}"));
        let line = wrong(&format!("line {line}, column {column}: {}", what.unwrap_or(&text)));
        crate::Error::because(line, e)
    })
}

/// The error for a token that is too long.
struct Tokens<'a> {
    file: BufReader<File>,
    left: &'a Cell<u64>,
}

impl Read for Tokens<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = self.left.get();
        if left == 0 {
            let what = format!("a number or string longer than {TOKEN_BYTES_MAX} bytes");
            return Err(io::Error::other(what));
        }
        let most = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = self.file.read(&mut bytes[..most])?;
        self.left.set(left - count as u64);
        Ok(count)
    }
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    map: &'a MapHandle,
    programs: &'a Programs<'a>,
    left: &'a Cell<u64>,
}

/// An array of entries, or a dump of all maps, which has this one under its name.
struct Root<'a> {
    reader: Reader<'a>,
    name: &'a str,
}

impl<'de> DeserializeSeed<'de> for Root<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Root<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of entries")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        Entries(self.reader).visit_seq(seq)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        let mut found = false;
        while let Some(name) = all.next_key::<String>()? {
            if name == self.name {
                all.next_value_seed(Entries(self.reader))?;
                found = true;
            } else {
                all.next_value_seed(Skip(self.reader.left))?;
            }
        }
        if found { Ok(()) } else { Err(A::Error::custom("expected an array of entries")) }
    }
}

struct Entries<'a>(Reader<'a>);

impl<'de> DeserializeSeed<'de> for Entries<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Entries<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of entries")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut number = 0;
        while let Some(entry) = seq.next_element_seed(Entry(self.0))? {
            let put = entry.put(self.0);
            put.map_err(|what| A::Error::custom(format!("entry {number}: {what}")))?;
            number += 1;
        }
        Ok(())
    }
}

/// An entry of the file, or why it cannot be read.
#[derive(Default)]
struct Said {
    key: Option<Result<Vec<u8>, crate::Error>>,
    value: Option<Scalar>,
    values: Option<Result<Vec<u8>, crate::Error>>,
}

impl Said {
    fn put(self, reader: Reader<'_>) -> Result<(), crate::Error> {
        let map = reader.map;
        let map_type = map.map().map_type();
        if matches!(map_type, MapType::Ringbuf | MapType::UserRingbuf | MapType::PerfEventArray) {
            return Err(format!("a {map_type} map has no entries that can be filled in").into());
        }
        let key = match self.key {
            _ if map.map().shape().key_size == 0 => Vec::new(),
            Some(key) => key.map_err(|e| crate::Error::at("key", e))?,
            None => return Err("missing key".into()),
        };
        let value = match (self.value, self.values) {
            (Some(Scalar::Text(program)), _) if map_type == MapType::ProgArray => {
                reader.program(&program)?
            }
            (Some(value), _) => all_cpus(map, value)?,
            (None, Some(values)) => values?,
            (None, None) => return Err("missing value".into()),
        };
        let updated = map.update(&key, &value, UpdateFlags::Any);
        Ok(updated.map_err(|errno| map_errno::meaning(map, &key, &value, errno))?)
    }
}

impl Reader<'_> {
    fn program(self, name: &str) -> Result<Vec<u8>, crate::Error> {
        let Programs { loaded, missed } = self.programs;
        let found = loaded.iter().find(|(known, _)| *known == name);
        let (_, id) =
            found.ok_or_else(|| match missed.iter().find(|(known, _)| known == name) {
                Some((_, why)) => why.clone(),
                None => {
                    let names: Vec<&str> = loaded.iter().map(|(name, _)| *name).collect();
                    format!("no program '{name}'; there are: {}", names.join(", "))
                }
            })?;
        Ok(id.to_ne_bytes().to_vec())
    }
}

/// One value; for a per-CPU map, the same for all CPUs.
fn all_cpus(map: &MapHandle, value: Scalar) -> Result<Vec<u8>, crate::Error> {
    let size = map.map().shape().value_size as usize;
    let mut one = value.bytes(size).map_err(|e| crate::Error::at("value", e))?;
    if !map.map().is_percpu() {
        return Ok(one);
    }
    one.resize(size.next_multiple_of(8), 0);
    Ok(one.repeat(map.value_len() / one.len().max(1)))
}

struct Entry<'a>(Reader<'a>);

impl<'de> DeserializeSeed<'de> for Entry<'_> {
    type Value = Said;
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Said, D::Error> {
        self.0.left.set(TOKEN_BYTES_MAX);
        d.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Entry<'_> {
    type Value = Said;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an entry with a key and a value")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entry: A) -> Result<Said, A::Error> {
        let Reader { map, left, .. } = self.0;
        let shape = map.map().shape();
        let (key_size, value_size) = (shape.key_size as usize, shape.value_size as usize);
        let mut said = Said::default();
        while let Some(name) = entry.next_key::<String>()? {
            match &*name {
                "key" => {
                    let key = entry.next_value_seed(ScalarOf { size: key_size, left })?;
                    said.key = Some(key.bytes(key_size));
                }
                "value" => {
                    said.value = Some(entry.next_value_seed(ScalarOf { size: value_size, left })?);
                }
                "values" => said.values = Some(entry.next_value_seed(Cpus(self.0))?),
                _ => entry.next_value_seed(Skip(left))?,
            }
        }
        Ok(said)
    }
}

/// `[{"cpu": 0, "value": ...}, ...]`; CPUs that are not listed get zeros.
struct Cpus<'a>(Reader<'a>);

impl<'de> DeserializeSeed<'de> for Cpus<'_> {
    type Value = Result<Vec<u8>, crate::Error>;
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Self::Value, D::Error> {
        d.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Cpus<'_> {
    type Value = Result<Vec<u8>, crate::Error>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of values with a cpu each")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let (map, left) = (self.0.map, self.0.left);
        let size = map.map().shape().value_size as usize;
        let mut all = Ok(vec![0; map.value_len()]);
        while let Some((cpu, value)) = seq.next_element_seed(Cpu { size, left })? {
            let put = |all: &mut Vec<u8>| {
                let cpu = cpu.ok_or("values: missing cpu")?;
                let bytes = value.ok_or("values: missing value")?.bytes(size);
                let bytes = bytes.map_err(|e| crate::Error::at("value", e))?;
                let from = usize::try_from(cpu).ok();
                let from = from.and_then(|cpu| cpu.checked_mul(size.next_multiple_of(8)));
                let place = from.and_then(|from| all.get_mut(from..from.checked_add(size)?));
                let place = place.ok_or_else(|| format!("values: no CPU {cpu} here"))?;
                place.copy_from_slice(&bytes);
                Ok::<(), crate::Error>(())
            };
            if let Ok(bytes) = &mut all
                && let Err(what) = put(bytes)
            {
                all = Err(what);
            }
        }
        Ok(all)
    }
}

struct Cpu<'a> {
    size: usize,
    left: &'a Cell<u64>,
}

impl<'de> DeserializeSeed<'de> for Cpu<'_> {
    type Value = (Option<u64>, Option<Scalar>);
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Self::Value, D::Error> {
        d.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Cpu<'_> {
    type Value = (Option<u64>, Option<Scalar>);
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value with its cpu")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entry: A) -> Result<Self::Value, A::Error> {
        let Cpu { size, left } = self;
        let (mut cpu, mut value) = (None, None);
        while let Some(name) = entry.next_key::<String>()? {
            match &*name {
                "cpu" => cpu = Some(entry.next_value()?),
                "value" => value = Some(entry.next_value_seed(ScalarOf { size, left })?),
                _ => entry.next_value_seed(Skip(left))?,
            }
        }
        Ok((cpu, value))
    }
}

/// What a key or a value may be.
enum Scalar {
    /// Bytes: the capacity, and how many there are.
    Bytes(Vec<u8>, usize),
    /// In the machine's order.
    Number(i128),
    /// A name.
    Text(String),
    Other(&'static str),
}

impl Scalar {
    fn bytes(self, size: usize) -> Result<Vec<u8>, crate::Error> {
        match self {
            Scalar::Bytes(bytes, count) if count == size => Ok(bytes),
            Scalar::Bytes(_, count) => Err(format!("{count} bytes, expected {size}").into()),
            Scalar::Number(number) => {
                let mut bytes = number.to_le_bytes().to_vec();
                let fill = if number < 0 { 0xff } else { 0 };
                let cut = bytes.get(size..).is_some_and(|rest| rest.iter().any(|b| *b != fill));
                let last = size.checked_sub(1).map_or(Some(&0), |last| bytes.get(last));
                let sign_is_lost = number < 0 && last.is_some_and(|byte| *byte < 0x80);
                if cut || sign_is_lost {
                    return Err(format!(
                        "{number} does not fit in {}",
                        counted(size as u64, "byte")
                    )
                    .into());
                }
                bytes.resize(size, fill);
                Ok(bytes)
            }
            Scalar::Text(text) => Err(format!("expected bytes or a number, found '{text}'").into()),
            Scalar::Other(what) => Err(format!("expected bytes or a number, found {what}").into()),
        }
    }
}

/// An array of bytes (`"0x0a"` or 10), a number, or a string.
struct ScalarOf<'a> {
    size: usize,
    left: &'a Cell<u64>,
}

impl<'de> DeserializeSeed<'de> for ScalarOf<'_> {
    type Value = Scalar;
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Scalar, D::Error> {
        self.left.set(TOKEN_BYTES_MAX);
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ScalarOf<'_> {
    type Value = Scalar;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes or a number")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Scalar, A::Error> {
        let (mut bytes, mut count) = (Vec::new(), 0);
        while let Some(byte) = seq.next_element_seed(Byte(self.left))? {
            if bytes.len() < self.size {
                bytes.push(byte);
            }
            count += 1;
        }
        Ok(Scalar::Bytes(bytes, count))
    }
    fn visit_u64<E: Error>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number.into()))
    }
    fn visit_i64<E: Error>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number.into()))
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.to_owned()))
    }
    fn visit_f64<E: Error>(self, _: f64) -> Result<Scalar, E> {
        Ok(Scalar::Other("a number with a fraction or of more than 64 bits"))
    }
    fn visit_bool<E: Error>(self, value: bool) -> Result<Scalar, E> {
        Ok(Scalar::Number(value.into()))
    }
    fn visit_unit<E: Error>(self) -> Result<Scalar, E> {
        Ok(Scalar::Other("null"))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Scalar, A::Error> {
        Skip(self.left).visit_map(map)?;
        Ok(Scalar::Other("an object"))
    }
}

struct Byte<'a>(&'a Cell<u64>);

impl<'de> DeserializeSeed<'de> for Byte<'_> {
    type Value = u8;
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<u8, D::Error> {
        self.0.set(TOKEN_BYTES_MAX);
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Byte<'_> {
    type Value = u8;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a byte, as \"0x0a\" or 10")
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<u8, E> {
        let digits = text.strip_prefix("0x");
        let digits = digits.filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        byte.ok_or_else(|| E::custom(format!("'{text}' is not a byte such as \"0x0a\"")))
    }
    fn visit_u64<E: Error>(self, number: u64) -> Result<u8, E> {
        u8::try_from(number).map_err(|_| E::custom(format!("{number} does not fit in a byte")))
    }
}

/// Passes over a value, whatever it is.
struct Skip<'a>(&'a Cell<u64>);

impl<'de> DeserializeSeed<'de> for Skip<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        self.0.set(TOKEN_BYTES_MAX);
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Skip<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(Skip(self.0))?.is_some() {}
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_key::<String>()?.is_some() {
            map.next_value_seed(Skip(self.0))?;
        }
        Ok(())
    }
    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep::program::MapDef;
    use skep::runtime::{Options, Runtime};
    use std::sync::Arc;

    fn def(
        name: &str,
        map_type: MapType,
        key_size: u32,
        value_size: u32,
        max_entries: u32,
    ) -> MapDef {
        let def = MapDef { map_type, key_size, value_size, max_entries, ..MapDef::default() };
        MapDef { name: name.to_owned(), ..def }
    }

    fn maps() -> Arc<[MapDef]> {
        let full = def("full", MapType::Hash, 4, 4, 1);
        let prefixes = def("prefixes", MapType::LpmTrie, 8, 4, 4);
        Arc::from([
            def("array", MapType::Array, 4, 4, 4),
            full,
            MapDef { frozen: true, ..def("constant", MapType::Array, 4, 4, 1) },
            MapDef { map_flags: skep::uapi::MapFlags::NO_PREALLOC, ..prefixes },
            def("jumps", MapType::ProgArray, 4, 4, 4),
            def("ring", MapType::Ringbuf, 0, 0, 4096),
            def("perf", MapType::PerfEventArray, 4, 4, 4),
        ])
    }

    /// The result of reading entries, and the first one's value afterwards.
    fn filled(name: &str, json: &str) -> (String, Option<Vec<u8>>) {
        let runtime = Runtime::new(Options::default()).unwrap();
        let maps = runtime.create_maps(&maps(), None);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("entries.json");
        std::fs::write(&path, json).unwrap();
        let refused = "program 'bad': refused at insn 0: R1 !read_ok".to_owned();
        let missed = [("bad".to_owned(), refused)];
        let programs = Programs { loaded: vec![("good", 7)], missed: &missed };
        let text = format!("{name}=@{}", path.display());
        let said =
            preload(&text, &maps, &programs).err().map(|e| e.to_string()).unwrap_or_default();
        (said, maps.get(name).unwrap().lookup(&[0; 4]).ok())
    }

    #[test]
    fn an_entry_that_cannot_be_is_an_error_that_says_why() {
        for (name, json, wanted) in [
            ("array", r#"[{"key":0,"value":"good"}]"#, "expected bytes or a number, found 'good'"),
            ("array", r#"[{"key":0,"value":-2147483649}]"#, "-2147483649 does not fit in 4 bytes"),
            ("array", r#"[{"key":0,"value":4294967296}]"#, "4294967296 does not fit in 4 bytes"),
            ("array", r#"[{"key":0,"value":["0x+1",0,0,0]}]"#, "'0x+1' is not a byte"),
            ("array", r#"[{"key":0,"value":["0x",0,0,0]}]"#, "'0x' is not a byte"),
            ("array", r#"[{"key":4,"value":1}]"#, "E2BIG: key 4: the map has 4 entries, from 0 on"),
            (
                "full",
                r#"[{"key":4,"value":1},{"key":9,"value":1}]"#,
                "entry 1: E2BIG: the map is full: it has 1 entry",
            ),
            ("constant", r#"[{"key":0,"value":1}]"#, "EPERM: the map is read-only"),
            (
                "prefixes",
                r#"[{"key":[33,0,0,0,1,2,3,4],"value":1}]"#,
                "EINVAL: a prefix of 33 bits: the map's keys have 32",
            ),
            ("jumps", r#"[{"key":0,"value":99}]"#, "EBADF: no program has id 99; give its name"),
            ("jumps", r#"[{"key":0,"value":"none"}]"#, "no program 'none'; there are: good"),
            ("jumps", r#"[{"key":0,"value":"bad"}]"#, "'bad': refused at insn 0: R1 !read_ok"),
            ("ring", r#"[{"value":["0x01"]}]"#, "a ringbuf map has no entries that can be filled"),
            ("perf", r#"[{"cpu":0,"value":["0x01"]}]"#, "has no entries that can be filled in"),
        ] {
            let (said, _) = filled(name, json);
            assert!(said.contains(wanted) && said.lines().count() == 1, "{name} {json}: {said}");
        }
    }

    #[test]
    fn what_fits_is_what_is_there() {
        for (value, bytes) in [
            ("-2147483648", [0, 0, 0, 0x80]),
            ("-1", [0xff; 4]),
            ("4294967295", [0xff; 4]),
            (r#"["0x0a", 11, "0xC", "0x00"]"#, [10, 11, 12, 0]),
        ] {
            let (said, found) = filled("array", &format!(r#"[{{"key":0,"value":{value}}}]"#));
            assert_eq!((&*said, found), ("", Some(bytes.to_vec())), "{value}");
        }
    }
}

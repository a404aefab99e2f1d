//! Maps as JSON, in the form of `bpftool -j map dump`: entries with `key` and `value` as arrays of
//! bytes (`"0x0a"`), `values` with a `cpu` each for per-CPU maps, and their BTF representation
//! under `formatted`. Entries can be read back by `map_input`; records of ring buffers and perf
//! event arrays cannot.
//!
//! Entries are written one by one: a map may be larger than the free memory.

use super::btf_json::{self, Typed};
use serde::Serialize;
use serde::ser::{Error as _, SerializeSeq, Serializer};
use skep::btf::{Btf, TypeId};
use skep::runtime::map::{MapBtf, MapHandle};
use skep::uapi::MapType;
use std::cell::OnceCell;
use std::io;

/// Maps, each under its name.
pub(super) struct Maps<'a>(Vec<&'a MapHandle>);

impl<'a> Maps<'a> {
    pub(super) fn of(maps: impl Iterator<Item = &'a MapHandle>) -> Maps<'a> {
        let mut maps: Vec<&MapHandle> = maps.collect();
        maps.sort_by_key(|map| map.map().name());
        Maps(maps)
    }

    /// Writes them, and the end of a line.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub(super) fn write(&self, mut out: impl io::Write) -> io::Result<()> {
        self.serialize(&mut serde_json::Serializer::pretty(&mut out))?;
        out.write_all(b"\n")?;
        out.flush()
    }
}

impl Serialize for Maps<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|map| (map.map().name(), Dump::new(map))))
    }
}

/// All entries of a map. Elements of a queue or stack are removed from it; ring buffers and perf
/// event arrays give their records.
struct Dump<'a> {
    map: &'a MapHandle,
    key: Types<'a>,
    value: Types<'a>,
}

impl<'a> Dump<'a> {
    fn new(map: &'a MapHandle) -> Dump<'a> {
        let types = |id: fn(&MapBtf) -> u32| Types {
            ty: map.map().btf().map(|types| (&*types.btf, TypeId(id(types)))),
            fits: OnceCell::new(),
        };
        Dump { map, key: types(|t| t.key_type_id), value: types(|t| t.value_type_id) }
    }

    /// Removes records from a ring buffer as long as they can be written.
    fn records<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_seq(None)?;
        let mut written = Ok(());
        let consumed = self.map.consume(|record| {
            let entry = Entry { value: Some(Bytes(record)), ..Entry::default() };
            written = all.serialize_element(&entry);
            written.is_ok()
        });
        consumed.map_err(S::Error::custom)?;
        written?;
        all.end()
    }
}

impl Serialize for Dump<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entry = |key: Option<Vec<u8>>, value: Vec<u8>| Owned { dump: self, key, value };
        match self.map.map().map_type() {
            MapType::Queue | MapType::Stack => {
                let values = std::iter::from_fn(|| self.map.pop().ok());
                serializer.collect_seq(values.map(|value| entry(None, value)))
            }
            MapType::Ringbuf => self.records(serializer),
            MapType::PerfEventArray => {
                let (samples, _) = self.map.take_samples().unwrap_or_default();
                let sample = samples.iter();
                serializer.collect_seq(
                    sample.map(|s| OfCpu { cpu: s.cpu as usize, value: Bytes(&s.data) }),
                )
            }
            MapType::BloomFilter => serializer.serialize_seq(Some(0))?.end(),
            _ => {
                let entries = self.map.entries();
                serializer.collect_seq(entries.map(|(key, value)| entry(Some(key), value)))
            }
        }
    }
}

/// The type of keys or values, if there is one.
struct Types<'a> {
    ty: Option<(&'a Btf, TypeId)>,
    /// Whether it describes them, independent of their contents.
    fits: OnceCell<bool>,
}

impl Types<'_> {
    fn of<'b>(&'b self, bytes: &'b [u8]) -> Option<Typed<'b>> {
        let (btf, id) = self.ty?;
        let typed = Typed::new(btf, id, bytes);
        self.fits.get_or_init(|| btf_json::describes(&typed)).then_some(typed)
    }
}

/// An entry while it is written.
struct Owned<'a> {
    dump: &'a Dump<'a>,
    key: Option<Vec<u8>>,
    value: Vec<u8>,
}

impl Serialize for Owned<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (dump, key, value) = (self.dump, self.key.as_deref(), &*self.value);
        let mut entry = Entry { key: key.map(Bytes), ..Entry::default() };
        let mut formatted =
            Formatted { key: key.and_then(|key| dump.key.of(key)), ..Formatted::default() };
        match parts(dump.map, value) {
            None => {
                entry.value = Some(Bytes(value));
                formatted.value = dump.value.of(value);
            }
            Some(parts) => {
                let parts: Vec<&[u8]> = parts.collect();
                let all = parts.iter().enumerate();
                entry.values = Some(
                    all.clone().map(|(cpu, part)| OfCpu { cpu, value: Bytes(part) }).collect(),
                );
                formatted.values = all
                    .map(|(cpu, part)| Some(OfCpu { cpu, value: dump.value.of(part)? }))
                    .collect();
            }
        }
        let has_types =
            formatted.key.is_some() || formatted.value.is_some() || formatted.values.is_some();
        entry.formatted = has_types.then_some(formatted);
        entry.serialize(serializer)
    }
}

/// In bpftool's order.
#[derive(Default, Serialize)]
struct Entry<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<Bytes<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Bytes<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Vec<OfCpu<Bytes<'a>>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    formatted: Option<Formatted<'a>>,
}

#[derive(Default, Serialize)]
struct Formatted<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<Typed<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Typed<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Vec<OfCpu<Typed<'a>>>>,
}

#[derive(Serialize)]
struct OfCpu<T> {
    cpu: usize,
    value: T,
}

struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|byte| Hex(*byte)))
    }
}

struct Hex(u8);

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("0x{:02x}", self.0))
    }
}

/// Bytes of each CPU's value.
fn parts<'a>(map: &MapHandle, value: &'a [u8]) -> Option<impl Iterator<Item = &'a [u8]>> {
    let size = map.map().shape().value_size as usize;
    map.map().is_percpu().then(|| {
        value.chunks(size.next_multiple_of(8).max(1)).map(move |part| &part[..size.min(part.len())])
    })
}

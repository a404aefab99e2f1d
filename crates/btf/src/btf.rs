//! A parsed BTF: all types of an object or of a kernel, checked once, shared as `Arc<Btf>`.
//!
//! Types are stored as the words of the file in host byte order, plus one offset per type: a
//! vmlinux BTF of 126,000 types takes its own size plus half a megabyte, and parsing is a single
//! pass.
//!
//! # Invariants
//! 1. `starts[i]..starts[i + 1]` are the words of type `first_id + i`, complete for its kind and
//!    vlen.
//! 2. Every type id stored in a type is below `end_id`, but for what a `FUNC_PROTO` returns: libbpf
//!    does not look at that, and the kernel does not load it. Every name offset is below `end_str`.
//! 3. A chain of modifiers and typedefs ends within [`CHAIN_MAX`] steps.

use crate::bytes::{u16_at, u32_at};
use crate::index::NameIndex;
use crate::{Endian, Error, SpecialField, TypeId};
use rustc_hash::FxHashMap;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};

/// The first two bytes of BTF, in its byte order.
pub const BTF_MAGIC: u16 = 0xeb9f;
const HEADER_BYTES: usize = 24;
/// Longest chain of modifiers and typedefs that is followed. The kernel resolves at most 32 deep.
pub(crate) const CHAIN_MAX: usize = 64;

/// All types of one object, kernel or module. See the module header for how it is stored.
pub struct Btf {
    pub(crate) base: Option<Arc<Btf>>,
    /// The module that it describes.
    pub(crate) module: Option<Box<str>>,
    /// Byte order of the file it came from.
    pub(crate) endian: Endian,
    pub(crate) first_id: u32,
    pub(crate) first_str: u32,
    pub(crate) words: Box<[u32]>,
    pub(crate) starts: Box<[u32]>,
    pub(crate) text: Box<str>,
    /// The original string section, if it is not UTF-8 (`text` then has `?` for each invalid byte).
    pub(crate) raw_text: Option<Box<[u8]>>,
    pub(crate) index: OnceLock<NameIndex>,
    /// How many names were looked up before there was an index.
    pub(crate) scans: AtomicU32,
    /// What [`Btf::struct_metas`] found.
    pub(crate) metas: OnceLock<FxHashMap<TypeId, Vec<SpecialField>>>,
    /// Decl tags, in id order, by the type to which they apply.
    pub(crate) tags: OnceLock<FxHashMap<TypeId, Vec<TypeId>>>,
}

impl Btf {
    /// The BTF below this one, for split BTF.
    pub fn base(&self) -> Option<&Arc<Btf>> {
        self.base.as_ref()
    }
    /// Byte order of the file this came from.
    pub fn endian(&self) -> Endian {
        self.endian
    }
    /// First id that is stored here: 1, or for split BTF the base's [`Btf::end_id`].
    pub fn first_id(&self) -> TypeId {
        TypeId(self.first_id)
    }
    /// One past the last id.
    pub fn end_id(&self) -> TypeId {
        TypeId(self.first_id + self.len() as u32)
    }
    /// Number of types stored here, without void and without the base's.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }
    /// Whether no type is stored here.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The string at an offset of the string section; empty if out of range.
    pub fn str(&self, offset: u32) -> &str {
        self.try_str(offset).unwrap_or("")
    }

    /// The string at an offset of the string section.
    pub fn try_str(&self, offset: u32) -> Option<&str> {
        if offset < self.first_str {
            return self.base.as_ref()?.try_str(offset);
        }
        let rest = self.text.get((offset - self.first_str) as usize..)?;
        // Most are short: a search by words would take longer to begin than this takes.
        rest.bytes().position(|byte| byte == 0).map(|end| &rest[..end])
    }

    /// The bytes of the string at an offset of the string section, which may be no text.
    pub(crate) fn str_bytes(&self, offset: u32) -> &[u8] {
        if offset < self.first_str {
            return self.base.as_ref().map_or(&[], |base| base.str_bytes(offset));
        }
        let rest = self.string_bytes().get((offset - self.first_str) as usize..).unwrap_or(&[]);
        rest.split(|byte| *byte == 0).next().unwrap_or(&[])
    }

    /// Whether `text` is the string at an offset of the string section.
    pub(crate) fn str_is(&self, offset: u32, text: &str) -> bool {
        if offset < self.first_str {
            return self.base.as_ref().is_some_and(|base| base.str_is(offset, text));
        }
        let (all, start) = (self.text.as_bytes(), (offset - self.first_str) as usize);
        // Few strings end where this one would.
        all.get(start.saturating_add(text.len())) == Some(&0)
            && all[start..].starts_with(text.as_bytes())
    }

    /// The section as bytes in the byte order `endian`, as passed to `BPF_BTF_LOAD`.
    pub fn to_bytes(&self, endian: Endian) -> Vec<u8> {
        let text = self.string_bytes();
        encode(endian, &self.words, text)
    }

    /// The types section, as words in host byte order.
    pub fn type_words(&self) -> &[u32] {
        &self.words
    }

    /// The string section as it is in the file.
    pub fn string_bytes(&self) -> &[u8] {
        self.raw_text.as_deref().unwrap_or(self.text.as_bytes())
    }

    /// Offset after the last string, where those of a module begin.
    pub fn end_str(&self) -> u32 {
        self.first_str.saturating_add(self.text.len() as u32)
    }
}

impl std::fmt::Debug for Btf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Btf")
            .field("types", &self.len())
            .field("strings", &self.text.len())
            .finish()
    }
}

/// Header, types and strings, in that order.
pub(crate) fn encode(endian: Endian, words: &[u32], text: &[u8]) -> Vec<u8> {
    let types_len = (words.len() * 4) as u32;
    let mut out = Vec::with_capacity(HEADER_BYTES + words.len() * 4 + text.len());
    endian.put_u16(&mut out, BTF_MAGIC);
    out.extend_from_slice(&[1, 0]);
    for field in [HEADER_BYTES as u32, 0, types_len, types_len, text.len() as u32] {
        endian.put_u32(&mut out, field);
    }
    for &word in words {
        endian.put_u32(&mut out, word);
    }
    out.extend_from_slice(text);
    out
}

/// The byte order whose magic number `bytes` starts with.
pub(crate) fn sniff_endian(bytes: &[u8]) -> Result<Endian, Error> {
    for endian in [Endian::Little, Endian::Big] {
        if u16_at(bytes, 0, endian) == Some(BTF_MAGIC) {
            return Ok(endian);
        }
    }
    Err(Error::at(0, "no BTF magic number"))
}

/// What the header says of the section: offsets from its end and lengths, bytes.
pub(crate) struct Header {
    pub(crate) endian: Endian,
    pub(crate) hdr_len: usize,
    pub(crate) type_off: usize,
    pub(crate) type_len: usize,
    pub(crate) str_off: usize,
    pub(crate) str_len: usize,
}

impl Header {
    pub(crate) fn read(bytes: &[u8]) -> Result<Header, Error> {
        let endian = sniff_endian(bytes)?;
        let field = |at| match u32_at(bytes, at, endian) {
            Some(field) => Ok(field as usize),
            None => Err(Error::at(at, "header is truncated")),
        };
        let hdr_len = field(4)?;
        if hdr_len < HEADER_BYTES || hdr_len > bytes.len() {
            return Err(Error::at(4, format!("header length {hdr_len} is out of range")));
        }
        let (type_off, type_len) = (field(8)?, field(12)?);
        let (str_off, str_len) = (field(16)?, field(20)?);
        Ok(Header { endian, hdr_len, type_off, type_len, str_off, str_len })
    }
}

/// Why BPF_BTF_LOAD rejects a header that [`Btf::parse`] reads as libbpf does: of another version,
/// with flags, with fields that the kernel does not know, or with bytes that belong to no part.
pub fn header_refused_by_kernel(bytes: &[u8]) -> Option<Error> {
    let Header { hdr_len, type_off, type_len, str_off, str_len, .. } = Header::read(bytes).ok()?;
    let unknown = bytes.get(HEADER_BYTES..hdr_len)?;
    let end = hdr_len.saturating_add(str_off).saturating_add(str_len);
    let refuse = |at, text: &str| Some(Error::at(at, text));
    match () {
        () if bytes.get(2) != Some(&1) => refuse(2, "version is not 1"),
        () if bytes.get(3) != Some(&0) => refuse(3, "flags are set"),
        () if unknown.iter().any(|byte| *byte != 0) => {
            refuse(HEADER_BYTES, "unknown fields are set")
        }
        () if type_off != 0 => refuse(8, "the types do not follow the header"),
        () if str_off != type_len => refuse(16, "the strings do not follow the types"),
        () if end != bytes.len() => refuse(20, "bytes are left after the strings"),
        () => None,
    }
}

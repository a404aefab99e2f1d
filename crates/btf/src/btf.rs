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
use crate::shift::{Shift, shift};
use crate::{Endian, Error, Kind, SpecialField, Type, TypeId};
use rustc_hash::FxHashMap;
use std::sync::{Arc, OnceLock};

const MAGIC: u16 = 0xeb9f;
const HEADER_BYTES: usize = 24;
/// Longest chain of modifiers and typedefs that is followed. The kernel resolves at most 32 deep.
pub(crate) const CHAIN_MAX: usize = 64;
/// The kernel's `BTF_MAX_TYPE`.
const TYPES_MAX: usize = 0x000f_ffff;

/// All types of one object, kernel or module. See the module header for how it is stored.
pub struct Btf {
    base: Option<Arc<Btf>>,
    /// The module that it describes.
    pub(crate) module: Option<Box<str>>,
    /// Byte order of the file it came from.
    endian: Endian,
    first_id: u32,
    first_str: u32,
    words: Box<[u32]>,
    starts: Box<[u32]>,
    text: Box<str>,
    /// The original string section, if it is not UTF-8 (`text` then has `?` for each invalid byte).
    raw_text: Option<Box<[u8]>>,
    index: OnceLock<NameIndex>,
    /// What [`Btf::struct_metas`] found.
    pub(crate) metas: OnceLock<FxHashMap<TypeId, Vec<SpecialField>>>,
    /// Decl tags, in id order, by the type to which they apply.
    tags: OnceLock<FxHashMap<TypeId, Vec<TypeId>>>,
}

impl Btf {
    /// Parses a `.BTF` section or `/sys/kernel/btf/vmlinux`, of either byte order.
    pub fn parse(bytes: &[u8]) -> Result<Btf, Error> {
        parse(None, None, bytes).map_err(|e| e.context("parse BTF"))
    }

    /// Parses split BTF (a module's): ids and strings continue where `base` ends.
    pub fn parse_split(base: Arc<Btf>, bytes: &[u8]) -> Result<Btf, Error> {
        parse(Some(base), None, bytes).map_err(|e| e.context("parse split BTF"))
    }

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

    /// The type of an id, if there is one. Id 0 is void.
    pub fn get(&self, id: TypeId) -> Option<Type<'_>> {
        if id == TypeId::VOID {
            return Some(Type { btf: self, id, words: &[] });
        }
        if id.0 < self.first_id {
            return self.base.as_ref()?.get(id);
        }
        let n = (id.0 - self.first_id) as usize;
        let (&start, &end) = (self.starts.get(n)?, self.starts.get(n + 1)?);
        Some(Type { btf: self, id, words: &self.words[start as usize..end as usize] })
    }

    /// The type of an id found in this BTF; an id that does not exist is treated as void.
    pub fn ty(&self, id: TypeId) -> Type<'_> {
        self.get(id).unwrap_or(Type { btf: self, id: TypeId::VOID, words: &[] })
    }

    /// The type of an id from elsewhere: an error if there is none.
    pub fn require(&self, id: TypeId) -> Result<Type<'_>, Error> {
        self.get(id).ok_or_else(|| {
            Error::new(format!("type id {id} is out of range (ids end at {})", self.end_id()))
        })
    }

    /// All types stored here, in id order; not void, not the base's.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Type<'_>> {
        self.starts.windows(2).enumerate().map(|(n, w)| Type {
            btf: self,
            id: TypeId(self.first_id + n as u32),
            words: &self.words[w[0] as usize..w[1] as usize],
        })
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

    /// The first type of this exact name and kind, base first; no name finds nothing.
    pub fn find_by_name_kind(&self, name: &str, kind: Kind) -> Option<TypeId> {
        let mut found = self.ids_named(name).map(|id| self.ty(id));
        found.find(|t| t.kind() == kind && t.name() == name).map(Type::id)
    }

    /// All types of this exact name, base first, in id order.
    pub fn find_by_name<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Type<'a>> {
        self.ids_named(name).map(|id| self.ty(id)).filter(move |t| t.name() == name)
    }

    /// Ids whose essential name (without `___flavor`) may be that of `name`: a superset, base
    /// first.
    pub(crate) fn ids_named<'a>(&'a self, name: &str) -> Box<dyn Iterator<Item = TypeId> + 'a> {
        let name_of = |n: usize| self.ty(TypeId(self.first_id + n as u32)).name();
        let index = || NameIndex::build(self.len(), name_of);
        let own = self.index.get_or_init(index).candidates(name, self.first_id);
        match &self.base {
            Some(base) => Box::new(base.ids_named(name).chain(own)),
            None => Box::new(own),
        }
    }

    /// Texts of the decl tags on a type (`component` none) or on its member or parameter.
    ///
    /// For types stored here and tags stored here; looks through all types once.
    pub fn decl_tags(&self, on: TypeId, component: Option<u32>) -> impl Iterator<Item = &str> {
        let ids = self.tags().get(&on).map_or(&[][..], Vec::as_slice);
        let tags = ids.iter().map(|&id| self.ty(id));
        tags.filter(move |t| t.component_idx() == component).map(Type::name)
    }

    fn tags(&self) -> &FxHashMap<TypeId, Vec<TypeId>> {
        self.tags.get_or_init(|| {
            let mut tags = FxHashMap::<TypeId, Vec<TypeId>>::default();
            for tag in self.iter().filter(|t| t.kind() == Kind::DeclTag) {
                tags.entry(tag.target_id()).or_default().push(tag.id());
            }
            tags
        })
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
    endian.put_u16(&mut out, MAGIC);
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
        if u16_at(bytes, 0, endian) == Some(MAGIC) {
            return Ok(endian);
        }
    }
    Err(Error::at(0, "no BTF magic number"))
}

/// What the header says of the section: offsets from its end and lengths, bytes.
struct Header {
    endian: Endian,
    hdr_len: usize,
    type_off: usize,
    type_len: usize,
    str_off: usize,
    str_len: usize,
}

impl Header {
    fn read(bytes: &[u8]) -> Result<Header, Error> {
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
        () if type_off != 0 => refuse(8, "the types do not begin behind the header"),
        () if str_off != type_len => refuse(16, "the strings do not begin behind the types"),
        () if end != bytes.len() => refuse(20, "bytes are left behind the strings"),
        () => None,
    }
}

pub(crate) fn parse(
    base: Option<Arc<Btf>>,
    moved: Option<Shift>,
    bytes: &[u8],
) -> Result<Btf, Error> {
    sniff_endian(bytes)?;
    if bytes.get(2) != Some(&1) {
        return Err(Error::at(2, "version is not 1"));
    }
    let header = Header::read(bytes)?;
    let Header { endian, hdr_len, type_off, type_len, str_off, str_len } = header;
    let part = |at: usize, what: &str, off: usize, len: usize| {
        let start = hdr_len.saturating_add(off);
        bytes.get(start..start.saturating_add(len)).ok_or_else(|| {
            Error::at(at, format!("{what} section ({off:#x} + {len:#x}) ends beyond the data"))
        })
    };
    let types = part(8, "type", type_off, type_len)?;
    let strings = part(16, "string", str_off, str_len)?;
    if type_off % 4 != 0 || type_len % 4 != 0 {
        return Err(Error::at(8, "type section is not aligned to 4 bytes"));
    }
    if type_off + type_len > str_off {
        return Err(Error::at(16, "strings begin before the types end"));
    }
    check_strings(strings, base.is_some()).map_err(|m| Error::at(hdr_len + str_off, m))?;
    let (text, raw_text) = to_text(strings);
    let mut words: Box<[u32]> =
        types.chunks_exact(4).map(|w| endian.u32([w[0], w[1], w[2], w[3]])).collect();
    if let Some(moved) = moved {
        shift(&mut words, moved);
    }
    let (first_id, first_str) = match &base {
        Some(base) => (base.end_id().0, base.end_str()),
        None => (1, 0),
    };
    let (index, metas, tags) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
    let starts = Box::new([0]);
    let mut btf = Btf {
        base,
        module: None,
        endian,
        first_id,
        first_str,
        words,
        starts,
        text,
        raw_text,
        index,
        metas,
        tags,
    };
    btf.starts = scan(&btf, hdr_len + type_off)?;
    check_chains(&btf)?;
    Ok(btf)
}

fn check_strings(strings: &[u8], split: bool) -> Result<(), &'static str> {
    match (strings.first(), strings.last()) {
        (None, _) if split => Ok(()),
        (None, _) => Err("string section is empty"),
        (Some(&c), _) if c != 0 && !split => Err("string section does not begin with NUL"),
        (_, Some(&c)) if c != 0 => Err("string section does not end with NUL"),
        _ if strings.len() > i32::MAX as usize => Err("string section is too large"),
        _ => Ok(()),
    }
}

/// The strings as text of the same length, and the original bytes if that is lossy.
fn to_text(strings: &[u8]) -> (Box<str>, Option<Box<[u8]>>) {
    if let Ok(text) = std::str::from_utf8(strings) {
        return (text.into(), None);
    }
    let mut text = String::with_capacity(strings.len());
    for chunk in strings.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '?'));
    }
    (text.into(), Some(strings.into()))
}

/// Finds the start of each type and checks its names and references (invariants 1 and 2).
fn scan(btf: &Btf, section: usize) -> Result<Box<[u32]>, Error> {
    let words = &btf.words;
    let mut starts = Vec::with_capacity(words.len() / 7 + 1);
    let mut limits = Limits { end_str: btf.end_str(), ref_max: 0, ref_max_at: 0 };
    let mut at = 0;
    while at < words.len() {
        let id = btf.first_id as usize + starts.len();
        let place = |word: usize| section + word * 4;
        if id > TYPES_MAX {
            return Err(Error::at(place(at), "more types than the kernel allows"));
        }
        let here = |e: Error| e.located(place(at)).context(format!("BTF type {id}"));
        let fail = |m: String| here(Error::new(m));
        let Some(&[_, info, _]) = words.get(at..at + 3) else {
            return Err(fail("type is truncated".into()));
        };
        let number = (info >> 24 & 0x7f) as u8;
        let kind = match Kind::from_number(number) {
            Some(kind) if kind != Kind::Void => kind,
            _ => return Err(fail(format!("unknown kind {number}"))),
        };
        // Linux 7.3 has 24 bits for their number, those before it 16.
        let Ok(parts) = u16::try_from(info & 0x00ff_ffff) else {
            return Err(fail(format!("{}: more than {} parts", kind.name(), u16::MAX)));
        };
        let len = 3 + kind.extra_words(parts);
        let Some(ty) = words.get(at..at + len) else {
            return Err(fail(format!("{} of {len} words is truncated", kind.name())));
        };
        limits.check(kind, ty, at).map_err(here)?;
        starts.push(at as u32);
        at += len;
    }
    starts.push(at as u32);
    let end_id = btf.first_id as usize + starts.len() - 1;
    if limits.ref_max as usize >= end_id {
        let m = format!("type id {} is out of range (ids end at {end_id})", limits.ref_max);
        return Err(Error::at(section + limits.ref_max_at * 4, m));
    }
    Ok(starts.into())
}

/// Limits for names and references while the number of types is not yet known.
struct Limits {
    end_str: u32,
    ref_max: u32,
    ref_max_at: usize,
}

impl Limits {
    fn check(&mut self, kind: Kind, ty: &[u32], at: usize) -> Result<(), Error> {
        self.name(ty[0])?;
        if kind.has_type() && kind != Kind::FuncProto {
            self.reference(ty[2], at);
        }
        match kind {
            Kind::Array => ty[3..5].iter().for_each(|&id| self.reference(id, at)),
            Kind::Struct | Kind::Union => {
                for m in ty[3..].chunks_exact(3) {
                    self.name(m[0])?;
                    self.reference(m[1], at);
                }
            }
            Kind::FuncProto => {
                for p in ty[3..].chunks_exact(2) {
                    self.name(p[0])?;
                    self.reference(p[1], at);
                }
            }
            Kind::Enum => ty[3..].chunks_exact(2).try_for_each(|e| self.name(e[0]))?,
            Kind::Enum64 => ty[3..].chunks_exact(3).try_for_each(|e| self.name(e[0]))?,
            Kind::Datasec => ty[3..].chunks_exact(3).for_each(|v| self.reference(v[0], at)),
            _ => {}
        }
        Ok(())
    }

    fn name(&self, offset: u32) -> Result<(), Error> {
        let end = self.end_str;
        if offset < end {
            return Ok(());
        }
        let m = format!("name offset {offset:#x} is out of range (strings end at {end:#x})");
        Err(Error::new(m))
    }

    fn reference(&mut self, id: u32, at: usize) {
        if id > self.ref_max {
            (self.ref_max, self.ref_max_at) = (id, at);
        }
    }
}

/// Invariant 3: no modifier or typedef chain is a cycle or longer than [`CHAIN_MAX`].
fn check_chains(btf: &Btf) -> Result<(), Error> {
    for ty in btf.iter() {
        let mut t = ty;
        let mut steps = 0;
        while t.kind().is_modifier_or_typedef() {
            t = btf.ty(t.target_id());
            steps += 1;
            if steps > CHAIN_MAX {
                let m = format!("{} is a cycle of modifiers", ty.kind().name());
                return Err(Error::new(m).context(format!("BTF type {}", ty.id())));
            }
        }
    }
    Ok(())
}

//! Parsing: what every access to a [`Btf`] relies on is checked here, once.
//!
//! The invariants are those of `btf`.

use crate::btf::{CHAIN_MAX, Header, sniff_endian};
use crate::shift::{Shift, shift};
use crate::{Btf, Error, Kind, Type, TypeId};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};

/// Set in the second word of a type whose cycle was cut: a bit that is not used.
const INFO_CUT: u32 = 1 << 16;
/// The kernel's `BTF_MAX_TYPE`.
const TYPES_MAX: usize = 0x000f_ffff;

impl Btf {
    /// Parses a `.BTF` section or `/sys/kernel/btf/vmlinux`, of either byte order.
    pub fn parse(bytes: &[u8]) -> Result<Btf, Error> {
        parse(None, None, bytes).map_err(|e| e.context("parse BTF"))
    }

    /// Parses the `.BTF` of an object as libbpf does, which looks neither at the version nor for
    /// cycles. A cycle of modifiers is cut where it is met: what [`crate::refused_by_kernel`]
    /// finds.
    ///
    /// # Errors
    ///
    /// It is not well-formed.
    pub fn parse_of_object(bytes: &[u8]) -> Result<Btf, Error> {
        let mut bytes = bytes.to_vec();
        if let Some(version) = bytes.get_mut(2) {
            *version = 1;
        }
        let mut btf = read(None, None, &bytes).map_err(|e| e.context("parse BTF"))?;
        for index in 0..btf.starts.len() - 1 {
            if is_endless(&btf, TypeId(btf.first_id + index as u32)) {
                let at = btf.starts[index] as usize;
                btf.words[at + 1] |= INFO_CUT;
                btf.words[at + 2] = TypeId::VOID.0;
            }
        }
        Ok(btf)
    }

    /// Parses split BTF (a module's): ids and strings continue where `base` ends.
    pub fn parse_split(base: Arc<Btf>, bytes: &[u8]) -> Result<Btf, Error> {
        parse(Some(base), None, bytes).map_err(|e| e.context("parse split BTF"))
    }
}

pub(crate) fn parse(
    base: Option<Arc<Btf>>,
    moved: Option<Shift>,
    bytes: &[u8],
) -> Result<Btf, Error> {
    let btf = read(base, moved, bytes)?;
    let of_chain = |ty: &Type<'_>| ty.kind().is_modifier_or_typedef();
    if let Some(ty) = btf.iter().find(|ty| of_chain(ty) && is_endless(&btf, ty.id())) {
        let m = format!("{} is a cycle of modifiers", ty.kind().name());
        return Err(Error::new(m).context(format!("BTF type {}", ty.id())));
    }
    Ok(btf)
}

/// Parses without invariant 3.
fn read(base: Option<Arc<Btf>>, moved: Option<Shift>, bytes: &[u8]) -> Result<Btf, Error> {
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
    let (scans, starts) = (AtomicU32::new(0), Box::new([0]));
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
        scans,
        metas,
        tags,
    };
    btf.starts = scan(&btf, hdr_len + type_off)?;
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
        // Linux 7.3 has 24 bits for their number, those before it 16. Of a kind without parts,
        // nobody reads it but the kernel (`type_rules`).
        let parts = u16::try_from(info & 0x00ff_ffff);
        let parts = if kind.has_parts() { parts } else { Ok(0) };
        let Ok(parts) = parts else {
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

/// Whether invariant 3 does not hold: a chain of modifiers and typedefs is a cycle or longer than
/// [`CHAIN_MAX`].
fn is_endless(btf: &Btf, id: TypeId) -> bool {
    let next = |ty: &Type<'_>| ty.kind().is_modifier_or_typedef().then(|| btf.ty(ty.target_id()));
    std::iter::successors(Some(btf.ty(id)), next).nth(CHAIN_MAX + 1).is_some()
}

//! `BTF.ext`: which insn is which function, source line, and CO-RE relocation.

use crate::bytes::u32_at;
use crate::{Btf, Endian, Error, TypeId};

/// A parsed `.BTF.ext`; strings live in the object's [`Btf`].
#[derive(Clone, Debug, Default)]
pub struct BtfExt {
    /// Functions, by ELF section.
    pub funcs: Vec<ExtSection<FuncInfo>>,
    /// Source lines, by ELF section.
    pub lines: Vec<ExtSection<LineInfo>>,
    /// CO-RE relocations, by ELF section.
    pub core_relos: Vec<ExtSection<CoreRelo>>,
}

/// The records of one ELF section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtSection<T> {
    /// Offset of the ELF section's name in the BTF strings.
    pub name_off: u32,
    /// In the order of the file.
    pub records: Vec<T>,
}

/// A function begins here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FuncInfo {
    /// Bytes from the start of the ELF section.
    pub insn_off: u32,
    /// A `FUNC`.
    pub type_id: TypeId,
}

/// The insns from here on come from this source line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineInfo {
    /// Bytes from the start of the ELF section.
    pub insn_off: u32,
    /// Name of the source file, in the BTF strings.
    pub file_name_off: u32,
    /// Text of the source line, in the BTF strings.
    pub line_off: u32,
    /// Line number and column: see [`LineInfo::line`] and [`LineInfo::column`].
    pub line_col: u32,
}

impl LineInfo {
    /// Line number, from 1.
    pub fn line(self) -> u32 {
        self.line_col >> 10
    }
    /// Column, from 1.
    pub fn column(self) -> u32 {
        self.line_col & 0x3ff
    }
    /// Name of the source file.
    pub fn file_name(self, btf: &Btf) -> &str {
        btf.str(self.file_name_off)
    }
    /// Text of the source line.
    pub fn line_text(self, btf: &Btf) -> &str {
        btf.str(self.line_off)
    }
}

/// A CO-RE relocation as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreRelo {
    /// Bytes from the start of the ELF section.
    pub insn_off: u32,
    /// The root type, in the object's BTF.
    pub type_id: TypeId,
    /// The access string (`0:1:2`), in the BTF strings.
    pub access_str_off: u32,
    /// Number of a [`crate::core::ReloKind`].
    pub kind: u32,
}

/// A record of `.BTF.ext`: its first words, in the order of the file.
trait Record: Sized {
    const WORDS: usize;
    fn from_words(words: &[u32; 4]) -> Self;
}

impl Record for FuncInfo {
    const WORDS: usize = 2;
    fn from_words(&[insn_off, type_id, ..]: &[u32; 4]) -> Self {
        FuncInfo { insn_off, type_id: TypeId(type_id) }
    }
}

impl Record for LineInfo {
    const WORDS: usize = 4;
    fn from_words(&[insn_off, file_name_off, line_off, line_col]: &[u32; 4]) -> Self {
        LineInfo { insn_off, file_name_off, line_off, line_col }
    }
}

impl Record for CoreRelo {
    const WORDS: usize = 4;
    fn from_words(&[insn_off, type_id, access_str_off, kind]: &[u32; 4]) -> Self {
        CoreRelo { insn_off, type_id: TypeId(type_id), access_str_off, kind }
    }
}

impl BtfExt {
    /// Parses a `.BTF.ext` section of either byte order. Strings and types are not looked up.
    pub fn parse(bytes: &[u8]) -> Result<BtfExt, Error> {
        parse(bytes).map_err(|e| e.context("parse BTF.ext"))
    }
}

/// Bytes of the header up to `line_info_len`; `core_relo` came later and may be absent.
const HEADER_BYTES: usize = 24;
const HEADER_CORE_BYTES: usize = 32;

fn parse(bytes: &[u8]) -> Result<BtfExt, Error> {
    let endian = crate::btf::sniff_endian(bytes)?;
    if bytes.get(2) != Some(&1) {
        return Err(Error::at(2, "version is not 1"));
    }
    if bytes.get(3) != Some(&0) {
        return Err(Error::at(3, "flags are set"));
    }
    let hdr_len = u32_at(bytes, 4, endian).map_or(0, |n| n as usize);
    if hdr_len < HEADER_BYTES || hdr_len > bytes.len() {
        return Err(Error::at(4, format!("header length {hdr_len} is out of range")));
    }
    let mut ext = BtfExt::default();
    let part = |at: usize, what: &str| -> Result<Cursor<'_>, Error> {
        let field = |at| u32_at(bytes, at, endian).map_or(0, |n| n as usize);
        if field(at + 4) == 0 {
            return Ok(Cursor { bytes: &[], at: 0, endian });
        }
        let start = hdr_len.saturating_add(field(at));
        let end = start.saturating_add(field(at + 4));
        match bytes.get(..end) {
            Some(bytes) if start % 4 == 0 => Ok(Cursor { bytes, at: start, endian }),
            Some(_) => Err(Error::at(at, format!("{what} is not aligned to 4 bytes"))),
            None => Err(Error::at(at, format!("{what} ends beyond the data"))),
        }
    };
    ext.funcs = part(8, "func_info")?.sections().map_err(|e| e.context("func_info"))?;
    ext.lines = part(16, "line_info")?.sections().map_err(|e| e.context("line_info"))?;
    if hdr_len >= HEADER_CORE_BYTES {
        ext.core_relos = part(24, "core_relo")?.sections().map_err(|e| e.context("core_relo"))?;
    }
    Ok(ext)
}

/// Reads one of the three parts from `at` to the end of `bytes`.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    endian: Endian,
}

impl Cursor<'_> {
    fn u32(&mut self, what: &str) -> Result<u32, Error> {
        let value = u32_at(self.bytes, self.at, self.endian)
            .ok_or_else(|| Error::at(self.at, format!("{what} is truncated")))?;
        self.at += 4;
        Ok(value)
    }

    fn sections<T: Record>(mut self) -> Result<Vec<ExtSection<T>>, Error> {
        let mut sections = Vec::new();
        if self.at == self.bytes.len() {
            return Ok(sections);
        }
        let at = self.at;
        let record_bytes = self.u32("record size")? as usize;
        if record_bytes < T::WORDS * 4 || !record_bytes.is_multiple_of(4) {
            return Err(Error::at(at, format!("record size {record_bytes} is not valid")));
        }
        if self.at == self.bytes.len() {
            return Err(Error::at(at, "a part without sections"));
        }
        while self.at < self.bytes.len() {
            let name_off = self.u32("section name")?;
            let count = self.u32("record count")? as usize;
            let len = count.saturating_mul(record_bytes);
            if count == 0 {
                return Err(Error::at(self.at - 4, "section has no records"));
            }
            let Some(data) = self.bytes.get(self.at..self.at.saturating_add(len)) else {
                return Err(Error::at(self.at - 4, format!("{count} records are truncated")));
            };
            let records = data.chunks_exact(record_bytes).map(|r| self.record(r)).collect();
            sections.push(ExtSection { name_off, records });
            self.at += len;
        }
        Ok(sections)
    }

    /// A record longer than known here is read as far as it is known.
    fn record<T: Record>(&self, bytes: &[u8]) -> T {
        let mut words = [0; 4];
        for (n, word) in words.iter_mut().enumerate().take(T::WORDS) {
            *word = u32_at(bytes, n * 4, self.endian).unwrap_or(0);
        }
        T::from_words(&words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One func, one line, one relocation for section name 7; lines have a word nobody knows yet.
    fn sample(endian: Endian) -> Vec<u8> {
        let mut out = Vec::new();
        endian.put_u16(&mut out, crate::BTF_MAGIC);
        out.extend([1, 0]);
        let header = [32, 0, 20, 20, 32, 52, 28];
        let funcs = [8, 7, 1, 0, 3];
        let lines = [20, 7, 1, 16, 1, 2, 5 << 10 | 9, 99];
        let relos = [16, 7, 1, 24, 4, 5, 2];
        for word in header.into_iter().chain(funcs).chain(lines).chain(relos) {
            endian.put_u32(&mut out, word);
        }
        out
    }

    #[test]
    fn both_byte_orders_and_long_records() {
        for endian in [Endian::Little, Endian::Big] {
            let ext = BtfExt::parse(&sample(endian)).unwrap();
            let func = FuncInfo { insn_off: 0, type_id: TypeId(3) };
            assert_eq!(ext.funcs, [ExtSection { name_off: 7, records: vec![func] }]);
            let line = ext.lines[0].records[0];
            assert_eq!((line.insn_off, line.line(), line.column()), (16, 5, 9));
            let relo = CoreRelo { insn_off: 24, type_id: TypeId(4), access_str_off: 5, kind: 2 };
            assert_eq!(ext.core_relos[0].records, [relo]);
        }
    }

    #[test]
    fn header_without_core_relos() {
        let mut bytes = sample(Endian::Little);
        bytes[4] = 24;
        bytes.drain(24..32);
        assert!(BtfExt::parse(&bytes).unwrap().core_relos.is_empty());
    }

    #[test]
    fn of_an_empty_part_the_place_does_not_matter() {
        let mut bytes = sample(Endian::Little);
        for at in [8, 16, 24] {
            bytes[at..at + 4].fill(0xff);
            bytes[at + 4] = 0;
        }
        let ext = BtfExt::parse(&bytes).unwrap();
        assert!(ext.funcs.is_empty() && ext.lines.is_empty() && ext.core_relos.is_empty());
    }

    #[test]
    fn errors_name_the_offset() {
        let good = sample(Endian::Little);
        for (at, value, message) in [
            (0, 0, "offset 0x0: no BTF magic number"),
            (3, 1, "offset 0x3: flags are set"),
            (4, 8, "offset 0x4: header length 8 is out of range"),
            (8, 2, "offset 0x8: func_info is not aligned to 4 bytes"),
            (12, 255, "offset 0x8: func_info ends beyond the data"),
            (32, 4, "func_info: offset 0x20: record size 4 is not valid"),
            (40, 9, "func_info: offset 0x28: 9 records are truncated"),
            (40, 0, "func_info: offset 0x28: section has no records"),
        ] {
            let mut bytes = good.clone();
            bytes[at] = value;
            let e = BtfExt::parse(&bytes).unwrap_err();
            assert_eq!(e.to_string(), format!("parse BTF.ext: {message}"));
        }
    }
}

//! ELF: sections, symbols and relocations of a file, borrowed from its bytes.
//!
//! Why it exists: the `object` crate changes its interface with each release; no other file uses
//! it.
//!
//! # Invariants
//! 1. `Section::data` is inside the file; a section without bytes in the file has empty `data` and
//!    its stated size in `size_bytes`, which must not be allocated.
//! 2. `Symbol::section` and `Relocation::symbol` may be out of range: they are looked up with
//!    `get`.
//! 3. Together, the data of sections are no larger than the file times `DATA_BYTES_PER_BYTE`; the
//!    same holds for relocations.
//! 4. Reading takes at most linear time and memory in the size of the file: names are limited to
//!    `NAME_BYTES_MAX` each, and in total.

use crate::error::{Context, Error, Result};
use object::Endianness;
use object::elf;
use object::read::elf::{FileHeader, Rel as _, SectionHeader as _, Sym as _};
use rustc_hash::FxHashMap;
use skep_insn::Endian;
use std::borrow::Cow;

type Header = elf::FileHeader64<Endianness>;

/// Longer names are truncated; relevant names are much shorter.
const NAME_BYTES_MAX: usize = 1024;
/// Names may share bytes (one may be a suffix of another), but all together are no longer than the
/// file times this.
const NAME_BYTES_PER_BYTE: usize = 8;
/// Sections may overlap, but all together are no longer than the file times this.
const DATA_BYTES_PER_BYTE: usize = 8;
const RELOCATION_BYTES: usize = 16;
const SYMBOL_BYTES: u64 = 24;
/// Size of a section header.
const HEADER_BYTES: u16 = 64;
/// Types of sections that are tables, and the size of an entry, of which libelf reads whole ones
/// only.
const TABLES: [(u32, u64); 12] = [
    (elf::SHT_SYMTAB.0, SYMBOL_BYTES),
    (elf::SHT_RELA.0, 24),
    (elf::SHT_HASH.0, 4),
    (elf::SHT_DYNAMIC.0, 16),
    (elf::SHT_REL.0, RELOCATION_BYTES as u64),
    (elf::SHT_DYNSYM.0, SYMBOL_BYTES),
    (elf::SHT_INIT_ARRAY.0, 8),
    (elf::SHT_FINI_ARRAY.0, 8),
    (elf::SHT_PREINIT_ARRAY.0, 8),
    (elf::SHT_GROUP.0, 4),
    (elf::SHT_SYMTAB_SHNDX.0, 4),
    (elf::SHT_GNU_VERSYM.0, 2),
];
/// Sections whose relocations matter although they have no insns, by the relocations' own section.
const RELOCATED: [&str; 5] = [
    ".rel.maps",
    ".rel.struct_ops",
    ".rel.struct_ops.link",
    ".rel?.struct_ops",
    ".rel?.struct_ops.link",
];
pub(crate) const EM_BPF: u16 = 247;
/// `e_machine` of objects from LLVM versions before BPF had a number.
const EM_NONE: u16 = 0;
const SHF_EXECINSTR: u64 = 4;
const SHF_COMPRESSED: u64 = 0x800;
const SHT_LLVM_ADDRSIG: u32 = 0x6fff_4c03;

/// A relocatable BPF object.
pub(crate) struct Elf<'a> {
    /// Byte order of the file.
    pub(crate) endian: Endian,
    /// Sections by index; index 0 is the null section.
    pub(crate) sections: Vec<Section<'a>>,
    /// Symbols by index; index 0 is the null symbol.
    pub(crate) symbols: Vec<Symbol<'a>>,
    /// First section of each name.
    by_name: FxHashMap<Cow<'a, str>, usize>,
}

/// A section.
pub(crate) struct Section<'a> {
    /// Index in the section table.
    pub(crate) index: usize,
    /// Name, empty if it has none.
    pub(crate) name: Cow<'a, str>,
    /// Contents in the file.
    pub(crate) data: &'a [u8],
    /// Stated size, bytes: that of `data`, except in `.bss`.
    pub(crate) size_bytes: u64,
    /// Whether the file has the name; the null section has none.
    pub(crate) named: bool,
    /// `sh_type`.
    pub(crate) number: u32,
    /// Holds insns, if it has any contents.
    pub(crate) executable: bool,
    /// Whether libbpf does not look at it, because of its name or type.
    pub(crate) skipped: bool,
    /// Relocations that apply to it, by offset.
    pub(crate) relocations: Vec<Relocation>,
}

/// The relevant `STT_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SymbolKind {
    NoType,
    Object,
    Func,
    Section,
    Other,
}

/// `STB_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    Local,
    Global,
    Weak,
    Other,
}

/// A symbol.
#[derive(Clone)]
pub(crate) struct Symbol<'a> {
    /// Name, empty for section symbols.
    pub(crate) name: Cow<'a, str>,
    /// Whether the file has the name: it begins and ends in the table of names.
    pub(crate) named: bool,
    pub(crate) kind: SymbolKind,
    pub(crate) binding: Binding,
    /// `STV_HIDDEN` or `STV_INTERNAL`.
    pub(crate) hidden: bool,
    /// Section it is defined in; `None` if undefined, absolute or common.
    pub(crate) section: Option<usize>,
    /// Declared here, defined elsewhere: of no section, and not common.
    pub(crate) undefined: bool,
    /// Offset in its section, bytes.
    pub(crate) value: u64,
    /// Size, bytes; 0 if not known.
    pub(crate) size_bytes: u64,
}

impl Symbol<'_> {
    /// The place in its section that an insn with this `imm` refers to: relative to a section,
    /// `imm` says where.
    pub(crate) fn referred(&self, imm: i32) -> u64 {
        let addend = if self.kind == SymbolKind::Section { i64::from(imm) } else { 0 };
        self.value.wrapping_add_signed(addend)
    }
}

/// A relocation of a section. Its type is not kept: what is done is decided by the insn at its
/// place, as in libbpf.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relocation {
    /// Place in the section, bytes.
    pub(crate) offset: u64,
    /// Index of the symbol.
    pub(crate) symbol: usize,
}

impl<'a> Elf<'a> {
    /// Reads the tables of a file.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Elf<'a>> {
        if bytes.is_empty() {
            return Err(Error::new("the file is empty"));
        }
        if !bytes.starts_with(b"\x7fELF") {
            return Err(Error::new("not an ELF file"));
        }
        let fail = |e: object::read::Error| Error::new(e).context("read ELF header");
        check_ident(bytes).context(|| "read ELF header".into())?;
        let mut header = *Header::parse(bytes).map_err(fail)?;
        let endian = header.endian().map_err(fail)?;
        check_header(&header, endian)?;
        // libelf does not look at it: a section header has the size of its class.
        header.e_shentsize.set(endian, HEADER_BYTES);
        let mut elf = Elf {
            endian: match endian {
                Endianness::Little => Endian::Little,
                Endianness::Big => Endian::Big,
            },
            sections: Vec::new(),
            symbols: Vec::new(),
            by_name: FxHashMap::default(),
        };
        elf.read_sections(&header, endian, bytes)?;
        elf.read_symbols(&header, endian, bytes)?;
        Ok(elf)
    }

    fn read_sections(&mut self, header: &Header, e: Endianness, bytes: &'a [u8]) -> Result<()> {
        let table = header.sections(e, bytes).map_err(|error| {
            let place = format!("section table, offset {:#x}", header.e_shoff(e));
            Error::new(error).context(place).context("read sections")
        })?;
        let mut data_left = bytes.len().saturating_mul(DATA_BYTES_PER_BYTE);
        let names = header
            .shstrndx(e, bytes)
            .map_err(|error| Error::new(error).context("read sections"))?;
        let names = table.section(object::SectionIndex(names as usize));
        let names = names.map_or(&[][..], |section| strings(section, e, bytes));
        let last_end = memchr::memrchr(0, names);
        for (index, section) in table.iter().enumerate() {
            let name = name_at(names, section.sh_name(e));
            let number = section.sh_type(e).0;
            let skipped = is_skipped(&name, number);
            let data = section.data(e, bytes);
            // Nothing looks into the null section either.
            let data = if skipped || index == 0 { Ok(data.unwrap_or_default()) } else { data };
            let data = data.map_err(|_| {
                let (offset, size) = (section.sh_offset(e), section.sh_size(e));
                Error::new(format!(
                    "{size:#x} bytes extend past the end of the file ({:#x} bytes)",
                    bytes.len()
                ))
                .context(format!("read section {name} ({index}), offset {offset:#x}"))
            })?;
            data_left = data_left.checked_sub(data.len()).ok_or_else(|| {
                let cause =
                    format!("with section {name} ({index}), more overlap than is supported");
                Error::new(cause).context("read sections")
            })?;
            let size_bytes = section.sh_size(e);
            let entry = TABLES.iter().find(|row| row.0 == number).map_or(1, |row| row.1);
            if !skipped && !size_bytes.is_multiple_of(entry) {
                let cause = format!("its size {size_bytes:#x} is no multiple of {entry}");
                let offset = section.sh_offset(e);
                return Err(Error::new(cause))
                    .context(|| format!("read section {name} ({index}), offset {offset:#x}"));
            }
            self.by_name.entry(name.clone()).or_insert(index);
            self.sections.push(Section {
                index,
                named: index == 0 || last_end.is_some_and(|end| section.sh_name(e) as usize <= end),
                name,
                data,
                size_bytes,
                number,
                executable: section.sh_flags(e).0 & SHF_EXECINSTR != 0,
                skipped,
                relocations: Vec::new(),
            });
        }
        self.read_relocations(table.iter(), e, bytes)
    }

    /// Relocations of all sections, once the sections are known. Like other loaders, libbpf reads
    /// no `SHT_RELA`.
    fn read_relocations(
        &mut self,
        headers: impl Iterator<Item = &'a elf::SectionHeader64<Endianness>>,
        e: Endianness,
        bytes: &'a [u8],
    ) -> Result<()> {
        let mut relocations_left = bytes.len() / RELOCATION_BYTES * DATA_BYTES_PER_BYTE;
        for (index, section) in headers.enumerate() {
            let Some(of) = self.sections.get(index).filter(|it| is_relocations(it)) else {
                continue;
            };
            let target = section.sh_info(e) as usize;
            let entry = section.sh_entsize(e);
            let place = || format!("read section {}, offset {:#x}", of.name, section.sh_offset(e));
            if target >= self.sections.len() {
                let cause = format!("the section {target} that it relocates does not exist");
                return Err(Error::new(cause).context(place()));
            }
            if entry != RELOCATION_BYTES as u64 {
                let cause = format!("its entries have {entry} bytes, expected {RELOCATION_BYTES}");
                return Err(Error::new(cause).context(place()));
            }
            if !self.sections[target].executable && !RELOCATED.contains(&&*of.name) {
                continue;
            }
            let rels = section.rel(e, bytes);
            let rels = rels.map_err(|e| Error::new(e).context(place()))?;
            let rels = rels.map_or(&[][..], |(rels, _)| rels);
            relocations_left = relocations_left.checked_sub(rels.len()).ok_or_else(|| {
                Error::new("relocation sections overlap").context("read sections")
            })?;
            self.sections[target].relocations.extend(
                rels.iter()
                    .map(|r| Relocation { offset: r.r_offset(e), symbol: r.r_sym(e) as usize }),
            );
        }
        for section in &mut self.sections {
            section.relocations.sort_by_key(|r| r.offset);
        }
        Ok(())
    }

    fn read_symbols(&mut self, header: &Header, e: Endianness, bytes: &'a [u8]) -> Result<()> {
        let fail = |e: object::read::Error| Error::new(e).context("read symbols");
        let sections = header.sections(e, bytes).map_err(fail)?;
        check_symbol_tables(sections.iter(), e).context(|| "read symbols".into())?;
        let table = sections.symbols(e, bytes, elf::SHT_SYMTAB).map_err(fail)?;
        let names = sections.section(table.string_section());
        let names = names.map_or(&[][..], |section| strings(section, e, bytes));
        let last_end = memchr::memrchr(0, names);
        let mut name_bytes_left = bytes.len().saturating_mul(NAME_BYTES_PER_BYTE);
        for symbol in table.iter() {
            let index = symbol.st_shndx(e).0;
            let name = name_at(names, symbol.st_name(e));
            name_bytes_left = name_bytes_left.checked_sub(name.len()).ok_or_else(|| {
                Error::new("the names are longer than the file").context("read symbols")
            })?;
            let section = (index != 0 && usize::from(index) < self.sections.len())
                .then_some(usize::from(index));
            self.symbols.push(Symbol {
                name,
                named: last_end.is_some_and(|end| symbol.st_name(e) as usize <= end),
                kind: match symbol.st_type().0 {
                    0 => SymbolKind::NoType,
                    1 => SymbolKind::Object,
                    2 => SymbolKind::Func,
                    3 => SymbolKind::Section,
                    _ => SymbolKind::Other,
                },
                binding: match symbol.st_bind().0 {
                    0 => Binding::Local,
                    1 => Binding::Global,
                    2 => Binding::Weak,
                    _ => Binding::Other,
                },
                hidden: matches!(symbol.st_other().0 & 3, 1 | 2),
                section,
                undefined: index == 0,
                value: symbol.st_value(e),
                size_bytes: symbol.st_size(e),
            });
        }
        Ok(())
    }

    /// The symbols that libbpf takes for those of global variables, whatever their section, by
    /// name; the first of each.
    pub(crate) fn global_variables(&self) -> FxHashMap<&str, &Symbol<'a>> {
        let mut found = FxHashMap::default();
        for symbol in &self.symbols {
            let is_global = matches!(symbol.binding, Binding::Global | Binding::Weak);
            if symbol.kind == SymbolKind::Object && symbol.named && is_global {
                found.entry(&*symbol.name).or_insert(symbol);
            }
        }
        found
    }

    /// The first section of this name.
    pub(crate) fn section(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.get(*self.by_name.get(name)?)
    }

    /// The last section of this name: of those that libbpf reads by name while it goes through the
    /// section table, each replaces the one before.
    pub(crate) fn last_section(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().rfind(|it| !it.skipped && it.name == name)
    }

    /// Offsets of all named symbols, by section and name.
    pub(crate) fn named_offsets(&self) -> FxHashMap<(usize, &str), u64> {
        let named = self.symbols.iter().filter(|s| !s.name.is_empty());
        named.filter_map(|s| Some(((s.section?, &*s.name), s.value))).collect()
    }
}

/// The bytes that determine how to read the rest.
fn check_ident(bytes: &[u8]) -> Result<()> {
    if bytes.len() < size_of::<Header>() {
        let len = bytes.len();
        return Err(Error::new(format!("the file ends in the header, after {len} bytes")));
    }
    for (offset, what, allowed) in
        [(4, "class", &[2][..]), (5, "byte order", &[1, 2]), (6, "version", &[1])]
    {
        let value = bytes[offset];
        if !allowed.contains(&value) {
            let cause = format!("offset {offset:#x}: ELF {what} {value} is not supported");
            return Err(Error::new(cause));
        }
    }
    Ok(())
}

fn check_header(header: &Header, e: Endianness) -> Result<()> {
    let machine = header.e_machine(e).0;
    if machine.swap_bytes() == EM_BPF {
        return Err(Error::new(
            "read ELF header: offset 0x5: the byte order does not match the file",
        ));
    }
    if machine != EM_BPF && machine != EM_NONE {
        return Err(Error::new(format!(
            "not a BPF object: ELF machine {machine}, expected {EM_BPF}"
        )));
    }
    let kind = header.e_type(e).0;
    if kind != 1 {
        return Err(Error::new(format!("not a relocatable object: ELF type {kind}, expected 1")));
    }
    Ok(())
}

/// The symbols are in one table.
fn check_symbol_tables<'h>(
    headers: impl Iterator<Item = &'h elf::SectionHeader64<Endianness>>,
    e: Endianness,
) -> Result<()> {
    let mut tables = headers.filter(|it| it.sh_type(e) == elf::SHT_SYMTAB);
    let Some(table) = tables.next() else { return Ok(()) };
    let entry = table.sh_entsize(e);
    if entry != SYMBOL_BYTES {
        return Err(Error::new(format!("an entry has {entry} bytes, expected {SYMBOL_BYTES}")));
    }
    match tables.next() {
        Some(_) => Err(Error::new("the file has several symbol tables")),
        None => Ok(()),
    }
}

/// Whether libbpf does not read sections of this name and type, whatever is in them.
fn is_skipped(name: &str, number: u32) -> bool {
    let of = name.strip_prefix(".rel").unwrap_or(name);
    of.starts_with(".debug_")
        || [".rel.BTF", ".rel.BTF.ext"].contains(&name)
        || [elf::SHT_STRTAB.0, SHT_LLVM_ADDRSIG].contains(&number)
}

/// Whether a section is read as relocations: those with a meaning of their own are not.
fn is_relocations(section: &Section<'_>) -> bool {
    let named = ["license", "version", "maps", ".maps", ".BTF", ".BTF.ext"];
    section.number == elf::SHT_REL.0 && !section.skipped && !named.contains(&&*section.name)
}

/// The bytes of a string section: those of any other, or compressed ones, are no strings.
fn strings<'a>(
    section: &elf::SectionHeader64<Endianness>,
    e: Endianness,
    bytes: &'a [u8],
) -> &'a [u8] {
    let holds =
        section.sh_type(e) == elf::SHT_STRTAB && section.sh_flags(e).0 & SHF_COMPRESSED == 0;
    let data = if holds { section.data(e, bytes).ok() } else { None };
    data.unwrap_or_default()
}

/// The string at an offset of a string section; empty if there is none.
fn name_at(strings: &[u8], offset: u32) -> Cow<'_, str> {
    let rest = strings.get(offset as usize..).unwrap_or(&[]);
    let rest = rest.get(..NAME_BYTES_MAX).unwrap_or(rest);
    let end = memchr::memchr(0, rest).unwrap_or(rest.len());
    String::from_utf8_lossy(&rest[..end])
}

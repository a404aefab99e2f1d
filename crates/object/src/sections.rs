//! The role of each section, by its name and flags.

use crate::elf::{Elf, Section};
use crate::error::{Error, Result};

/// The role of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SectionKind {
    /// Insns.
    Code,
    /// `maps`, `maps/NAME`: definitions as C structs.
    LegacyMaps,
    /// `.maps`: definitions in BTF.
    BtfMaps,
    /// `.data`, `.data.*`.
    Data,
    /// `.rodata`, `.rodata.*`.
    Rodata,
    /// `.bss`, `.bss.*`.
    Bss,
    /// `.addr_space.1`: variables in the arena.
    Arena,
    /// `.percpu`, `.percpu.*`: variables of each CPU; known to libbpf 1.8, not to 1.7.
    PerCpu,
    /// `.jumptables`: where `gotox` goes; known to libbpf 1.7, not to 1.5.
    JumpTables,
    /// `.struct_ops`, `.struct_ops.link`, with or without `?`.
    StructOps,
    /// Anything else.
    Other,
}

/// Name of the section whose functions are subprogs.
pub(crate) const TEXT: &str = ".text";
/// Name of the section whose maps BTF defines.
pub(crate) const MAPS: &str = ".maps";
/// Name of the section that has the license.
pub(crate) const LICENSE: &str = "license";
/// Name of the section that has the kernel's version, of old objects.
pub(crate) const VERSION: &str = "version";
/// Name of the section that has BTF.
pub(crate) const BTF: &str = ".BTF";
/// Name of the section that says what insns have to do with BTF.
pub(crate) const BTF_EXT: &str = ".BTF.ext";
/// Size of the version.
pub(crate) const VERSION_BYTES: usize = 4;
const LICENSE_BYTES_MAX: usize = 63;
/// Longest data section: the size of a map's value has 32 bits, and values end at a multiple of 8.
const DATA_BYTES_MAX: u64 = 0xffff_fff8;

/// `SHT_PROGBITS`.
pub(crate) const PROGBITS: u32 = 1;
/// `SHT_SYMTAB`.
pub(crate) const SYMTAB: u32 = 2;
/// `SHT_NOBITS`.
pub(crate) const NOBITS: u32 = 8;

/// The kind of a section: by its name, or by its type and then its name.
pub(crate) fn kind_of(section: &Section<'_>) -> SectionKind {
    let is = |stem: &str| {
        section.name.strip_prefix(stem).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let of_contents = section.number == PROGBITS && section.size_bytes > 0;
    match &*section.name {
        _ if section.skipped => SectionKind::Other,
        LICENSE | VERSION | BTF | BTF_EXT => SectionKind::Other,
        "maps" => SectionKind::LegacyMaps,
        name if name.starts_with("maps/") && !section.executable => SectionKind::LegacyMaps,
        MAPS => SectionKind::BtfMaps,
        _ if of_contents && section.executable => SectionKind::Code,
        ".addr_space.1" if of_contents => SectionKind::Arena,
        ".struct_ops" | ".struct_ops.link" | "?.struct_ops" | "?.struct_ops.link"
            if of_contents =>
        {
            SectionKind::StructOps
        }
        ".jumptables" if of_contents => SectionKind::JumpTables,
        _ if of_contents && is(".percpu") => SectionKind::PerCpu,
        _ if of_contents && is(".data") => SectionKind::Data,
        _ if of_contents && is(".rodata") => SectionKind::Rodata,
        _ if section.number == NOBITS && is(".bss") => SectionKind::Bss,
        _ => SectionKind::Other,
    }
}

/// Kinds of all sections, by index. An error if no map can have a data section as its
/// value; what the kernel refuses is found later.
pub(crate) fn classify(elf: &Elf<'_>) -> Result<Vec<SectionKind>> {
    let mut kinds: Vec<SectionKind> = elf.sections.iter().map(kind_of).collect();
    // Of several, libbpf takes the last; the others are of no map.
    let arenas = kinds.iter_mut().rev().filter(|kind| **kind == SectionKind::Arena);
    arenas.skip(1).for_each(|kind| *kind = SectionKind::Other);
    for (section, kind) in elf.sections.iter().zip(&kinds) {
        let data = matches!(
            kind,
            SectionKind::Data | SectionKind::Rodata | SectionKind::Bss | SectionKind::Arena
        );
        if data && section.size_bytes > DATA_BYTES_MAX {
            let size = section.size_bytes;
            return Err(Error::at(&section.name, 0, format!("too large for a map ({size} bytes)")));
        }
    }
    Ok(kinds)
}

/// Text of the `license` section.
pub(crate) fn license(elf: &Elf<'_>) -> String {
    let data = elf.last_section(LICENSE).map_or(&[][..], |s| s.data);
    let data = data.get(..LICENSE_BYTES_MAX).unwrap_or(data);
    let end = data.iter().position(|&b| b == 0).unwrap_or(data.len());
    String::from_utf8_lossy(&data[..end]).into_owned()
}

/// Number in the `version` section, if there is one.
pub(crate) fn version(elf: &Elf<'_>) -> Option<u32> {
    let data = elf.last_section(VERSION)?.data;
    u32_at(elf, data, 0)
}

/// A 32-bit number of a section, in the byte order of the file.
pub(crate) fn u32_at(elf: &Elf<'_>, data: &[u8], offset: usize) -> Option<u32> {
    let bytes = data.get(offset..)?.first_chunk::<4>()?;
    Some(match elf.endian {
        skep_insn::Endian::Little => u32::from_le_bytes(*bytes),
        skep_insn::Endian::Big => u32::from_be_bytes(*bytes),
    })
}

//! `Image`: everything in an object that relocation reads, gathered once.

use crate::elf::{Elf, Relocation, Section};
use crate::error::{Error, Result};
use crate::ext_info::SectionInfo;
use crate::externs::Externs;
use crate::functions::Functions;
use crate::loader::LoadClass;
use crate::maps::Maps;
use crate::options::OpenOptions;
use crate::sections::{SectionKind, TEXT};
use crate::struct_ops::StructOpsLinks;
use skep_btf::{Btf, LineInfo};
use skep_insn::INSN_BYTES;
use skep_program::SourcePlace;
use std::sync::Arc;

/// An object file, read but not yet relocated.
pub(crate) struct Image<'a> {
    pub(crate) elf: Elf<'a>,
    /// The role of each section, by index.
    pub(crate) kinds: Vec<SectionKind>,
    /// BTF as the file has it.
    pub(crate) btf: Option<Btf>,
    /// BTF as passed to the kernel, with the same type ids.
    pub(crate) fixed_btf: Option<Arc<Btf>>,
    /// `.BTF.ext`, by section index; empty without BTF.
    pub(crate) info: Vec<SectionInfo>,
    pub(crate) functions: Functions,
    pub(crate) maps: Maps,
    pub(crate) externs: Externs,
    /// Programs that struct_ops maps refer to.
    pub(crate) struct_ops: StructOpsLinks,
    /// Why the struct_ops maps cannot be created.
    pub(crate) struct_ops_refused: Option<Error>,
    /// Why the kernel does not load the BTF; then there is no `fixed_btf`.
    pub(crate) btf_refused: Option<Error>,
    /// The BTF that it does not load.
    pub(crate) btf_unloaded: Option<Arc<Btf>>,
    /// Why `.BTF.ext` cannot be read.
    pub(crate) ext_refused: Option<skep_btf::Error>,
    /// Why libbpf applies no CO-RE relocation.
    pub(crate) core_refused: Option<Error>,
    pub(crate) options: &'a OpenOptions,
}

impl<'a> Image<'a> {
    /// A section known to exist; the null section otherwise.
    pub(crate) fn section(&self, index: usize) -> &Section<'a> {
        &self.elf.sections[if index < self.elf.sections.len() { index } else { 0 }]
    }

    /// The sections of a kind.
    pub(crate) fn sections_of(
        &self,
        wanted: SectionKind,
    ) -> impl DoubleEndedIterator<Item = &Section<'a>> {
        let all = self.elf.sections.iter().zip(&self.kinds);
        all.filter(move |(_, kind)| **kind == wanted).map(|(section, _)| section)
    }

    /// The relocations of a section with insns that libbpf applies: those in functions.
    pub(crate) fn applied<'i>(
        &'i self,
        section: &'i Section<'a>,
    ) -> impl Iterator<Item = &'i Relocation> {
        let known = |at: &&Relocation| self.owner(section.index, at.offset).is_some();
        section.relocations.iter().filter(known)
    }

    /// The function to which libbpf gives the relocations of an insn. If functions overlap, the
    /// others have the insn as it is in the file.
    pub(crate) fn owner(&self, section: usize, offset: u64) -> Option<usize> {
        let slot = usize::try_from(offset).ok()? / INSN_BYTES;
        self.functions.find(section, slot).filter(|&it| self.functions.list[it].typed)
    }

    /// Whether the relocations of an insn are applied in a function that has it; other loaders than
    /// libbpf apply them in all.
    pub(crate) fn gives(&self, section: usize, offset: u64, function: usize) -> bool {
        !self.options.as_libbpf() || self.owner(section, offset) == Some(function)
    }

    /// The section whose functions are subprogs; of several, libbpf takes the last.
    pub(crate) fn text(&self) -> Option<usize> {
        self.sections_of(SectionKind::Code).rfind(|it| it.name == TEXT).map(|it| it.index)
    }

    /// The source line of the insn at a byte of a section.
    pub(crate) fn place(&self, section: usize, offset: u64) -> Option<SourcePlace> {
        let lines = &self.info.get(section)?.lines.sorted;
        let behind = lines.partition_point(|row| u64::from(row.insn_off) <= offset);
        self.place_of(lines.get(behind.checked_sub(1)?)?)
    }

    /// The line of a function that has its name; if no insn belongs to that, the first one.
    pub(crate) fn header(&self, function: usize) -> Option<SourcePlace> {
        let name = &self.functions.list.get(function)?.name;
        self.named_in(function, name).or_else(|| self.places(function).next())
    }

    /// The first line with a name in the function that has the insn at a byte of a section.
    pub(crate) fn named_beside(
        &self,
        section: usize,
        offset: u64,
        name: &str,
    ) -> Option<SourcePlace> {
        let slot = usize::try_from(offset).ok()? / INSN_BYTES;
        self.named_in(self.functions.find(section, slot)?, name)
    }

    fn named_in(&self, function: usize, name: &str) -> Option<SourcePlace> {
        self.places(function).find(|place| place.has_word(name))
    }

    /// The lines of a function, in the order of its insns.
    fn places(&self, function: usize) -> impl Iterator<Item = SourcePlace> {
        let function = self.functions.list.get(function);
        let lines =
            function.and_then(|it| Some((&it.range, &self.info.get(it.section)?.lines.sorted)));
        lines.into_iter().flat_map(|(range, lines)| {
            let bytes = (range.start * INSN_BYTES) as u64..(range.end * INSN_BYTES) as u64;
            let rows = lines.iter().filter(move |row| bytes.contains(&u64::from(row.insn_off)));
            rows.filter_map(|row| self.place_of(row))
        })
    }

    fn place_of(&self, row: &LineInfo) -> Option<SourcePlace> {
        SourcePlace::of_row(self.btf.as_ref()?, row.file_name_off, row.line_off, row.line_col)
    }

    /// Index of the function that has the insn at a slot of a section, which is what is called
    /// there: libbpf calls its start.
    pub(crate) fn function_at(&self, section: usize, slot: usize) -> Result<usize> {
        self.functions.find(section, slot).ok_or_else(|| {
            let name = &self.section(section).name;
            let offset = slot.saturating_mul(INSN_BYTES);
            let text = format!("no function is at section {name}, offset {offset:#x}");
            Error::load(LoadClass::Open, text)
        })
    }
}

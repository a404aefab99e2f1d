//! `.BTF.ext` by section: func info, line info and CO-RE relocations, cut to one function.

use rustc_hash::FxHashMap;
use skep_btf::{Btf, BtfExt, CoreRelo, ExtSection};
use skep_insn::INSN_BYTES;
use std::ops::Range;

/// Records of one section, ordered by insn.
#[derive(Default)]
pub(crate) struct SectionInfo {
    pub(crate) funcs: Vec<skep_btf::FuncInfo>,
    pub(crate) lines: Vec<skep_btf::LineInfo>,
    pub(crate) core_relos: Vec<CoreRelo>,
}

/// Records of all sections, by section index.
pub(crate) fn by_section(ext: &BtfExt, btf: &Btf, names: &[&str]) -> Vec<SectionInfo> {
    let mut all: Vec<SectionInfo> = names.iter().map(|_| SectionInfo::default()).collect();
    let mut by_name: FxHashMap<&str, usize> = FxHashMap::default();
    for (index, name) in names.iter().enumerate() {
        by_name.entry(name).or_insert(index);
    }
    let index = |name_off: u32| by_name.get(btf.str(name_off)).copied();
    fn fill<T: Copy>(
        sections: &[ExtSection<T>],
        index: impl Fn(u32) -> Option<usize>,
        mut push: impl FnMut(usize, &[T]),
    ) {
        for section in sections {
            if let Some(at) = index(section.name_off) {
                push(at, &section.records);
            }
        }
    }
    fill(&ext.funcs, index, |at, records| all[at].funcs.extend_from_slice(records));
    fill(&ext.lines, index, |at, records| all[at].lines.extend_from_slice(records));
    fill(&ext.core_relos, index, |at, records| all[at].core_relos.extend_from_slice(records));
    for info in &mut all {
        info.funcs.sort_by_key(|r| r.insn_off);
        info.lines.sort_by_key(|r| r.insn_off);
        info.core_relos.sort_by_key(|r| r.insn_off);
    }
    all
}

/// The records of a range of slots, from records ordered by `offset` (bytes).
pub(crate) fn within<'r, T>(
    records: &'r [T],
    slots: &Range<usize>,
    offset: impl Fn(&T) -> u32,
) -> &'r [T] {
    let bytes = |slot: usize| slot * INSN_BYTES;
    let start = records.partition_point(|r| (offset(r) as usize) < bytes(slots.start));
    let end = records.partition_point(|r| (offset(r) as usize) < bytes(slots.end));
    records.get(start..end).unwrap_or(&[])
}

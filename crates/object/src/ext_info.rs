//! `.BTF.ext` by section: func info, line info and CO-RE relocations, cut to one function.

use crate::error::Error;
use crate::loader::LoadClass;
use rustc_hash::FxHashMap;
use skep_btf::{Btf, BtfExt, CoreRelo, ExtSection, FuncInfo, LineInfo};
use skep_insn::INSN_BYTES;
use std::ops::Range;

/// Records of one section.
#[derive(Default)]
pub(crate) struct SectionInfo {
    pub(crate) funcs: Records<FuncInfo>,
    pub(crate) lines: Records<LineInfo>,
    /// Ordered by insn.
    pub(crate) core_relos: Vec<CoreRelo>,
}

/// Records ordered by insn; and in the order of the file, which libbpf keeps.
pub(crate) struct Records<T> {
    pub(crate) sorted: Vec<T>,
    /// In the order of the file, if that is another.
    listed: Vec<T>,
    /// The place in `listed` of each of `sorted`.
    places: Vec<u32>,
    /// For each of `listed`, the last insn up to there.
    last: Vec<u32>,
}

impl<T> Default for Records<T> {
    fn default() -> Self {
        Records { sorted: Vec::new(), listed: Vec::new(), places: Vec::new(), last: Vec::new() }
    }
}

impl<T: Copy> Records<T> {
    fn new(records: Vec<T>, offset: fn(&T) -> u32) -> Records<T> {
        if records.is_sorted_by_key(offset) {
            return Records { sorted: records, ..Records::default() };
        }
        let mut places: Vec<u32> = (0..records.len() as u32).collect();
        places.sort_by_key(|&at| offset(&records[at as usize]));
        let sorted = places.iter().map(|&at| records[at as usize]).collect();
        let mut most = 0;
        let last = records.iter().map(|record| {
            most = offset(record).max(most);
            most
        });
        let last = last.collect();
        Records { sorted, listed: records, places, last }
    }

    /// The records that libbpf finds for a range of slots, in the order of the file: from the first
    /// in the range to the last, with those between them, before the first that is beyond it.
    pub(crate) fn of(&self, slots: &Range<usize>, offset: fn(&T) -> u32) -> &[T] {
        let (start, end) = range(&self.sorted, slots, offset);
        if self.listed.is_empty() {
            return self.sorted.get(start..end).unwrap_or(&[]);
        }
        let stop = self.last.partition_point(|&at| (at as usize) < slots.end * INSN_BYTES);
        let found = self.places.get(start..end).unwrap_or(&[]);
        let found = || found.iter().map(|&at| at as usize).filter(|&at| at < stop);
        let ends = found().min().zip(found().max());
        ends.and_then(|(first, last)| self.listed.get(first..=last)).unwrap_or(&[])
    }
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
    let (mut funcs, mut lines) = (vec![Vec::new(); names.len()], vec![Vec::new(); names.len()]);
    // Of several of one name, libbpf takes the first, but relocates for all.
    fn first<T: Copy>(all: &mut Vec<T>, records: &[T]) {
        if all.is_empty() {
            all.extend_from_slice(records);
        }
    }
    fill(&ext.funcs, index, |at, records| first(&mut funcs[at], records));
    fill(&ext.lines, index, |at, records| first(&mut lines[at], records));
    fill(&ext.core_relos, index, |at, records| all[at].core_relos.extend_from_slice(records));
    for (info, (funcs, lines)) in all.iter_mut().zip(funcs.into_iter().zip(lines)) {
        info.funcs = Records::new(funcs, |r| r.insn_off);
        info.lines = Records::new(lines, |r| r.insn_off);
        info.core_relos.sort_by_key(|r| r.insn_off);
    }
    all
}

/// What libbpf refuses of CO-RE relocations, whatever functions they are in: a section without a
/// name, and offsets at which no insn can begin.
pub(crate) fn refused_core(ext: &BtfExt, btf: &Btf) -> Option<Error> {
    ext.core_relos.iter().find_map(|section| {
        let name = btf.str(section.name_off);
        let unnamed = name.is_empty().then(|| {
            let text = "section .BTF.ext: CO-RE relocations of a section without a name";
            Error::load(LoadClass::Core, text)
        });
        let within = |at: &u32| !at.is_multiple_of(INSN_BYTES as u32);
        unnamed.or_else(|| {
            let at = section.records.iter().map(|relo| relo.insn_off).find(within)?;
            let text = "a CO-RE relocation is of no insn";
            Some(Error::at(name, at.into(), text).of_class(LoadClass::Core))
        })
    })
}

/// The records of a range of slots, from records ordered by `offset` (bytes).
pub(crate) fn within<'r, T>(
    records: &'r [T],
    slots: &Range<usize>,
    offset: impl Fn(&T) -> u32,
) -> &'r [T] {
    let (start, end) = range(records, slots, offset);
    records.get(start..end).unwrap_or(&[])
}

fn range<T>(records: &[T], slots: &Range<usize>, offset: impl Fn(&T) -> u32) -> (usize, usize) {
    let bytes = |slot: usize| slot * INSN_BYTES;
    let start = records.partition_point(|r| (offset(r) as usize) < bytes(slots.start));
    let end = records.partition_point(|r| (offset(r) as usize) < bytes(slots.end));
    (start, end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_btf::BtfBuilder;

    /// As libbpf 1.8 counts them: relocations are done for each.
    #[test]
    fn of_sections_of_one_name_the_first_has_the_info() {
        let mut builder = BtfBuilder::new();
        let name_off = builder.string("tc");
        builder.ptr(skep_btf::TypeId::VOID);
        let btf = builder.build().expect("well-formed");
        let func = |insn_off| FuncInfo { insn_off, type_id: skep_btf::TypeId(1) };
        let relo = |insn_off| CoreRelo {
            insn_off,
            type_id: skep_btf::TypeId(1),
            access_str_off: 0,
            kind: 0,
        };
        let mut ext = BtfExt::default();
        for at in [8, 0] {
            ext.funcs.push(ExtSection { name_off, records: vec![func(at)] });
            ext.core_relos.push(ExtSection { name_off, records: vec![relo(at)] });
        }
        let info = &by_section(&ext, &btf, &["", "tc"])[1];
        assert_eq!(info.funcs.sorted, [func(8)]);
        assert_eq!(info.core_relos, [relo(0), relo(8)]);
    }

    /// As libbpf 1.5 counts the records of changed objects.
    #[test]
    fn what_is_out_of_order_belongs_to_the_function_around_it() {
        let of = |records: &[u32], slots| {
            Records::new(records.to_vec(), |at| *at).of(&slots, |at| *at).to_vec()
        };
        assert_eq!(of(&[168, 176, 224, 12, 240, 248], 21..31), [168, 176, 224, 12, 240]);
        assert_eq!(of(&[0, 48, 80, 3, 152], 10..15), [80]);
        assert_eq!(of(&[0, 300, 168, 176], 21..31), []);
        assert_eq!(of(&[0, 8, 16, 24], 1..3), [8, 16]);
    }
}

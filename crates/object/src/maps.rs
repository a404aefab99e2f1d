//! The maps of an object, in libbpf's order, and where each comes from.
//!
//! Order: definitions (`maps`, then `.maps`), data sections, `.kconfig`, struct_ops.

use crate::btf_maps;
use crate::data_maps;
use crate::elf::Elf;
use crate::error::{Context, Error, Result};
use crate::object::OpenOptions;
use crate::sections::{SectionKind, u32_at};
use rustc_hash::FxHashMap;
use skep_btf::Btf;
use skep_program::{MapDef, MapIdx};
use skep_uapi::{MapFlags, MapType};

/// What the maps are made from.
pub(crate) struct MapSource<'a, 'o> {
    pub(crate) elf: &'o Elf<'a>,
    pub(crate) kinds: &'o [SectionKind],
    /// Offsets of named symbols, by section.
    pub(crate) offsets: &'o FxHashMap<(usize, &'o str), u64>,
    pub(crate) btf: Option<&'o Btf>,
    pub(crate) options: &'o OpenOptions,
    /// Name of the object, cut as libbpf cuts it.
    pub(crate) name: &'o str,
}

/// Where a map comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// A variable: section and offset in bytes.
    Variable(usize, u64),
    /// A whole data section.
    Section(usize),
    /// The externs of `.kconfig`.
    Kconfig,
}

/// Maps and where they come from, by the same index.
#[derive(Default)]
pub(crate) struct Maps {
    pub(crate) defs: Vec<MapDef>,
    pub(crate) origins: Vec<Origin>,
    by_origin: FxHashMap<Origin, MapIdx>,
}

impl Maps {
    /// All maps but those of `.kconfig` and struct_ops.
    pub(crate) fn read(source: &MapSource<'_, '_>) -> Result<Maps> {
        let mut maps = Maps::default();
        for (section, kind) in source.elf.sections.iter().zip(source.kinds) {
            if *kind == SectionKind::LegacyMaps {
                maps.read_legacy(source, section.index).context(|| "load maps".into())?;
            }
        }
        btf_maps::read(source, &mut maps).context(|| "load maps".into())?;
        data_maps::read(source, &mut maps)?;
        Ok(maps)
    }

    pub(crate) fn push(&mut self, def: MapDef, origin: Origin) -> MapIdx {
        let idx = MapIdx(self.defs.len() as u32);
        self.defs.push(def);
        self.origins.push(origin);
        self.by_origin.entry(origin).or_insert(idx);
        idx
    }

    /// The map that a variable at an offset of a section defines.
    pub(crate) fn of_variable(&self, section: usize, offset: u64) -> Option<MapIdx> {
        self.position(Origin::Variable(section, offset))
    }

    /// The map that holds the data of a section.
    pub(crate) fn of_section(&self, section: usize) -> Option<MapIdx> {
        self.position(Origin::Section(section))
    }

    /// The map of `.kconfig`.
    pub(crate) fn of_kconfig(&self) -> Option<MapIdx> {
        self.position(Origin::Kconfig)
    }

    fn position(&self, origin: Origin) -> Option<MapIdx> {
        self.by_origin.get(&origin).copied()
    }

    /// `SEC("maps")`: one `struct bpf_map_def` a symbol. What follows its five words (other loaders
    /// have longer structs) is not read.
    fn read_legacy(&mut self, source: &MapSource<'_, '_>, section: usize) -> Result<()> {
        let elf = source.elf;
        let Some(from) = elf.sections.get(section) else { return Ok(()) };
        let mut symbols: Vec<_> = elf
            .symbols
            .iter()
            .filter(|s| s.section == Some(section) && !s.name.is_empty())
            .collect();
        symbols.sort_by_key(|s| s.value);
        for symbol in symbols {
            let at = usize::try_from(symbol.value).unwrap_or(usize::MAX);
            let data = from.data.get(at..).unwrap_or(&[]);
            let word = |n: usize| {
                u32_at(elf, data, n * 4).ok_or_else(|| {
                    let cause = format!("definition of map {} is cut short", symbol.name);
                    Error::at(&from.name, symbol.value, cause)
                })
            };
            let number = word(0)?;
            let map_type = MapType::from_number(number).ok_or_else(|| {
                let cause = format!("map {}: type {number} is not known", symbol.name);
                Error::at(&from.name, symbol.value, cause)
            })?;
            let mut def = MapDef {
                name: symbol.name.clone().into_owned(),
                map_type,
                key_size: word(1)?,
                value_size: word(2)?,
                max_entries: word(3)?,
                map_flags: MapFlags::from_bits_retain(word(4).unwrap_or(0)),
                autocreate: true,
                ..MapDef::default()
            };
            btf_maps::fill_empty(&mut def, source.options);
            btf_maps::finish(&mut def, source)?;
            self.push(def, Origin::Variable(section, symbol.value));
        }
        Ok(())
    }
}

//! The maps of an object, in libbpf's order, and the origin of each.
//!
//! Order: definitions (`maps`, then `.maps`), data sections, `.kconfig`, struct_ops.

use crate::elf::Elf;
use crate::error::Error;
use crate::options::OpenOptions;
use crate::sections::SectionKind;
use rustc_hash::FxHashMap;
use skep_btf::Btf;
use skep_program::{MapDef, MapIdx};
use skep_uapi::MapFlags;

/// The input for creating maps.
pub(crate) struct MapSource<'a, 'o> {
    pub(crate) elf: &'o Elf<'a>,
    pub(crate) kinds: &'o [SectionKind],
    /// Offsets of named symbols, by section.
    pub(crate) offsets: &'o FxHashMap<(usize, &'o str), u64>,
    pub(crate) btf: Option<&'o Btf>,
    pub(crate) options: &'o OpenOptions,
    /// Name of the object, truncated as in libbpf.
    pub(crate) name: &'o str,
}

impl MapSource<'_, '_> {
    /// The offset of a variable in its section. libbpf takes that of BTF, which it has completed
    /// from the symbols; other loaders take the symbol's.
    pub(crate) fn offset_of(&self, section: usize, name: &str, stated: u32) -> u64 {
        let offset = self.offsets.get(&(section, name));
        let offset = offset.filter(|_| !self.options.as_libbpf());
        // BTF has 32 bits for it.
        u64::from(offset.map_or(stated, |offset| *offset as u32))
    }

    /// The size of the map's user-space mapping: as many pages as its values need.
    pub(crate) fn set_mmapable(&self, def: &mut MapDef) {
        def.map_flags |= MapFlags::MMAPABLE;
        let value = u64::from(def.value_size).next_multiple_of(8);
        let bytes = value.saturating_mul(u64::from(def.max_entries));
        let page_size = self.options.page_size();
        def.mmap_size_bytes = bytes.checked_next_multiple_of(page_size).unwrap_or(u64::MAX);
    }
}

/// The origin of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// A variable: section and offset in bytes.
    Variable(usize, u64),
    /// A whole data section.
    Section(usize),
    /// The externs of `.kconfig`.
    Kconfig,
}

/// Maps and their origins, by the same index.
#[derive(Default)]
pub(crate) struct Maps {
    pub(crate) defs: Vec<MapDef>,
    pub(crate) origins: Vec<Origin>,
    /// Why libbpf does not read the definitions.
    pub(crate) refused: Option<Error>,
    /// Why the kernel cannot create the first that has a type it does not know.
    pub(crate) unknown_type: Option<Error>,
    by_origin: FxHashMap<Origin, MapIdx>,
}

impl Maps {
    pub(crate) fn push(&mut self, def: MapDef, origin: Origin) -> MapIdx {
        let idx = MapIdx(self.defs.len() as u32);
        self.defs.push(def);
        self.origins.push(origin);
        self.by_origin.entry(origin).or_insert(idx);
        idx
    }

    /// The map defined by a variable at an offset of a section.
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
}

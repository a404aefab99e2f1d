//! Maps of `SEC("maps")` and `SEC("maps/NAME")`: definitions without BTF, as used before objects
//! had BTF.

use crate::btf_maps;
use crate::error::{Error, Result};
use crate::maps::{MapSource, Maps, Origin};
use crate::sections::{SectionKind, u32_at};
use skep_program::MapDef;
use skep_uapi::{MapFlags, MapType};

/// The maps of every such section.
pub(crate) fn read(source: &MapSource<'_, '_>, maps: &mut Maps) -> Result<()> {
    for (section, kind) in source.elf.sections.iter().zip(source.kinds) {
        if *kind == SectionKind::LegacyMaps {
            read_section(source, maps, section.index)?;
        }
    }
    Ok(())
}

/// One `struct bpf_map_def` per symbol. Anything after its five words (other loaders have longer
/// structs) is ignored.
fn read_section(source: &MapSource<'_, '_>, maps: &mut Maps, section: usize) -> Result<()> {
    let elf = source.elf;
    let Some(from) = elf.sections.get(section) else { return Ok(()) };
    let mut symbols: Vec<_> =
        elf.symbols.iter().filter(|s| s.section == Some(section) && !s.name.is_empty()).collect();
    symbols.sort_by_key(|s| s.value);
    for symbol in symbols {
        let at = usize::try_from(symbol.value).unwrap_or(usize::MAX);
        let data = from.data.get(at..).unwrap_or(&[]);
        let word = |n: usize| {
            u32_at(elf, data, n * 4).ok_or_else(|| {
                let cause = format!("definition of map {} is truncated", symbol.name);
                Error::at(&from.name, symbol.value, cause)
            })
        };
        let number = word(0)?;
        let map_type = MapType::from_number(number).ok_or_else(|| {
            let cause = format!("map {}: unknown type {number}", symbol.name);
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
        maps.push(def, Origin::Variable(section, symbol.value));
    }
    Ok(())
}

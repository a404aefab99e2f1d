//! Data sections as array maps with one entry.

use crate::error::Result;
use crate::externs::{KCONFIG, Kconfig};
use crate::maps::{MapSource, Maps, Origin};
use crate::sections::SectionKind;
use skep_btf::{Btf, Kind, TypeId, VarLinkage};
use skep_program::MapDef;
use skep_uapi::{MapFlags, MapType};

/// Maximum length of a kernel name, including the final 0.
const OBJ_NAME_LEN: usize = 16;
/// Longest of the plain suffixes (`.rodata`, `.kconfig`): the prefix is truncated to leave room for
/// it.
const SUFFIX_BYTES_MIN: usize = 7;

/// Adds the data sections' maps; fills the arena's.
pub(crate) fn read(source: &MapSource<'_, '_>, maps: &mut Maps) -> Result<()> {
    for (section, kind) in source.elf.sections.iter().zip(source.kinds) {
        let frozen = match kind {
            SectionKind::Data | SectionKind::Bss => false,
            SectionKind::Rodata => true,
            _ => continue,
        };
        if section.size_bytes == 0 {
            continue;
        }
        let value_type = source.btf.and_then(|btf| datasec(btf, &section.name));
        let mut def = data_map(source, &section.name, section.size_bytes as u32, frozen);
        def.btf_value_type_id = value_type.map_or(0, |id| id.0);
        if let Some((btf, id)) = source.btf.zip(value_type)
            && is_mmapable(btf, id)
        {
            source.set_mmapable(&mut def);
        }
        def.contents = section.data.to_vec();
        maps.push(def, Origin::Section(section.index));
    }
    read_arena(source, maps)
}

/// Adds the map of the `.kconfig` externs.
pub(crate) fn push_kconfig(source: &MapSource<'_, '_>, maps: &mut Maps, kconfig: &Kconfig) {
    let mut def = data_map(source, KCONFIG, kconfig.size_bytes, true);
    if let Some((btf, id)) = source.btf.and_then(|btf| Some((btf, datasec(btf, KCONFIG)?))) {
        def.btf_value_type_id = id.0;
        if is_mmapable(btf, id) {
            source.set_mmapable(&mut def);
        }
    }
    def.contents.clone_from(&kconfig.contents);
    maps.push(def, Origin::Kconfig);
}

/// Variables with `__arena` are placed at the start of the object's arena.
fn read_arena(source: &MapSource<'_, '_>, maps: &mut Maps) -> Result<()> {
    let mut sections = source.elf.sections.iter().zip(source.kinds);
    let Some((section, _)) = sections.find(|(_, kind)| **kind == SectionKind::Arena) else {
        return Ok(());
    };
    let arena = maps.defs.iter().position(|def| def.map_type == MapType::Arena);
    if let Some(index) = arena {
        maps.defs[index].contents = section.data.to_vec();
    }
    Ok(())
}

/// An array map with one value, named as libbpf names it.
pub(crate) fn data_map(
    source: &MapSource<'_, '_>,
    section: &str,
    size_bytes: u32,
    frozen: bool,
) -> MapDef {
    MapDef {
        name: map_name(source.name, section),
        map_type: MapType::Array,
        key_size: 4,
        value_size: size_bytes,
        max_entries: 1,
        map_flags: if frozen { MapFlags::RDONLY_PROG } else { MapFlags::empty() },
        frozen,
        autocreate: true,
        ..MapDef::default()
    }
}

/// The `DATASEC` of a section, unless a type of another kind has its name before.
pub(crate) fn datasec(btf: &Btf, section: &str) -> Option<TypeId> {
    let first = btf.find_by_name(section).min_by_key(|ty| ty.id());
    first.filter(|ty| ty.kind() == Kind::Datasec).map(|ty| ty.id())
}

/// A section is mapped into user space if it has a non-static variable.
pub(crate) fn is_mmapable(btf: &Btf, datasec: TypeId) -> bool {
    btf.ty(datasec).vars().any(|v| {
        let var = btf.ty(v.ty);
        var.kind() == Kind::Var && var.var_linkage() != VarLinkage::Static as u32
    })
}

/// `<object>.<section>`, with the object's part truncated so that the name fits the kernel's limit;
/// a custom section (`.data.custom`) has no prefix (but `.bss.custom` is truncated). Characters
/// that the kernel does not allow become `_`.
fn map_name(object: &str, section: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let allow = |c| if allowed(c) { c } else { '_' };
    if section.get(1..).is_some_and(|rest| rest.contains('.')) {
        let cut = if section.starts_with(".bss") { OBJ_NAME_LEN - 1 } else { section.len() };
        return section.chars().take(cut).map(allow).collect();
    }
    let suffix_bytes = section.len().max(SUFFIX_BYTES_MIN);
    let prefix_bytes = OBJ_NAME_LEN.saturating_sub(suffix_bytes + 1);
    let prefix = object.chars().take(prefix_bytes);
    prefix.chain(section.chars()).map(allow).collect()
}

#[cfg(test)]
mod tests {
    use super::map_name;

    /// Names that libbpf 1.7 passes to BPF_MAP_CREATE.
    #[test]
    fn the_prefix_gives_way_to_the_section() {
        assert_eq!(map_name("map_kinds", ".rodata"), "map_kind.rodata");
        assert_eq!(map_name("map_kinds", ".bss"), "map_kind.bss");
        assert_eq!(map_name("xdp", ".data"), "xdp.data");
        assert_eq!(map_name("map_kinds", ".data.custom"), ".data.custom");
        assert_eq!(map_name("map_kinds", ".data.a-b"), ".data.a_b");
        assert_eq!(map_name("x", ".data.array_not_last"), ".data.array_not_last");
        assert_eq!(map_name("cpumask_failure", ".bss.MASK_NESTED"), ".bss.MASK_NESTE");
    }
}

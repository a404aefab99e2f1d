//! `.maps`: map definitions as BTF types.
//!
//! A variable's struct describes the map: integers are encoded as pointers to arrays with that many
//! elements, types as pointers to the type. libbpf rejects unknown attributes, other loaders may
//! know them.

use crate::elf::{Section, SymbolKind};
use crate::error::{Context, Error, Result};
use crate::loader::{LoadClass, Loader};
use crate::map_creation;
use crate::maps::{MapSource, Maps, Origin};
use crate::options::OpenOptions;
use crate::sections::SectionKind;
use rustc_hash::FxHashMap;
use skep_btf::{Btf, Kind, Member, Type, TypeId, VarLinkage};
use skep_program::{MapDef, MapIdx, MapSlot, Pinning, SlotTarget};
use skep_uapi::{MapFlags, MapType};

/// Size of a value that is a map or a program.
const SLOT_BYTES: u32 = 4;
/// Bytes of a slot of `values`.
const POINTER_BYTES: u64 = 8;

/// Adds the maps of `.maps`, in the order of its `DATASEC`.
pub(crate) fn read(source: &MapSource<'_, '_>, maps: &mut Maps) -> Result<()> {
    let sections = source.elf.sections.iter().zip(source.kinds);
    let Some((section, _)) = sections.rev().find(|(_, kind)| **kind == SectionKind::BtfMaps) else {
        return Ok(());
    };
    let Some(btf) = source.btf else {
        let none = Error::at(&section.name, 0, "the object has no BTF that describes it");
        return Err(none.of_class(LoadClass::Open));
    };
    let Some(datasec) = btf.find_by_name_kind(&section.name, Kind::Datasec) else {
        return Err(Error::at(&section.name, 0, "BTF has no such DATASEC"));
    };
    for secvar in btf.ty(datasec).vars() {
        let var = btf.ty(secvar.ty);
        let name = var.name();
        if var.kind() != Kind::Var || var.var_linkage() == VarLinkage::Extern as u32 {
            continue;
        }
        let offset = source.offset_of(section.index, name, secvar.offset);
        if offset + u64::from(secvar.size) > section.size_bytes {
            let text = format!("map {name}: it ends beyond section {}", section.name);
            maps.refused.get_or_insert_with(|| Error::load(LoadClass::Open, text));
        }
        if btf.skip_modifiers(var.target_id()).stated_size().is_some_and(|it| it > secvar.size) {
            let text = format!("map {name}: its definition is larger than the variable");
            maps.refused.get_or_insert_with(|| Error::load(LoadClass::Open, text));
        }
        let unknown = &mut maps.unknown_type;
        let def = read_map(source, btf, var, unknown)
            .context(|| format!("section {}, offset {offset:#x}: map {name}", section.name))?;
        maps.push(def, Origin::Variable(section.index, offset));
    }
    read_values(source, btf, section, maps)
}

fn read_map(
    source: &MapSource<'_, '_>,
    btf: &Btf,
    var: Type<'_>,
    unknown: &mut Option<Error>,
) -> Result<MapDef> {
    let def = btf.skip_modifiers(var.target_id());
    if def.kind() != Kind::Struct {
        return Err(Error::new(format!(
            "definition is a {}, expected a struct",
            def.kind().name()
        )));
    }
    let mut map = read_def(btf, def, var.name(), true, unknown)?;
    map.name = var.name().to_owned();
    if let Some(inner) = &mut map.inner {
        inner.name = format!("{}.inner", map.name);
    }
    let has_arena = source.kinds.contains(&SectionKind::Arena);
    if map.map_type == MapType::Arena && map.max_entries == 0 && has_arena {
        let text = format!("map {}: it has no page, and there are variables of an arena", map.name);
        unknown.get_or_insert_with(|| Error::load(LoadClass::Open, text));
    }
    fill_empty(&mut map, source.options);
    finish(&mut map, source)?;
    Ok(map)
}

/// Reads the attributes of a definition of a map of that name; `outer` unless it is an inner map's.
fn read_def(
    btf: &Btf,
    def: Type<'_>,
    name: &str,
    outer: bool,
    unknown: &mut Option<Error>,
) -> Result<MapDef> {
    let mut map = MapDef { autocreate: true, ..MapDef::default() };
    let mut stated = Stated::default();
    let count = def.members().count();
    for (number, member) in def.members().enumerate() {
        let attribute = member.name();
        if attribute == "pinning" && !outer {
            let text = format!("map {name}: its inner map cannot be pinned");
            unknown.get_or_insert_with(|| Error::load(LoadClass::Open, text));
        }
        let checked = check_form(btf, &member).and_then(|()| match attribute {
            "values" => check_values(btf, &member, map.map_type, number + 1 == count),
            _ => Ok(()),
        });
        if let Err(error) = checked.context(|| format!("map {name}")) {
            unknown.get_or_insert(error.of_class(LoadClass::Open));
        }
        if attribute == "values" {
            let inner = match outer {
                true => read_inner(btf, &member, &mut map, name, unknown),
                false => Err(Error::new("an inner map has no values")),
            };
            inner
                .and_then(|()| set_size(&mut stated.value, SLOT_BYTES))
                .context(|| format!("attribute {attribute}"))?;
            continue;
        }
        let known = read_attribute(btf, &member, &mut map, &mut stated)
            .context(|| format!("attribute {attribute}"))?;
        if !known {
            let text = format!("map {name}: libbpf knows no attribute '{attribute}'");
            unknown.get_or_insert_with(|| Error::load(LoadClass::Open, text));
        }
    }
    if let Some(number) = stated.unknown_pinning {
        let text = format!("map {name}: libbpf does not support pinning {number}");
        unknown.get_or_insert_with(|| Error::load(LoadClass::Open, text));
    }
    match stated.unknown_type {
        Some(number) => {
            let text = format!("map {name} cannot be created: no map type has number {number}");
            unknown.get_or_insert_with(|| Error::load(LoadClass::Map, text));
        }
        None if map.map_type == MapType::Unspec => return Err(Error::new("type missing")),
        None => {}
    }
    Ok(map)
}

/// Key and value sizes as stated, to compare with the types'; numbers that are no map type and
/// no pinning.
#[derive(Default)]
struct Stated {
    key: Option<u32>,
    value: Option<u32>,
    unknown_type: Option<u32>,
    unknown_pinning: Option<u32>,
}

/// Reads an attribute; `false` if it is unknown.
fn read_attribute(
    btf: &Btf,
    member: &Member<'_>,
    map: &mut MapDef,
    stated: &mut Stated,
) -> Result<bool> {
    match member.name() {
        "type" => {
            let number = int(btf, member)?;
            let known = MapType::from_number(number);
            map.map_type = known.unwrap_or_default();
            stated.unknown_type = Some(number).filter(|_| known.is_none());
        }
        "max_entries" => map.max_entries = int(btf, member)?,
        "map_flags" => map.map_flags = MapFlags::from_bits_retain(int(btf, member)?),
        "numa_node" => map.numa_node = int(btf, member)?,
        "map_extra" => map.map_extra = long(btf, member)?,
        "pinning" => {
            map.pinning = match int(btf, member)? {
                0 => Pinning::None,
                1 => Pinning::ByName,
                other => Pinning::Other(other),
            };
            if let Pinning::Other(other) = map.pinning {
                stated.unknown_pinning = Some(other);
            }
        }
        "key_size" => map.key_size = set_size(&mut stated.key, int(btf, member)?)?,
        "value_size" => map.value_size = set_size(&mut stated.value, int(btf, member)?)?,
        "key" => {
            let (id, size) = pointee(btf, member)?;
            map.key_size = set_size(&mut stated.key, size)?;
            map.btf_key_type_id = id.0;
        }
        "value" => {
            let (id, size) = pointee(btf, member)?;
            map.value_size = set_size(&mut stated.value, size)?;
            map.btf_value_type_id = id.0;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn set_size(before: &mut Option<u32>, size: u32) -> Result<u32> {
    match before.replace(size) {
        Some(other) if other != size => {
            Err(Error::new(format!("size {size} contradicts size {other}")))
        }
        _ => Ok(size),
    }
}

/// libbpf looks through typedefs and modifiers of some of an attribute's types only.
fn check_form(btf: &Btf, member: &Member<'_>) -> Result<()> {
    let own = btf.ty(member.ty);
    let through = btf.skip_modifiers(member.ty);
    let (what, found, wanted) = match member.name() {
        "key" | "value" => ("is", own, Kind::Ptr),
        "values" => ("is", own, Kind::Array),
        "map_extra" if through.kind().is_any_enum() => return Ok(()),
        _ => ("points to", btf.ty(through.target_id()), Kind::Array),
    };
    if found.kind() == wanted {
        return Ok(());
    }
    let (id, kind, wanted) = (found.id(), found.kind().name(), wanted.name());
    let text =
        format!("attribute '{}' {what} type {id} ({kind}), expected {wanted}", member.name());
    Err(Error::new(text))
}

/// `__uint(name, value)`: a pointer to an array of `value` elements.
fn int(btf: &Btf, member: &Member<'_>) -> Result<u32> {
    let pointer = btf.skip_modifiers(member.ty);
    let array = btf.skip_modifiers(pointer.target_id()).array();
    let array = array.filter(|_| pointer.kind() == Kind::Ptr);
    array.map(|a| a.nelems).ok_or_else(|| Error::new("expected a pointer to an array"))
}

/// `__ulong(name, value)`: an enum with one value; or `__uint`.
fn long(btf: &Btf, member: &Member<'_>) -> Result<u64> {
    let ty = btf.skip_modifiers(member.ty);
    if ty.kind().is_any_enum() {
        let first = ty.enumerators().next();
        return first.map(|e| e.value).ok_or_else(|| Error::new("the enum has no value"));
    }
    int(btf, member).map(u64::from)
}

/// `__type(name, type)`: a pointer to the type.
fn pointee(btf: &Btf, member: &Member<'_>) -> Result<(TypeId, u32)> {
    let pointer = btf.skip_modifiers(member.ty);
    if pointer.kind() != Kind::Ptr {
        return Err(Error::new("expected a pointer to a type"));
    }
    let id = pointer.target_id();
    Ok((id, btf.size_of(id)?))
}

/// What libbpf wants of `values`: which maps have them, where they are, and of which type.
fn check_values(btf: &Btf, member: &Member<'_>, map_type: MapType, last: bool) -> Result<()> {
    let wanted = match map_type {
        MapType::ArrayOfMaps | MapType::HashOfMaps => Kind::Struct,
        MapType::ProgArray => Kind::FuncProto,
        _ => return Err(Error::new(format!("a map of type {map_type} has no values"))),
    };
    let Some(array) = btf.skip_modifiers(member.ty).array() else { return Ok(()) };
    let target = btf.skip_modifiers(btf.skip_modifiers(array.elem).target_id()).kind();
    let text = match () {
        () if !last => "'values' is not its last member".to_owned(),
        () if array.nelems != 0 => "its values have a number of elements".to_owned(),
        () if target != wanted => {
            format!("its values point to a {}, not to a {}", target.name(), wanted.name())
        }
        () => return Ok(()),
    };
    Err(Error::new(text))
}

/// `__array(values, ...)`: an inner map's definition, or programs.
fn read_inner(
    btf: &Btf,
    member: &Member<'_>,
    map: &mut MapDef,
    name: &str,
    unknown: &mut Option<Error>,
) -> Result<()> {
    let array = btf.skip_modifiers(member.ty).array();
    let array = array.ok_or_else(|| Error::new("expected an array"))?;
    let element = btf.skip_modifiers(array.elem);
    if element.kind() != Kind::Ptr {
        return Err(Error::new("expected an array of pointers"));
    }
    map.value_size = SLOT_BYTES;
    let target = btf.skip_modifiers(element.target_id());
    match target.kind() {
        Kind::Struct => {
            map.inner = Some(Box::new(read_def(btf, target, name, false, unknown)?));
        }
        Kind::FuncProto => {}
        other => {
            return Err(Error::new(format!("elements point to a {}", other.name())));
        }
    }
    Ok(())
}

/// What libbpf does between reading a definition and creating the map.
pub(crate) fn finish(map: &mut MapDef, source: &MapSource<'_, '_>) -> Result<()> {
    use MapType as M;
    if source.options.loader == Loader::Any {
        map_creation::complete(map);
    }
    if matches!(map.map_type, M::Ringbuf | M::UserRingbuf) {
        map.max_entries = ringbuf_size(map.max_entries, source.options.page_size());
    }
    if map.map_type == M::PerfEventArray && map.max_entries == 0 {
        map.max_entries = source.options.cpus;
    }
    if map.map_type == M::Arena {
        let pages = u64::from(map.max_entries);
        map.mmap_size_bytes = pages.saturating_mul(source.options.page_size());
    } else if map.map_flags.contains(MapFlags::MMAPABLE) {
        source.set_mmapable(map);
    }
    let without_btf = matches!(
        map.map_type,
        M::PerfEventArray
            | M::CgroupArray
            | M::StackTrace
            | M::ArrayOfMaps
            | M::HashOfMaps
            | M::Devmap
            | M::DevmapHash
            | M::Cpumap
            | M::Xskmap
            | M::Sockmap
            | M::Sockhash
            | M::Queue
            | M::Stack
            | M::Arena
    );
    if without_btf {
        map.btf_key_type_id = 0;
        map.btf_value_type_id = 0;
    }
    if let Some(inner) = &mut map.inner {
        finish(inner, source)?;
    }
    Ok(())
}

/// Sets the size of a map which has none.
pub(crate) fn fill_empty(map: &mut MapDef, options: &OpenOptions) {
    let perf = map.map_type == MapType::PerfEventArray;
    if map.max_entries == 0 && !perf && !has_no_entries(map.map_type) {
        map.max_entries = options.empty_map_entries;
    }
}

/// Local storage grows with its owners.
fn has_no_entries(map_type: MapType) -> bool {
    use MapType::*;
    matches!(
        map_type,
        SkStorage
            | TaskStorage
            | InodeStorage
            | CgroupStorage
            | PercpuCgroupStorage
            | CgrpStorage
            | StructOps
    )
}

/// The size of a ring buffer is rounded up to a power of two pages, if the result fits and exists.
fn ringbuf_size(size: u32, page_size: u64) -> u32 {
    let bytes = u64::from(size);
    let pages = bytes.div_ceil(page_size).next_power_of_two();
    if size == 0 {
        return 0;
    }
    u32::try_from(pages.saturating_mul(page_size)).unwrap_or(size)
}

/// Fills `slots` from the relocations of `.maps`.
fn read_values(
    source: &MapSource<'_, '_>,
    btf: &Btf,
    section: &Section<'_>,
    maps: &mut Maps,
) -> Result<()> {
    let Some(datasec) = btf.find_by_name_kind(&section.name, Kind::Datasec) else {
        return Ok(());
    };
    let vars = btf.ty(datasec).vars().map(|v| (btf.ty(v.ty), v.size));
    let offsets: FxHashMap<&str, (Option<u32>, u32)> =
        vars.map(|(var, size)| (var.name(), (values_offset(btf, var), size))).collect();
    let mut owners: Vec<(u64, usize)> = Vec::new();
    for (index, origin) in maps.origins.iter().enumerate() {
        if let Origin::Variable(of, at) = *origin
            && of == section.index
        {
            owners.push((at, index));
        }
    }
    // libbpf finds what fills a slot by the name of its symbol: of several, the first.
    let mut named: FxHashMap<&str, MapIdx> = FxHashMap::default();
    for &(_, index) in &owners {
        named.entry(&maps.defs[index].name).or_insert(MapIdx(index as u32));
    }
    owners.sort_unstable();
    let (mut slots, mut refused) = (Vec::new(), None);
    for relocation in &section.relocations {
        let fail = |cause: String| Error::at(&section.name, relocation.offset, cause);
        let after = owners.partition_point(|(at, _)| *at <= relocation.offset);
        let owner = after.checked_sub(1).and_then(|n| owners.get(n));
        let &(at, index) = owner.ok_or_else(|| fail("relocation outside of any map".into()))?;
        let def = &maps.defs[index];
        let &(values_at, size) = offsets.get(def.name.as_str()).unwrap_or(&(None, 0));
        let within = relocation.offset - at;
        let offset = values_at.and_then(|values_at| within.checked_sub(u64::from(values_at)));
        let Some(offset) = offset.filter(|_| within < u64::from(size)) else {
            return Err(fail(format!("relocation of map {}, not of its values", def.name)));
        };
        if !offset.is_multiple_of(POINTER_BYTES) {
            return Err(fail(format!("relocation between values of map {}", def.name)));
        }
        let Some(symbol) = source.elf.symbols.get(relocation.symbol) else {
            return Err(fail(format!("symbol {} does not exist", relocation.symbol)));
        };
        if def.map_type == MapType::HashOfMaps && def.key_size != SLOT_BYTES {
            let text = format!("map {}: its slots are filled, so key_size must be 4", def.name);
            refused.get_or_insert_with(|| Error::load(LoadClass::Open, text));
        }
        let target = if def.map_type == MapType::ProgArray {
            let kind = symbol.section.and_then(|of| source.kinds.get(of));
            if symbol.kind != SymbolKind::Func || kind != Some(&SectionKind::Code) {
                return Err(fail(format!("{} is not a program", symbol.name)));
            }
            SlotTarget::Prog(symbol.name.clone().into_owned())
        } else {
            let found = symbol.section.and_then(|of| match source.options.as_libbpf() {
                true => named.get(&*symbol.name).copied().filter(|_| of == section.index),
                false => maps.of_variable(of, symbol.value),
            });
            SlotTarget::Map(found.ok_or_else(|| fail(format!("{} is not a map", symbol.name)))?)
        };
        let slot = u32::try_from(offset / POINTER_BYTES);
        let slot = slot.map_err(|_| fail("slot out of range".into()))?;
        slots.push((index, MapSlot { index: slot, target }));
    }
    for (index, slot) in slots {
        maps.defs[index].slots.push(slot);
    }
    maps.refused = maps.refused.take().or(refused);
    Ok(())
}

/// Bytes from the start of a definition to its `values`, if it has them.
fn values_offset(btf: &Btf, var: Type<'_>) -> Option<u32> {
    let def = btf.skip_modifiers(var.target_id());
    let found = def.members().find(|m| m.name() == "values");
    found.map(|m| m.bit_offset / 8)
}

#[cfg(test)]
mod tests {
    use super::ringbuf_size;

    #[test]
    fn ring_buffers_are_powers_of_two_of_pages() {
        let sizes = [(0, 0), (1, 4096), (4096, 4096), (4097, 8192), (3 * 4096, 4 * 4096)];
        for (asked, given) in sizes {
            assert_eq!(ringbuf_size(asked, 4096), given);
        }
        assert_eq!(ringbuf_size(u32::MAX, 4096), u32::MAX);
    }
}

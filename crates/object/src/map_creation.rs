//! Whether BPF_MAP_CREATE would accept an object's maps, and which maps their loader must complete.

use crate::error::{Context, Error, Result};
use crate::kernel_types::KernelTypes;
use crate::loader::LoadClass;
use crate::options::OpenOptions;
use skep_btf::{Btf, Kind, TypeId, special_fields};
use skep_program::MapDef;
use skep_uapi::{Amount, MapCreation, MapFlags, MapShape, MapType, map_rule, object_name_is_valid};

/// Whether the kernel would create the map, after the template of its inner maps.
pub(crate) fn check(def: &MapDef, options: &OpenOptions) -> Result<()> {
    let (name, map_type) = (&def.name, def.map_type);
    let created = check_def(def, options).map_err(|error| error.of_class(LoadClass::Map));
    created.context(|| format!("map {name} ({map_type}) cannot be created"))
}

fn check_def(def: &MapDef, options: &OpenOptions) -> Result<()> {
    let is_unknown = |def: &MapDef| def.map_type == MapType::Unspec;
    if is_unknown(def) || def.inner.as_deref().is_some_and(is_unknown) {
        return Err(Error::new("there is no map of this type"));
    }
    if !object_name_is_valid(&def.name) {
        return Err(Error::new("the kernel does not take its name"));
    }
    if let Some(inner) = &def.inner {
        check_attributes(inner, options).context(|| "its inner map".to_owned())?;
    }
    check_attributes(def, options)
}

fn check_attributes(def: &MapDef, options: &OpenOptions) -> Result<()> {
    creation(def).check().map_err(Error::new)?;
    check_node(def, options)
}

/// Whether libbpf can map the variables of a section into its memory: the kernel maps no values
/// with special fields. Other maps are not mapped.
pub(crate) fn check_mapping(def: &MapDef, btf: Option<&Btf>) -> Result<()> {
    let id = TypeId(def.btf_value_type_id);
    let Some(btf) = btf.filter(|_| def.mmap_size_bytes != 0 && id != TypeId::VOID) else {
        return Ok(());
    };
    let of_section = btf.ty(id).kind() == Kind::Datasec;
    let fields = special_fields(btf, id).unwrap_or_default();
    let Some(field) = fields.first().filter(|_| of_section) else { return Ok(()) };
    let (name, field) = (&def.name, field.kind.name());
    let text = format!("map {name} cannot be mapped: it has a {field}, and a global variable");
    Err(Error::load(LoadClass::Map, text))
}

/// A kernel that takes the object's BTF takes a map's with a `__kptr` that nothing can release, as
/// if it were plain data: in an array, in a struct within the value, or in a section.
pub(crate) fn check_pointers(
    def: &MapDef,
    btf: Option<&Btf>,
    kernel: &KernelTypes<'_>,
) -> Result<()> {
    let id = TypeId(def.btf_value_type_id);
    let described = id != TypeId::VOID && def.map_type != MapType::StructOps;
    let Some(btf) = btf.filter(|_| described) else { return Ok(()) };
    let fields = special_fields(btf, id).unwrap_or_default();
    match fields.iter().find_map(|field| kernel.lacks_destructor(field, btf)) {
        Some(why) => Err(Error::new(format!("not supported yet: map {}: {why}", def.name))),
        None => Ok(()),
    }
}

/// The values of a map may lie on a NUMA node, if it is online.
fn check_node(def: &MapDef, options: &OpenOptions) -> Result<()> {
    let node = def.numa_node;
    let named = def.map_flags.contains(MapFlags::NUMA_NODE) && node != NO_NODE;
    let known = &*options.numa_nodes;
    let is_online = if known.is_empty() { node == 0 } else { known.contains(&node) };
    if named && !is_online {
        return Err(Error::new(format!("numa_node is {node}, there is no such node online")));
    }
    Ok(())
}

/// The kernel's `NUMA_NO_NODE`.
const NO_NODE: u32 = u32::MAX;

fn creation(def: &MapDef) -> MapCreation {
    MapCreation {
        map_type: def.map_type,
        shape: MapShape {
            key_size: def.key_size,
            value_size: def.value_size,
            max_entries: def.max_entries,
            flags: def.map_flags,
        },
        // The mapping address is up to the loader.
        map_extra: def.map_extra,
        has_btf: def.btf_key_type_id != 0 && def.btf_value_type_id != 0,
        inner: def.inner.as_ref().map(|inner| inner.map_type),
    }
}

/// Sets attributes that are not set and have only one valid value, as loaders of other languages
/// do.
pub(crate) fn complete(def: &mut MapDef) {
    let Some(rule) = map_rule(def.map_type) else { return };
    for (size, amount) in [(&mut def.key_size, rule.key), (&mut def.value_size, rule.value)] {
        if *size == 0
            && let Amount::Between(least, most) = amount
            && least == most
        {
            *size = least as u32;
        }
    }
}

/// Attributes that the object's loader must set, because the verdict on programs depends on them.
pub(crate) fn left_open(def: &MapDef) -> Option<&'static str> {
    let rule = map_rule(def.map_type)?;
    let unset = |size: u32, amount: Amount| size == 0 && !amount.allows(0);
    let outer = matches!(def.map_type, MapType::ArrayOfMaps | MapType::HashOfMaps);
    match () {
        () if outer && def.inner.is_none() => Some("its inner map"),
        () if unset(def.key_size, rule.key) => Some("its key_size"),
        () if unset(def.value_size, rule.value) => Some("its value_size"),
        () if unset(def.max_entries, rule.entries) => Some("its max_entries"),
        () => None,
    }
}

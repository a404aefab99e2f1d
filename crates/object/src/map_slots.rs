//! Whether the maps that an object puts into a map of maps may be there: the kernel compares each
//! with the template.
//!
//! Kernel: BPF_MAP_UPDATE_ELEM of each slot, 6.18; every attribute of an inner map was varied.

use crate::error::{Error, Result};
use crate::loader::LoadClass;
use skep_btf::{Btf, TypeId, special_fields_of};
use skep_program::{MapDef, SlotTarget};
use skep_uapi::{MapFlags, MapType};

/// Whether all slots of a map can be filled. libbpf does that as soon as it has created the map.
pub(crate) fn check(defs: &[MapDef], of: usize, btf: Option<&Btf>) -> Result<()> {
    let Some(def) = defs.get(of) else { return Ok(()) };
    let Some(template) = &def.inner else { return Ok(()) };
    let bounded = def.map_type == MapType::ArrayOfMaps;
    let mut filled: Vec<u32> = def.slots.iter().map(|slot| slot.index).collect();
    filled.sort_unstable();
    filled.dedup();
    if !bounded && filled.len() > def.max_entries as usize {
        let (count, most) = (filled.len(), def.max_entries);
        return refuse(def, format!("{count} slots are filled, it has max_entries {most}"));
    }
    for slot in &def.slots {
        let SlotTarget::Map(map) = &slot.target else { continue };
        let Some(inner) = defs.get(map.0 as usize) else { continue };
        let (index, name) = (slot.index, &inner.name);
        if bounded && index >= def.max_entries {
            let most = def.max_entries;
            return refuse(def, format!("slot {index} is filled, it has max_entries {most}"));
        }
        if map.0 as usize >= of || !inner.autocreate {
            return refuse(def, format!("slot {index}: {name} is not created before it"));
        }
        if let Some(what) = differs(template, inner) {
            return refuse(def, format!("slot {index}: {what} of {name} is not the template's"));
        }
        if btf.is_some_and(|btf| !same_fields(btf, template, inner)) {
            let text = format!("slot {index}: {name} has other special fields than the template");
            return refuse(def, text);
        }
    }
    Ok(())
}

fn refuse(def: &MapDef, why: String) -> Result<()> {
    let text = format!("map {} ({}) cannot be filled: {why}", def.name, def.map_type);
    Err(Error::load(LoadClass::Map, text))
}

/// The first attribute in which a map differs from the template of inner maps.
fn differs(template: &MapDef, inner: &MapDef) -> Option<&'static str> {
    // Who may access a map from user space is no property of its contents.
    let flags = |def: &MapDef| def.map_flags - (MapFlags::RDONLY | MapFlags::WRONLY);
    let any_size = template.map_flags.contains(MapFlags::INNER_MAP);
    let sized = template.map_type == MapType::Array && !any_size;
    match () {
        () if template.map_type != inner.map_type => Some("type"),
        () if template.key_size != inner.key_size => Some("key_size"),
        () if template.value_size != inner.value_size => Some("value_size"),
        () if flags(template) != flags(inner) => Some("map_flags"),
        () if sized && template.max_entries != inner.max_entries => Some("max_entries"),
        () => None,
    }
}

fn same_fields(btf: &Btf, template: &MapDef, inner: &MapDef) -> bool {
    let ids = [template, inner].map(|def| TypeId(def.btf_value_type_id));
    let fields = special_fields_of(btf, ids.to_vec());
    let Some(fields) = fields else { return true };
    let of = |n: usize| {
        let fields = fields.get(n).map_or(&[][..], |fields| fields);
        fields.iter().map(|field| (field.kind.name(), field.offset)).collect::<Vec<_>>()
    };
    of(0) == of(1)
}

//! Maps whose BTF `BPF_MAP_CREATE` rejects: libbpf then creates them without BTF, and the kernel
//! knows of no special fields in their values.
//!
//! Local storage cannot be created without BTF; `map_creation` says so.

use crate::kernel_types::KernelTypes;
use skep_btf::{Btf, Kind, Member, SpecialField, Type, TypeId, special_fields_of};
use skep_program::MapDef;
use skep_uapi::{KeyForm, MapType, map_key_may_be, map_may_hold};

/// Removes the BTF of each map which the kernel would not create with it.
pub(crate) fn drop_refused(maps: &mut [MapDef], btf: &Btf, kernel: &KernelTypes<'_>) {
    let ids = described(maps).map(|def| TypeId(def.btf_value_type_id)).collect::<Vec<_>>();
    let Some(fields) = special_fields_of(btf, ids) else { return };
    let is_refused = |(def, fields): (&MapDef, Vec<SpecialField>)| {
        !is_taken(def, btf, &fields) || fields.iter().any(|it| kernel.refuses_in_map(it, btf))
    };
    let refused: Vec<bool> = described(maps).zip(fields).map(is_refused).collect();
    let mut refused = refused.into_iter();
    for def in maps.iter_mut() {
        let mut drop = |def: &mut MapDef| {
            if def.map_type != MapType::StructOps && refused.next() == Some(true) {
                without_btf(def);
            }
        };
        drop(def);
        if let Some(inner) = &mut def.inner {
            drop(inner);
        }
    }
}

/// Removes the BTF of all maps: the kernel does not have it.
pub(crate) fn drop_all(maps: &mut [MapDef]) {
    for def in maps {
        if def.map_type != MapType::StructOps {
            without_btf(def);
        }
        if let Some(inner) = &mut def.inner {
            without_btf(inner);
        }
    }
}

fn without_btf(def: &mut MapDef) {
    (def.btf_key_type_id, def.btf_value_type_id) = (0, 0);
}

/// The maps with keys and values of the object's types, each followed by the template of its inner
/// maps.
fn described(maps: &[MapDef]) -> impl Iterator<Item = &MapDef> {
    let all = maps.iter().flat_map(|def| std::iter::once(def).chain(def.inner.as_deref()));
    all.filter(|def| def.map_type != MapType::StructOps)
}

fn is_taken(def: &MapDef, btf: &Btf, fields: &[SpecialField]) -> bool {
    if def.btf_value_type_id == 0 {
        return def.btf_key_type_id == 0;
    }
    let value = btf.ty(TypeId(def.btf_value_type_id));
    let of_data = value.kind() == Kind::Datasec && def.btf_key_type_id == 0;
    let sized = |id, size: u32| btf.size_of(TypeId(id)).is_ok_and(|of| of == size);
    let keyed = def.btf_key_type_id == 0 || sized(def.btf_key_type_id, def.key_size);
    if !keyed || !sized(def.btf_value_type_id, def.value_size) {
        return false;
    }
    let key = key_form(btf, TypeId(def.btf_key_type_id));
    let (map_type, flags) = (def.map_type, def.map_flags);
    (of_data || map_key_may_be(map_type, key))
        && fields.iter().all(|field| map_may_hold(map_type, flags, field.kind.name()))
}

fn key_form(btf: &Btf, id: TypeId) -> KeyForm {
    let key = btf.skip_modifiers(id);
    match key.kind() {
        Kind::Void => KeyForm::Absent,
        Kind::Int if is_int_of(key, 32) => KeyForm::Int32,
        Kind::Int if is_int_of(key, 64) => KeyForm::Int64,
        Kind::Struct if is_of_ids(btf, key) => KeyForm::Ids,
        Kind::Struct => KeyForm::Struct,
        _ => KeyForm::Other,
    }
}

fn is_int_of(ty: Type<'_>, bits: u32) -> bool {
    ty.kind() == Kind::Int && ty.stated_size() == Some(bits / 8) && u32::from(ty.int_bits()) == bits
}

fn is_of_ids(btf: &Btf, key: Type<'_>) -> bool {
    let members: Vec<_> = key.members().collect();
    let [first, second] = &members[..] else { return false };
    let holds = |member: &Member<'_>, at: u32, bits: u32| {
        let ty = btf.skip_modifiers(member.ty);
        !key.kflag() && member.bit_offset == at && is_int_of(ty, bits)
    };
    holds(first, 0, 64) && holds(second, 64, 32)
}

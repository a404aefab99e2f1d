//! Whether a map matches the one that a program was verified with.
//!
//! The verifier takes the sizes of keys and values, the number of elements of an array, the offsets
//! of locks and pointers in values, and constants from a map's definition. None of that is checked
//! again when a program runs.
//!
//! # Invariants
//! 1. Of two definitions without a [`difference`] a program that was verified with one may be given
//!    a map made of the other: whatever the verifier reads of a definition is compared.
//!
//! Kernel: a program is verified with the maps that it then has; of inner maps
//! `bpf_map_meta_equal` (6.18).

use super::kind::shape;
use skep_btf::{Btf, SpecialField, TypeId, special_fields};
use skep_program::MapDef;
use skep_uapi::{MapShape, MapType};
use std::sync::Arc;

/// A definition, and the BTF that it refers to.
pub(crate) type Defined<'a> = (&'a MapDef, Option<&'a Arc<Btf>>);

/// What a map has that was made by one definition, and what a program knows that was verified with
/// the other; `None` if they are the same.
pub(crate) fn difference(made: Defined<'_>, verified: Defined<'_>) -> Option<String> {
    let ((a, _), (b, _)) = (made, verified);
    if a.map_type != b.map_type {
        return Some(format!("its type is {}, not {}", a.map_type, b.map_type));
    }
    let numbers = [
        ("bytes of a key", u64::from(a.key_size), u64::from(b.key_size)),
        ("bytes of a value", u64::from(a.value_size), u64::from(b.value_size)),
        ("entries", u64::from(a.max_entries), u64::from(b.max_entries)),
        ("as flags", a.map_flags.bits().into(), b.map_flags.bits().into()),
        ("as extra", a.map_extra, b.map_extra),
        (
            "as type of the kernel",
            a.btf_vmlinux_value_type_id.into(),
            b.btf_vmlinux_value_type_id.into(),
        ),
    ];
    if let Some((what, a, b)) = numbers.into_iter().find(|(_, a, b)| a != b) {
        return Some(format!("it has {a} {what}, not {b}"));
    }
    if b.frozen && !(a.frozen && a.contents == b.contents) {
        return Some("its constants differ".to_owned());
    }
    if !same_fields(made, verified) {
        return Some("locks, timers or pointers have other offsets in its values".to_owned());
    }
    inner_difference(made, verified).map(|what| format!("inner maps: {what}"))
}

/// The same of what inner maps are to be like.
fn inner_difference(made: Defined<'_>, verified: Defined<'_>) -> Option<String> {
    match (&made.0.inner, &verified.0.inner) {
        (None, None) => None,
        (Some(a), Some(b)) => difference((a, made.1), (b, verified.1)),
        _ => Some("one has some".to_owned()),
    }
}

fn fields((def, btf): Defined<'_>) -> Vec<SpecialField> {
    match btf {
        Some(btf) if def.btf_value_type_id != 0 => {
            special_fields(btf, TypeId(def.btf_value_type_id)).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

fn same_fields(a: Defined<'_>, b: Defined<'_>) -> bool {
    let fields = (fields(a), fields(b));
    fields.0 == fields.1 && (fields.0.is_empty() || same_btf(a.1, b.1))
}

/// Whether ids of types mean the same in both.
fn same_btf(a: Option<&Arc<Btf>>, b: Option<&Arc<Btf>>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            let endian = skep_btf::Endian::NATIVE;
            Arc::ptr_eq(a, b) || a.to_bytes(endian) == b.to_bytes(endian)
        }
        _ => false,
    }
}

/// What a program that was verified with a template may take an inner map for.
#[derive(Clone, Debug)]
pub(super) struct Template {
    pub(super) map_type: MapType,
    pub(super) shape: MapShape,
    fields: Vec<SpecialField>,
    btf: Option<Arc<Btf>>,
}

impl Template {
    pub(super) fn of((def, btf): Defined<'_>) -> Template {
        let (map_type, shape) = (def.map_type, shape(def));
        Template { map_type, shape, fields: fields((def, btf)), btf: btf.cloned() }
    }

    /// Whether a map made by the definition of `its` is as the template.
    pub(super) fn allows(&self, its: &Template) -> bool {
        let (ours, theirs) = (&self.shape, &its.shape);
        // For these, the verifier knows that a constant key has a value.
        let entries = match self.map_type {
            MapType::Array if !ours.flags.contains(skep_uapi::MapFlags::INNER_MAP) => {
                ours.max_entries == theirs.max_entries
            }
            MapType::Array | MapType::PercpuArray => ours.max_entries <= theirs.max_entries,
            _ => true,
        };
        self.map_type == its.map_type
            && (ours.key_size, ours.value_size) == (theirs.key_size, theirs.value_size)
            && ours.flags == theirs.flags
            && entries
            && self.fields == its.fields
            && (self.fields.is_empty() || same_btf(self.btf.as_ref(), its.btf.as_ref()))
    }
}

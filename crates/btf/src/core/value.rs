//! The value of a relocation, for the object's type and for the target's.

use super::relo_kind::ReloKind;
use super::spec::Spec;
use crate::{Endian, Error, Kind, Type, TypeId};
use std::fmt;

/// What to write into the insn.
#[derive(Clone, Debug)]
pub(super) struct Resolution {
    /// Value for the object's type: what the compiler wrote.
    pub(super) from: u64,
    /// Value for the target's type; none means poison.
    pub(super) to: Option<u64>,
    /// Whether the insn must currently contain `from`.
    pub(super) validate: bool,
    /// How loads and stores of the field change their width.
    pub(super) width: Width,
}

/// Bytes of a field in the object and in the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// Equal, or not about a field.
    Same,
    /// The width of the load or store can be changed: pointers and unsigned integers.
    Change { from: u32, to: u32 },
    /// It cannot be changed, as the value read would be wrong.
    Unfit,
}

/// A field that is not a bitfield.
#[derive(Clone, Copy)]
struct Field<'a> {
    bytes: u32,
    ty: Type<'a>,
}

/// The value of one side.
struct Side<'a> {
    value: u64,
    validate: bool,
    /// For byte offsets of fields that are not bitfields.
    field: Option<Field<'a>>,
}

impl Side<'_> {
    fn new(value: impl Into<u64>, validate: bool) -> Self {
        Side { value: value.into(), validate, field: None }
    }
}

impl Resolution {
    pub(super) fn local_type_id(id: TypeId) -> Resolution {
        let value = u64::from(id.0);
        Resolution { from: value, to: Some(value), validate: false, width: Width::Same }
    }

    /// The result of the relocation, if the path was found at `target`, or not found.
    pub(super) fn of(
        local: &Spec<'_>,
        target: Option<&Spec<'_>>,
        kind: ReloKind,
    ) -> Result<Resolution, Error> {
        let from = side(local, kind)?;
        let Some(spec) = target else {
            let to = if zero_if_absent(kind) { Some(0) } else { None };
            let validate = from.validate;
            return Ok(Resolution { from: from.value, to, validate, width: Width::Same });
        };
        let to = side(spec, kind)?;
        let width = match (from.field, to.field) {
            (Some(local), Some(target)) => width(local, target),
            // One is a bitfield.
            (Some(Field { bytes: 1.., .. }), None) | (None, Some(Field { bytes: 1.., .. })) => {
                Width::Unfit
            }
            _ => Width::Same,
        };
        Ok(Resolution { from: from.value, to: Some(to.value), validate: from.validate, width })
    }

    pub(super) fn agrees_with(&self, other: &Resolution) -> bool {
        self.to == other.to
    }
}

impl fmt::Display for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to {
            Some(value) => value.fmt(f),
            None => f.write_str("nothing"),
        }
    }
}

/// Relocations that yield "no" where others are poisoned.
fn zero_if_absent(kind: ReloKind) -> bool {
    use ReloKind::*;
    matches!(kind, FieldExists | EnumvalExists | TypeExists | TypeMatches | TypeSize | TypeIdTarget)
}

fn width(local: Field<'_>, target: Field<'_>) -> Width {
    let (from, to) = (local.bytes, target.bytes);
    if from == to {
        return Width::Same;
    }
    let (l, t) = (local.ty, target.ty);
    match (l.kind(), t.kind()) {
        (Kind::Ptr, Kind::Ptr) => Width::Change { from, to },
        (Kind::Int, Kind::Int)
            if !l.int_encoding().is_signed() && !t.int_encoding().is_signed() =>
        {
            Width::Change { from, to }
        }
        _ => Width::Unfit,
    }
}

fn side<'a>(spec: &Spec<'a>, kind: ReloKind) -> Result<Side<'a>, Error> {
    use ReloKind::*;
    Ok(match kind {
        FieldExists | EnumvalExists | TypeExists | TypeMatches => Side::new(1u32, true),
        // Ids change when objects are linked, so the one in the insn is meaningless.
        TypeIdTarget | TypeIdLocal => Side::new(spec.root.0, false),
        TypeSize => Side::new(spec.btf.size_of(spec.root)?, true),
        EnumvalValue => {
            let value = spec.accessors.first().and_then(|acc| {
                spec.btf.ty(acc.ty).enumerators().nth(acc.idx as usize).map(|e| e.value)
            });
            // libbpf extends the sign of each that has 4 bytes.
            let ty = spec.accessors.first().map(|acc| spec.btf.ty(acc.ty).kind());
            let value = value.unwrap_or(0);
            let is_short = ty == Some(Kind::Enum);
            Side::new(if is_short { i64::from(value as i32) as u64 } else { value }, true)
        }
        _ => return field_side(spec, kind),
    })
}

/// The position of a field's bits.
struct Place {
    byte_offset: u64,
    bytes: u64,
    bit_offset: u64,
    bits: u64,
}

fn field_side<'a>(spec: &Spec<'a>, kind: ReloKind) -> Result<Side<'a>, Error> {
    let acc = spec.accessors.last().ok_or_else(|| Error::new("path is empty"))?;
    if acc.name.is_none() {
        let bytes = spec.btf.size_of(acc.ty)?;
        return match kind {
            ReloKind::FieldByteOffset => {
                let field = Some(Field { bytes, ty: spec.btf.ty(acc.ty) });
                Ok(Side { value: spec.bit_offset / 8, validate: true, field })
            }
            ReloKind::FieldByteSize => Ok(Side::new(bytes, true)),
            _ => Err(Error::new("cannot be applied to an array element")),
        };
    }
    let member = spec.btf.ty(acc.ty).members().nth(acc.idx as usize);
    let member = member.ok_or_else(|| Error::new("path leaves the type"))?;
    let bitfield = (member.bitfield_size != 0).then_some(u64::from(member.bitfield_size));
    let t = spec.btf.skip_modifiers(member.ty);
    let place = place(spec, member.ty, bitfield)?;
    // Compilers load bitfields in different ways, so the contents of the insn are not checked then.
    let validate = bitfield.is_none();
    Ok(match kind {
        ReloKind::FieldByteOffset if bitfield.is_some() => Side::new(place.byte_offset, validate),
        ReloKind::FieldByteOffset => {
            let elem = spec.innermost_element(member.ty);
            let field = Some(Field { bytes: spec.btf.size_of(elem.id())?, ty: t });
            Side { value: place.byte_offset, validate, field }
        }
        ReloKind::FieldByteSize => Side::new(place.bytes, validate),
        ReloKind::FieldSigned => {
            let is_signed_int = t.kind() == Kind::Int && t.int_encoding().is_signed();
            Side::new(t.is_signed_enum() || is_signed_int, true)
        }
        ReloKind::FieldLshiftU64 => {
            let bit_in_word = place.bit_offset - place.byte_offset * 8;
            let unused = match spec.btf.endian() {
                Endian::Little => shift(bit_in_word + place.bits),
                Endian::Big => shift(place.bytes.saturating_mul(8)) + bit_in_word,
            };
            Side::new(unused, validate)
        }
        _ => Side::new(shift(place.bits), true),
    })
}

/// Bits of a word that are not of the field. Of a wider field, libbpf lets the number overflow, for
/// which no shift is then valid.
fn shift(bits: u64) -> u64 {
    u64::from(64u32.wrapping_sub(bits as u32))
}

/// The bytes to load for a field; for a bitfield, the smallest aligned word that contains it.
fn place(spec: &Spec<'_>, ty: TypeId, bitfield: Option<u64>) -> Result<Place, Error> {
    let bit_offset = spec.bit_offset;
    let mut bytes = u64::from(spec.btf.size_of(ty)?);
    let Some(bits) = bitfield else {
        return Ok(Place { byte_offset: bit_offset / 8, bytes, bit_offset, bits: bytes * 8 });
    };
    if bytes == 0 {
        return Err(Error::new("bitfield type has no size"));
    }
    let align = |bytes: u64| bit_offset / 8 / bytes * bytes;
    while bit_offset.saturating_add(bits) - align(bytes) * 8 > bytes * 8 {
        if bytes >= 8 {
            return Err(Error::new("bitfield does not fit in one 64-bit load"));
        }
        bytes *= 2;
    }
    Ok(Place { byte_offset: align(bytes), bytes, bit_offset, bits })
}

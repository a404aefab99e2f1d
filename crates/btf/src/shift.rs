//! Shifting the ids and names in the BTF of a module, so that those of two modules do not overlap.

use crate::Kind;

/// The shift of a module's types and strings.
#[derive(Clone, Copy)]
pub(crate) struct Shift {
    pub(crate) ids: Displacement,
    pub(crate) strings: Displacement,
}

/// Numbers from `from` on are shifted by `by`.
#[derive(Clone, Copy)]
pub(crate) struct Displacement {
    pub(crate) from: u32,
    pub(crate) by: u32,
}

/// An id out of range stays so: the sum does not wrap.
fn moved(number: u32, Displacement { from, by }: Displacement) -> u32 {
    if number >= from { number.saturating_add(by) } else { number }
}

/// Shifts names and references of all types; malformed ones are left to the check that follows.
pub(crate) fn shift(words: &mut [u32], shift: Shift) {
    let id = |id: &mut u32| *id = moved(*id, shift.ids);
    let name = |at: &mut u32| *at = moved(*at, shift.strings);
    let mut at = 0;
    while let Some(&info) = words.get(at + 1) {
        let Some(kind) = Kind::from_number((info >> 24 & 0x1f) as u8) else { return };
        let end = at + 3 + kind.extra_words(info as u16);
        let Some(ty) = words.get_mut(at..end) else { return };
        name(&mut ty[0]);
        if kind.has_type() {
            id(&mut ty[2]);
        }
        let extra = &mut ty[3..];
        match kind {
            Kind::Array => extra.iter_mut().take(2).for_each(id),
            Kind::Struct | Kind::Union => extra.chunks_exact_mut(3).for_each(|member| {
                name(&mut member[0]);
                id(&mut member[1]);
            }),
            Kind::FuncProto => extra.chunks_exact_mut(2).for_each(|param| {
                name(&mut param[0]);
                id(&mut param[1]);
            }),
            Kind::Enum => extra.chunks_exact_mut(2).for_each(|value| name(&mut value[0])),
            Kind::Enum64 => extra.chunks_exact_mut(3).for_each(|value| name(&mut value[0])),
            Kind::Datasec => extra.chunks_exact_mut(3).for_each(|var| id(&mut var[0])),
            _ => {}
        }
        at = end;
    }
}

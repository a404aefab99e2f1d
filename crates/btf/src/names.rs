//! Which BTF the kernel does not load although it is well-formed: because of its names, or of
//! special fields that do not go together. Loaders then do without it.
//!
//! Kernel: the checks of BPF_BTF_LOAD, 6.18: every character was tried in every place;
//! `crates/kernel/tests/it/names.rs` repeats this.

use crate::{Btf, Error, Kind, Type, TypeId};

/// Longer names are rejected.
const NAME_BYTES_MAX: usize = 512;

/// The kernel's letters and digits: those of Latin-1.
fn is_word(byte: u8) -> bool {
    let is_letter = byte >= 0xc0 && byte != 0xd7 && byte != 0xf7;
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.' || is_letter
}

fn is_identifier(name: &[u8]) -> bool {
    let begins = name.first().is_some_and(|byte| is_word(*byte) && !byte.is_ascii_digit());
    begins && name.len() <= NAME_BYTES_MAX && name.iter().copied().all(is_word)
}

fn is_section(name: &[u8]) -> bool {
    let is_print = |byte: &u8| (0x20..0x7f).contains(byte) || *byte >= 0xa0;
    !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.iter().all(is_print)
}

/// Why the kernel does not load the object's BTF; `None` if it does.
pub fn refused_by_kernel(btf: &Btf) -> Option<Error> {
    if btf.is_empty() {
        return Some(Error::new("it has no types"));
    }
    let named = btf.iter().find_map(|ty| {
        let name = invalid_name(ty)?;
        let of = ty.kind().name();
        Some(Error::new(format!("type {} ({of}): invalid name '{name}'", ty.id().0)))
    });
    let shaped = || {
        let (id, why) = crate::type_rules::first_refused(btf)?;
        let kind = btf.ty(id).kind().name();
        Some(why.context(format!("type {id} ({kind})")))
    };
    named.or_else(shaped).or_else(|| crate::struct_metas(btf).err())
}

/// The first name of a type that the kernel does not take.
fn invalid_name(ty: Type<'_>) -> Option<&str> {
    let bytes = |offset: u32| ty.btf().str_bytes(offset);
    let wrong = |offset: &u32| !is_identifier(bytes(*offset));
    // A name that is empty is not absent.
    let absent_or = |offset: &u32| *offset != 0 && wrong(offset);
    let own = Some(ty.word(0));
    let part = |each: usize| move |n: usize| ty.word(3 + each * n);
    let found = match ty.kind() {
        Kind::Struct | Kind::Union => {
            own.filter(absent_or).or_else(|| (0..ty.vlen().into()).map(part(3)).find(absent_or))
        }
        kind @ (Kind::Enum | Kind::Enum64) => {
            let words = if kind == Kind::Enum { 2 } else { 3 };
            own.filter(absent_or).or_else(|| (0..ty.vlen().into()).map(part(words)).find(wrong))
        }
        Kind::Func => own.filter(wrong).or_else(|| {
            let proto = ty.target();
            let params =
                (0..proto.vlen().into()).filter(|n| proto.word(4 + 2 * n) != TypeId::VOID.0);
            params.map(|n| proto.word(3 + 2 * n)).find(wrong)
        }),
        Kind::Fwd | Kind::Typedef | Kind::Var => own.filter(wrong),
        Kind::FuncProto => (0..ty.vlen().into()).map(part(2)).find(absent_or),
        Kind::Datasec => own.filter(|offset| !is_section(bytes(*offset))),
        Kind::DeclTag | Kind::TypeTag => own.filter(|offset| bytes(*offset).is_empty()),
        _ => None,
    };
    found.map(|offset| ty.btf().str(offset))
}

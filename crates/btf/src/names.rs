//! Which BTF the kernel does not load although it is well-formed: because of its names, or of
//! special fields that do not go together. Loaders then do without it.
//!
//! Kernel: the checks of BPF_BTF_LOAD, 6.18: every character was tried in every place;
//! `crates/kernel/tests/names.rs` repeats this.

use crate::{Btf, Error, Kind, Type, TypeId};

/// Longer names are rejected.
const NAME_BYTES_MAX: usize = 512;

/// The kernel's letters and digits: those of Latin-1.
fn is_word(byte: u8) -> bool {
    let is_letter = byte >= 0xc0 && byte != 0xd7 && byte != 0xf7;
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.' || is_letter
}

fn is_identifier(name: &str) -> bool {
    let begins = name.bytes().next().is_some_and(|byte| is_word(byte) && !byte.is_ascii_digit());
    begins && name.len() <= NAME_BYTES_MAX && name.bytes().all(is_word)
}

fn is_section(name: &str) -> bool {
    let is_print = |byte: u8| (0x20..0x7f).contains(&byte) || byte >= 0xa0;
    !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.bytes().all(is_print)
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
fn invalid_name<'a>(ty: Type<'a>) -> Option<&'a str> {
    let name = ty.name();
    let wrong = |name: &&str| !is_identifier(name);
    // A name that is empty is not absent.
    let absent_or = |at: usize| {
        let name = ty.btf().str(ty.word(at));
        (ty.word(at) != 0 && !is_identifier(name)).then_some(name)
    };
    let param = |name: &&str| !name.is_empty() && !is_identifier(name);
    let own = Some(name);
    match ty.kind() {
        Kind::Struct | Kind::Union => {
            let members = || (0..ty.members().len()).find_map(|n| absent_or(3 + 3 * n));
            absent_or(0).or_else(members)
        }
        Kind::Enum | Kind::Enum64 => {
            absent_or(0).or_else(|| ty.enumerators().map(|it| it.name).find(wrong))
        }
        Kind::Func => {
            let params = || ty.target().params().filter(|param| param.ty != TypeId::VOID);
            own.filter(wrong).or_else(|| params().map(|param| param.name).find(wrong))
        }
        Kind::Fwd | Kind::Typedef | Kind::Var => own.filter(wrong),
        Kind::FuncProto => ty.params().map(|it| it.name).find(param),
        Kind::Datasec => own.filter(|name| !is_section(name)),
        Kind::DeclTag | Kind::TypeTag => own.filter(|name| name.is_empty()),
        _ => None,
    }
}

//! BTF for kernels that do not support all kinds: each unsupported type is replaced by one of the
//! same size that every kernel supports, under the same id.
//!
//! Information other than the size is lost to the kernel, as with every loader: tags have no
//! effect, enumerators have no value.

use crate::build::info;
use crate::{BtfBuilder, IntEncoding, Kind, TypeId};

/// Kinds added after BTF of data sections (5.2), oldest first; unsupported kinds are among them.
pub const LATER_KINDS: [Kind; 4] = [Kind::Float, Kind::DeclTag, Kind::TypeTag, Kind::Enum64];

impl BtfBuilder {
    /// Replaces types of these kinds.
    pub fn replace_kinds(&mut self, absent: &[Kind]) {
        if absent.is_empty() {
            return;
        }
        let small = self.small_int();
        for words in &mut self.types {
            let [name, head, third, rest @ ..] = &mut words[..] else { continue };
            let vlen = (*head & 0xffff) as usize;
            let number = (*head >> 24) as u8 & 0x1f;
            let Some(kind) = Kind::from_number(number) else { continue };
            match kind {
                // Signedness is recorded since there are 64-bit enums.
                Kind::Enum if absent.contains(&Kind::Enum64) => *head = info(kind, vlen, false),
                kind if !absent.contains(&kind) => {}
                Kind::Float => (*name, *head) = (0, info(Kind::Struct, 0, false)),
                Kind::TypeTag => (*name, *head) = (0, info(Kind::Const, 0, false)),
                Kind::DeclTag => {
                    (*head, *third) = (info(Kind::Int, 0, false), 1);
                    rest.fill(u8::BITS);
                }
                Kind::Enum64 => {
                    *head = info(Kind::Union, vlen, false);
                    for enumerator in rest.chunks_exact_mut(3) {
                        enumerator[1..].copy_from_slice(&[small.0, 0]);
                    }
                }
                _ => {}
            }
        }
    }

    /// A type of one byte.
    fn small_int(&mut self) -> TypeId {
        let int = |words: &Vec<u32>| {
            matches!(words[..], [_, head, 1, data] if head == info(Kind::Int, 0, false)
                && data & 0xff == u8::BITS)
        };
        match self.types.iter().position(int) {
            Some(at) => TypeId(at as u32 + 1),
            None => self.int("byte", 1, IntEncoding::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Btf, MemberDef};

    /// One type of each later kind, and a struct that contains them.
    fn all() -> BtfBuilder {
        let mut btf = BtfBuilder::new();
        let float = btf.float("double", 8);
        let big = btf.enum64("e", false, &[("A", 1 << 40), ("B", 2)]);
        let tag = btf.type_tag("user", float);
        let ptr = btf.ptr(tag);
        let held = btf.struct_(
            "s",
            24,
            &[
                MemberDef::new("f", float, 0),
                MemberDef::new("e", big, 64),
                MemberDef::new("p", ptr, 128),
            ],
        );
        btf.decl_tag("mark", held, None);
        btf
    }

    #[test]
    fn ids_and_sizes_stay() {
        let before: Btf = all().build().expect("valid");
        let mut builder = all();
        builder.replace_kinds(&LATER_KINDS);
        let after = builder.build().expect("valid");
        for ty in before.iter() {
            let now = after.ty(ty.id());
            assert!(!LATER_KINDS.contains(&now.kind()), "{}", ty.id());
            if ty.kind() != Kind::DeclTag {
                assert_eq!(before.size_of(ty.id()).ok(), after.size_of(ty.id()).ok());
            }
        }
    }

    #[test]
    fn kinds_that_the_kernel_has_stay() {
        let mut builder = all();
        builder.replace_kinds(&[]);
        assert_eq!(
            builder.build().expect("valid").type_words(),
            all().build().expect("valid").type_words()
        );
        builder.replace_kinds(&[Kind::Float]);
        let kinds: Vec<_> = builder.build().expect("valid").iter().map(|ty| ty.kind()).collect();
        assert!(kinds.contains(&Kind::Enum64) && !kinds.contains(&Kind::Float));
    }
}

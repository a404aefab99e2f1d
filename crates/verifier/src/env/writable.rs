//! Fields of kernel structs that stores may change.

use skep_btf::{Btf, Kind, Member, Type, TypeId};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::cell::OnceCell;

/// Structs at the start of one another that are looked through: a BTF file may be wrong.
const DEPTH_MAX: u32 = 32;

/// Where a field lies, in bytes from the start of a struct.
#[derive(Clone, Copy)]
pub(crate) struct Field {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) is_array: bool,
}

/// The fields that programs of this type may change in a kernel struct, found at the first store.
#[derive(Default)]
pub(crate) struct Writable(OnceCell<(TypeId, Vec<Field>)>);

impl Writable {
    /// Fields of `ty` with these paths, which follow from the type.
    pub(crate) fn fields(&self, ty: Type<'_>, paths: &[&[&str]]) -> Cow<'_, [Field]> {
        match self.0.get_or_init(|| (ty.id(), find_fields(ty, paths))) {
            (id, fields) if *id == ty.id() => Cow::Borrowed(fields),
            _ => Cow::Owned(find_fields(ty, paths)),
        }
    }
}

/// The fields named by `paths`, without missing ones. The first name of a path is looked up in
/// `ty`, then in the struct at its start. One walk finds all of them: `tcp_sock` has hundreds of
/// members.
pub(crate) fn find_fields(ty: Type<'_>, paths: &[&[&str]]) -> Vec<Field> {
    let mut left: SmallVec<[&[&str]; 10]> = paths.iter().copied().collect();
    let mut found = Vec::new();
    let mut outer = Some(ty);
    for _ in 0..DEPTH_MAX {
        let Some(ty) = outer.take().filter(|_| !left.is_empty()) else { break };
        for m in ty.members() {
            left.retain(|path| {
                let named = path.first().is_some_and(|name| m.is_named(name));
                if named {
                    found.extend(field_in(ty.btf(), m, &path[1..]));
                }
                !named
            });
            if outer.is_none() && m.bit_offset < 8 {
                outer = Some(ty.btf().skip_modifiers(m.ty)).filter(|t| t.kind().is_composite());
            }
        }
    }
    found
}

/// Member `m`, or what `rest` names in it.
fn field_in(btf: &Btf, m: Member<'_>, rest: &[&str]) -> Option<Field> {
    let (ty, at) = (btf.skip_modifiers(m.ty), m.bit_offset / 8);
    if !rest.is_empty() {
        let inner = *find_fields(ty, &[rest]).first()?;
        return Some(Field { start: at + inner.start, end: at + inner.end, ..inner });
    }
    let bits = u32::from(m.bitfield_size);
    let bytes = if bits != 0 { bits.div_ceil(8) } else { btf.size_of(m.ty).ok()? };
    Some(Field { start: at, end: at + bytes, is_array: ty.kind() == Kind::Array })
}

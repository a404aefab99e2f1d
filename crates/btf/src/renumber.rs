//! The same types under other ids.
//!
//! Ids of a kernel's types change with every build. Code that must not depend on them is tested
//! with BTF whose types were renumbered.

use crate::{Btf, BtfBuilder, IntEncoding, Kind};

impl BtfBuilder {
    /// All types of `btf` after `count` others: every id is increased by `count`.
    pub fn from_btf_behind(count: u32, btf: &Btf) -> BtfBuilder {
        let mut behind = BtfBuilder::from_btf(btf);
        let mut moved = std::mem::take(&mut behind.types);
        for (words, ty) in moved.iter_mut().zip(btf.iter()) {
            for place in references(ty.kind(), words.len()) {
                if let Some(id) = words.get_mut(place).filter(|id| **id != 0) {
                    *id = id.saturating_add(count);
                }
            }
        }
        for n in 0..count {
            behind.int(&format!("moved_by_{n}"), 4, IntEncoding::NONE);
        }
        behind.types.append(&mut moved);
        behind
    }
}

/// The words of a type that contain ids, given its length `len`.
fn references(kind: Kind, len: usize) -> Vec<usize> {
    let own = kind.has_type().then_some(2);
    let records: Vec<usize> = match kind {
        Kind::Array => vec![3, 4],
        Kind::Struct | Kind::Union => (4..len).step_by(3).collect(),
        Kind::FuncProto => (4..len).step_by(2).collect(),
        Kind::Datasec => (3..len).step_by(3).collect(),
        _ => Vec::new(),
    };
    own.into_iter().chain(records).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemberDef, SecVar, TypeId, VarLinkage};

    #[test]
    fn every_reference_follows_its_type() {
        let mut types = BtfBuilder::new();
        let int = types.int("int", 4, IntEncoding::SIGNED);
        let pointer = types.ptr(int);
        let array = types.array(pointer, int, 3);
        let one = types.struct_(
            "s",
            24,
            &[MemberDef::new("a", array, 0), MemberDef::new("v", TypeId::VOID, 0)],
        );
        let proto = types.func_proto(one, &[("x", pointer), ("", TypeId::VOID)]);
        let var = types.var("v", one, VarLinkage::Static);
        types.datasec(".data", 24, &[SecVar { ty: var, offset: 0, size: 24 }]);
        types.decl_tag("tag", proto, Some(1));
        let old = types.build().expect("plain types");
        let new = BtfBuilder::from_btf_behind(5, &old).build().expect("moved types");
        assert_eq!(new.len(), old.len() + 5);
        let name_of = |btf: &Btf, id: TypeId| {
            format!("{:?}", btf.ty(id)).split(']').next_back().map(str::to_owned)
        };
        for ty in old.iter() {
            let moved = new.ty(TypeId(ty.id().0 + 5));
            assert_eq!(name_of(&new, moved.id()), name_of(&old, ty.id()));
            assert_eq!(name_of(&new, moved.target_id()), name_of(&old, ty.target_id()));
            let members = |btf: &Btf, id| -> Vec<Option<String>> {
                let ty = btf.ty(id);
                let of = ty.members().map(|m| m.ty).chain(ty.params().map(|p| p.ty));
                of.chain(ty.vars().map(|v| v.ty)).map(|id| name_of(btf, id)).collect()
            };
            assert_eq!(members(&new, moved.id()), members(&old, ty.id()));
            assert_eq!(
                moved.array().map(|a| (a.elem.0 - 5, a.index.0 - 5, a.nelems)),
                ty.array().map(|a| (a.elem.0, a.index.0, a.nelems))
            );
        }
    }
}

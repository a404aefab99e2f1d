//! Types by name, and the decl tags of a type.

use crate::index::NameIndex;
use crate::waited::made_once;
use crate::{Btf, Kind, Type, TypeId};
use rustc_hash::FxHashMap;
use std::sync::atomic::Ordering::Relaxed;

/// Names that are looked up by going through all types, before there is an index. For a kernel,
/// one such search takes about a thirtieth of the time that the index takes; most programs need
/// a handful of names.
const SCANS_MAX: u32 = 12;

impl Btf {
    /// The first type of this exact name and kind, base first; no name finds nothing.
    pub fn find_by_name_kind(&self, name: &str, kind: Kind) -> Option<TypeId> {
        self.find_by_name(name).find(|t| t.kind() == kind).map(Type::id)
    }

    /// All types of this exact name, base first, in id order; no name finds nothing.
    pub fn find_by_name<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Type<'a>> {
        self.ids_with(name).map(|id| self.ty(id)).filter(move |t| t.name() == name)
    }

    /// Ids whose name may be `name`: a superset, base first.
    fn ids_with<'a>(&'a self, name: &'a str) -> Box<dyn Iterator<Item = TypeId> + 'a> {
        if name.is_empty() {
            return Box::new(std::iter::empty());
        }
        let scans = self.index.get().is_none() && self.scans.fetch_add(1, Relaxed) < SCANS_MAX;
        let own: Box<dyn Iterator<Item = TypeId>> = match scans {
            true => Box::new(self.scan(name)),
            false => Box::new(self.index().candidates(name, self.first_id)),
        };
        match &self.base {
            Some(base) => Box::new(base.ids_with(name).chain(own)),
            None => own,
        }
    }

    /// The same for the types that are stored here, by looking at each.
    fn scan<'a>(&'a self, name: &'a str) -> impl Iterator<Item = TypeId> + 'a {
        let types = &self.starts[..self.len()];
        let named = |(_, start): &(TypeId, &u32)| self.str_is(self.words[**start as usize], name);
        (self.first_id..).map(TypeId).zip(types).filter(named).map(|(id, _)| id)
    }

    /// Ids whose essential name (without `___flavor`) may be that of `name`: a superset, base
    /// first.
    pub(crate) fn ids_named<'a>(&'a self, name: &str) -> Box<dyn Iterator<Item = TypeId> + 'a> {
        let own = self.index().candidates(name, self.first_id);
        match &self.base {
            Some(base) => Box::new(base.ids_named(name).chain(own)),
            None => Box::new(own),
        }
    }

    fn index(&self) -> &NameIndex {
        let name_of = |n: usize| self.ty(TypeId(self.first_id + n as u32)).name();
        made_once(&self.index, || NameIndex::build(self.len(), name_of))
    }

    /// Texts of the decl tags on a type (`component` none) or on its member or parameter.
    ///
    /// For types stored here and tags stored here; looks through all types once.
    pub fn decl_tags(&self, on: TypeId, component: Option<u32>) -> impl Iterator<Item = &str> {
        let ids = self.tags().get(&on).map_or(&[][..], Vec::as_slice);
        let tags = ids.iter().map(|&id| self.ty(id));
        tags.filter(move |t| t.component_idx() == component).map(Type::name)
    }

    fn tags(&self) -> &FxHashMap<TypeId, Vec<TypeId>> {
        made_once(&self.tags, || {
            let mut tags = FxHashMap::<TypeId, Vec<TypeId>>::default();
            for tag in self.iter().filter(|t| t.kind() == Kind::DeclTag) {
                tags.entry(tag.target_id()).or_default().push(tag.id());
            }
            tags
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BtfBuilder, Endian, IntEncoding};
    use std::sync::Arc;

    /// Types with one name, with a name that ends like another, and without a name; the last two
    /// are a module's.
    fn split() -> Btf {
        let mut builder = BtfBuilder::new();
        builder.int("int", 4, IntEncoding::SIGNED);
        builder.struct_("point", 8, &[]);
        builder.struct_("", 8, &[]);
        builder.struct_("viewpoint", 8, &[]);
        builder.struct_("point___old", 8, &[]);
        builder.union_("point", 8, &[]);
        let kernel = Arc::new(builder.build().unwrap());
        let (structs, own) = ((Kind::Struct as u32) << 24, kernel.end_str() + 1);
        let words = [own, structs, 4, own, structs, 8];
        let module = crate::btf::encode(Endian::NATIVE, &words, b"\0point\0");
        Btf::parse_module(kernel, "module", &module).unwrap()
    }

    #[test]
    fn an_index_is_built_for_many_names_only_and_finds_the_same() {
        let btf = split();
        let ids = |name: &str| btf.find_by_name(name).map(|ty| ty.id().0).collect::<Vec<_>>();
        for n in 0..2 * SCANS_MAX {
            assert_eq!(btf.index.get().is_some(), n > SCANS_MAX / 4, "{n}");
            assert_eq!(ids("point"), [2, 6, 7, 8]);
            assert_eq!(ids("point___old"), [5]);
            assert_eq!((ids(""), ids("oint"), ids("points")), (vec![], vec![], vec![]));
        }
        assert_eq!(btf.find_by_name_kind("point", Kind::Union), Some(TypeId(6)));
        assert_eq!(btf.find_by_name_kind("point", Kind::Int), None);
    }
}

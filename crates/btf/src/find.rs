//! Types by name, and the decl tags of a type.

use crate::index::NameIndex;
use crate::{Btf, Kind, Type, TypeId};
use rustc_hash::FxHashMap;

impl Btf {
    /// The first type of this exact name and kind, base first; no name finds nothing.
    pub fn find_by_name_kind(&self, name: &str, kind: Kind) -> Option<TypeId> {
        let mut found = self.ids_named(name).map(|id| self.ty(id));
        found.find(|t| t.kind() == kind && t.name() == name).map(Type::id)
    }

    /// All types of this exact name, base first, in id order.
    pub fn find_by_name<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Type<'a>> {
        self.ids_named(name).map(|id| self.ty(id)).filter(move |t| t.name() == name)
    }

    /// Ids whose essential name (without `___flavor`) may be that of `name`: a superset, base
    /// first.
    pub(crate) fn ids_named<'a>(&'a self, name: &str) -> Box<dyn Iterator<Item = TypeId> + 'a> {
        let name_of = |n: usize| self.ty(TypeId(self.first_id + n as u32)).name();
        let index = || NameIndex::build(self.len(), name_of);
        let own = self.index.get_or_init(index).candidates(name, self.first_id);
        match &self.base {
            Some(base) => Box::new(base.ids_named(name).chain(own)),
            None => Box::new(own),
        }
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
        self.tags.get_or_init(|| {
            let mut tags = FxHashMap::<TypeId, Vec<TypeId>>::default();
            for tag in self.iter().filter(|t| t.kind() == Kind::DeclTag) {
                tags.entry(tag.target_id()).or_default().push(tag.id());
            }
            tags
        })
    }
}

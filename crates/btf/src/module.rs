//! Combined BTF of a kernel and its modules: ids and strings of each module follow those of the
//! previous module.
//!
//! Every module's own BTF starts where the kernel's ends, so ids of two modules overlap. Those of
//! all but the first are shifted.
//!
//! # Invariants
//! 1. Ids of the kernel's own types, and of the first module's, are those used by the kernel.

use crate::shift::{Displacement, Shift};
use crate::{Btf, Error, TypeId};
use std::sync::Arc;

impl Btf {
    /// Parses the BTF of module `name` on top of `below`, which is the kernel's or that of a kernel
    /// with modules.
    ///
    /// # Errors
    ///
    /// The bytes are not BTF of a module of that kernel.
    pub fn parse_module(below: Arc<Btf>, name: &str, bytes: &[u8]) -> Result<Btf, Error> {
        let kernel = below.root();
        let by = |to: u32, from: u32| Displacement { from, by: to.saturating_sub(from) };
        let shift = Shift {
            ids: by(below.end_id().0, kernel.end_id().0),
            strings: by(below.end_str(), kernel.end_str()),
        };
        let parsed = crate::parse::parse(Some(below), Some(shift), bytes);
        let mut btf = parsed.map_err(|e| e.context(format!("parse BTF of module {name}")))?;
        btf.module = Some(name.into());
        Ok(btf)
    }

    /// The kernel's own BTF, below all modules.
    pub fn root(&self) -> &Btf {
        let mut root = self;
        while let Some(base) = root.base() {
            root = base;
        }
        root
    }

    /// The module of a type, and its id there; none for types of the kernel itself.
    pub fn module_of(&self, id: TypeId) -> Option<(&str, TypeId)> {
        let mut btf = self;
        while id < btf.first_id() {
            btf = btf.base()?;
        }
        let moved = btf.first_id().0 - self.root().end_id().0.min(btf.first_id().0);
        Some((btf.module.as_deref()?, TypeId(id.0 - moved)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BtfBuilder, Endian, IntEncoding, Kind};

    /// A module's BTF, whose own types are a pointer to the kernel's `int` and a struct of it.
    fn module(kernel: &Btf, name: &str) -> Vec<u8> {
        let mut words = vec![0, (Kind::Ptr as u32) << 24, 1];
        let own = kernel.end_id().0;
        let text = kernel.end_str();
        words.extend([text + 1, (Kind::Struct as u32) << 24 | 1, 8, text + 1, own, 0]);
        crate::btf::encode(Endian::NATIVE, &words, format!("\0{name}\0").as_bytes())
    }

    #[test]
    fn modules_lie_behind_each_other() {
        let mut builder = BtfBuilder::new();
        builder.int("int", 4, IntEncoding::SIGNED);
        let kernel = Arc::new(builder.build().unwrap());
        let both = [module(&kernel, "one"), module(&kernel, "two")];
        let first = Btf::parse_module(Arc::clone(&kernel), "m1", &both[0]).unwrap();
        let second = Btf::parse_module(Arc::new(first), "m2", &both[1]).unwrap();
        let found = |name: &str| second.find_by_name_kind(name, Kind::Struct).unwrap();
        for (name, of) in [("one", "m1"), ("two", "m2")] {
            let id = found(name);
            assert_eq!(second.module_of(id), Some((of, TypeId(kernel.end_id().0 + 1))));
            let member = second.ty(id).members().next().unwrap();
            assert_eq!(member.name(), name);
            assert_eq!(second.ty(second.ty(member.ty).target_id()).name(), "int");
        }
        assert_ne!(found("one"), found("two"));
        assert_eq!(second.module_of(TypeId(1)), None);
        assert!(Btf::parse_module(Arc::new(second), "m3", b"none").is_err());
    }
}

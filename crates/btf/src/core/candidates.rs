//! The types of the target that a path of the object may be about: those of the same name.

use super::compat::kinds_fit;
use super::spec::Spec;
use crate::index::essential_name;
use crate::{Btf, Error, TypeId};

/// Types of the same essential name and kind: those of the kernel if it has any, else of all
/// modules.
pub(super) fn candidates<'a>(
    local: &Spec<'_>,
    targets: &[&'a Btf],
) -> Result<Vec<(&'a Btf, TypeId)>, Error> {
    let t = local.btf.ty(local.root);
    if t.name().is_empty() {
        return Err(Error::new("cannot search for an anonymous type"));
    }
    let name = essential_name(t.name());
    let mut found = Vec::new();
    for (n, btf) in targets.iter().enumerate() {
        found.extend(
            btf.ids_named(name)
                .filter(|&id| {
                    let c = btf.ty(id);
                    kinds_fit(t.kind(), c.kind()) && essential_name(c.name()) == name
                })
                .map(|id| (*btf, id)),
        );
        // Modules may follow the kernel in one BTF, too.
        let kernel_end = btf.root().end_id();
        if n == 0 && found.iter().any(|&(_, id)| id < kernel_end) {
            found.retain(|&(_, id)| id < kernel_end);
            break;
        }
    }
    Ok(found)
}

//! Access specs: the path from a root type to a field, enum value, or the type itself.
//!
//! `0:1:2` is: element 0 of an array of the root, its member 1, of that member or element 2.

use super::relo_kind::ReloKind;
use crate::layout::DEPTH_MAX;
use crate::{Btf, Error, Member, Type, TypeId};

/// Longest path.
const LEN_MAX: usize = 64;

/// One significant step: a named member, an array element, an enum value. Anonymous members are
/// steps in the access string only.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accessor<'a> {
    /// The struct that has the member, the type of the array element, or the enum.
    pub(super) ty: TypeId,
    /// Number of the member, element or value.
    pub(super) idx: u32,
    /// Name of the member or value; none for array elements.
    pub(super) name: Option<&'a str>,
}

/// A path in one BTF.
#[derive(Clone, Debug)]
pub(super) struct Spec<'a> {
    pub(super) btf: &'a Btf,
    /// As the relocation names it: may be a typedef.
    pub(super) root: TypeId,
    /// At least one, except for relocations about types.
    pub(super) accessors: Vec<Accessor<'a>>,
    /// From the start of the root to the field.
    pub(super) bit_offset: u64,
    /// Type of the last step, modifiers included.
    pub(super) last: TypeId,
    /// Steps so far, those through anonymous members included.
    pub(super) steps: usize,
}

impl<'a> Spec<'a> {
    pub(super) fn at_root(btf: &'a Btf, root: TypeId) -> Spec<'a> {
        Spec { btf, root, accessors: Vec::new(), bit_offset: 0, last: root, steps: 0 }
    }

    /// The path of a relocation in its object's BTF.
    pub(super) fn parse(
        btf: &'a Btf,
        root: TypeId,
        access: &str,
        kind: ReloKind,
    ) -> Result<Spec<'a>, Error> {
        btf.require(root)?;
        let bad = |why: &str| Error::new(format!("access string '{access}' {why}"));
        let steps: Result<Vec<u32>, _> = access.split(':').map(str::parse).collect();
        let steps = steps.map_err(|_| bad("is not a list of numbers"))?;
        if steps.len() > LEN_MAX {
            return Err(bad("is too long"));
        }
        let mut spec = Spec::at_root(btf, root);
        if kind.is_enumval() {
            let t = btf.skip_modifiers(root);
            let value = t.enumerators().nth(steps[0] as usize);
            let value = value.filter(|_| steps.len() == 1);
            let name = value.ok_or_else(|| bad("does not name an enum value"))?.name;
            spec.accessors.push(Accessor { ty: t.id(), idx: steps[0], name: Some(name) });
        } else if kind.is_field() {
            spec.enter_element(root, steps[0])?;
            steps[1..]
                .iter()
                .try_for_each(|&idx| spec.enter(idx).ok_or_else(|| bad("leaves the type"))?)?;
        } else if access != "0" {
            return Err(bad("is not 0"));
        }
        Ok(spec)
    }

    /// Extends the path by member or element `idx`; none if there is none.
    fn enter(&mut self, idx: u32) -> Option<Result<(), Error>> {
        let t = self.btf.skip_modifiers(self.last);
        if t.kind().is_composite() {
            let m = t.members().nth(idx as usize)?;
            self.enter_member(t, idx, m);
            return Some(Ok(()));
        }
        let elem = self.element_within(t, idx)?;
        Some(self.enter_element(elem, idx))
    }

    /// An error if the path cannot be extended.
    pub(super) fn check_room(&self) -> Result<(), Error> {
        if self.steps < LEN_MAX {
            return Ok(());
        }
        Err(Error::new(format!("path in the target has more than {LEN_MAX} steps")))
    }

    /// Extends the path by a member of `t`. Anonymous ones add no accessor.
    pub(super) fn enter_member(&mut self, t: Type<'a>, idx: u32, m: Member<'a>) {
        if !m.name().is_empty() {
            self.accessors.push(Accessor { ty: t.id(), idx, name: Some(m.name()) });
        }
        self.bit_offset = self.bit_offset.saturating_add(u64::from(m.bit_offset));
        self.last = m.ty;
        self.steps += 1;
    }

    /// The element type of array `t` if it has an element `idx`, which flexible arrays always do.
    pub(super) fn element_within(&self, t: Type<'a>, idx: u32) -> Option<TypeId> {
        let array = t.array()?;
        let is_last_member = || {
            let acc = self.accessors.last().filter(|acc| acc.name.is_some())?;
            Some(acc.idx + 1 == u32::from(self.btf.ty(acc.ty).vlen()))
        };
        let is_flexible = array.nelems == 0 && is_last_member() == Some(true);
        (idx < array.nelems || is_flexible).then_some(array.elem)
    }

    /// Extends the path by element `idx` of an array of `elem`.
    pub(super) fn enter_element(&mut self, elem: TypeId, idx: u32) -> Result<(), Error> {
        let ty = self.btf.skip_modifiers(elem).id();
        let bits = u64::from(self.btf.size_of(ty)?) * 8;
        self.accessors.push(Accessor { ty, idx, name: None });
        self.bit_offset = self.bit_offset.saturating_add(bits.saturating_mul(u64::from(idx)));
        self.last = ty;
        self.steps += 1;
        Ok(())
    }

    /// The innermost element type of arrays of arrays.
    pub(super) fn innermost_element(&self, id: TypeId) -> Type<'a> {
        let mut t = self.btf.skip_modifiers(id);
        for _ in 0..DEPTH_MAX {
            match t.array() {
                Some(array) => t = self.btf.skip_modifiers(array.elem),
                None => break,
            }
        }
        t
    }
}

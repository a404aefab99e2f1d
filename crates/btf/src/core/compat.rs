//! Which types of the target fit a path or a type of the object.
//!
//! Three questions of growing strictness: is a field of this type readable as that one
//! (`fields_fit`), is this the same type (`types_fit`), does that type have all of this one
//! (`types_match`).
//!
//! # Invariants
//! 1. A matcher takes at most [`VISITS_MAX`] steps and recurses at most [`DEPTH_MAX`] deep.

use super::relo_kind::ReloKind;
use super::spec::{Accessor, Spec};
use crate::index::essential_name;
use crate::layout::DEPTH_MAX;
use crate::{Btf, Error, Kind, Type, TypeId};

/// Type comparisons that one candidate may cost.
pub(super) const VISITS_MAX: u32 = 1 << 20;

/// Compares types of two BTFs.
pub(super) struct Matcher<'a> {
    local: &'a Btf,
    target: &'a Btf,
    left: u32,
}

impl<'a> Matcher<'a> {
    pub(super) fn new(local: &'a Btf, target: &'a Btf) -> Matcher<'a> {
        Matcher { local, target, left: VISITS_MAX }
    }

    fn spend(&mut self) -> Result<(), Error> {
        self.left = self.left.checked_sub(1).ok_or_else(|| Error::new("types are too complex"))?;
        Ok(())
    }

    /// The path of `local` in candidate `root` of the target, if it is there.
    pub(super) fn find(
        &mut self,
        local: &Spec<'_>,
        root: TypeId,
        kind: ReloKind,
    ) -> Result<Option<Spec<'a>>, Error> {
        let mut spec = Spec::at_root(self.target, root);
        let fits = if kind.is_field() {
            self.find_field(local, &mut spec)?
        } else if kind.is_enumval() {
            self.find_value(local, &mut spec)
        } else if kind == ReloKind::TypeMatches {
            self.types_match(local.root, root, false, DEPTH_MAX)?
        } else {
            self.types_fit(local.root, root, DEPTH_MAX)?
        };
        Ok(fits.then_some(spec))
    }

    fn find_value(&self, local: &Spec<'_>, spec: &mut Spec<'a>) -> bool {
        let t = self.target.skip_modifiers(spec.root);
        let wanted = local.accessors.first().and_then(|acc| acc.name).unwrap_or("");
        let mut values = t.enumerators().enumerate();
        let found = values.find(|(_, e)| essential_name(e.name) == essential_name(wanted));
        if let Some((idx, e)) = found {
            spec.accessors.push(Accessor { ty: t.id(), idx: idx as u32, name: Some(e.name) });
        }
        found.is_some()
    }

    fn find_field(&mut self, local: &Spec<'_>, spec: &mut Spec<'a>) -> Result<bool, Error> {
        for (n, acc) in local.accessors.iter().enumerate() {
            let fits = match acc.name {
                Some(name) => self.find_member(acc, name, spec)?,
                None if n == 0 => {
                    spec.enter_element(spec.root, acc.idx)?;
                    true
                }
                None => {
                    spec.check_room()?;
                    let t = self.target.skip_modifiers(spec.last);
                    match spec.element_within(t, acc.idx) {
                        Some(elem) => {
                            spec.enter_element(elem, acc.idx)?;
                            true
                        }
                        None => false,
                    }
                }
            };
            if !fits {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Goes on into the member of that name, also inside of anonymous members.
    fn find_member(
        &mut self,
        acc: &Accessor<'_>,
        name: &str,
        spec: &mut Spec<'a>,
    ) -> Result<bool, Error> {
        let t = self.target.skip_modifiers(spec.last);
        for (idx, m) in t.members().enumerate() {
            self.spend()?;
            spec.check_room()?;
            if m.name().is_empty() {
                let (bit_offset, last, steps) = (spec.bit_offset, spec.last, spec.steps);
                let accessors = spec.accessors.len();
                spec.enter_member(t, idx as u32, m);
                if self.find_member(acc, name, spec)? {
                    return Ok(true);
                }
                (spec.bit_offset, spec.last, spec.steps) = (bit_offset, last, steps);
                spec.accessors.truncate(accessors);
            } else if m.is_named(name) {
                let member = self.local.ty(acc.ty).members().nth(acc.idx as usize);
                let ty = member.map_or(TypeId::VOID, |m| m.ty);
                spec.enter_member(t, idx as u32, m);
                return self.fields_fit(ty, m.ty);
            }
        }
        Ok(false)
    }

    /// Whether a field of the one type can be read as the other.
    fn fields_fit(&mut self, local: TypeId, target: TypeId) -> Result<bool, Error> {
        let (mut local, mut target) = (local, target);
        for _ in 0..DEPTH_MAX {
            self.spend()?;
            let (l, t) = (self.local.skip_modifiers(local), self.target.skip_modifiers(target));
            if l.kind().is_composite() && t.kind().is_composite() {
                return Ok(true);
            }
            if !kinds_fit(l.kind(), t.kind()) {
                return Ok(false);
            }
            return Ok(match l.kind() {
                Kind::Ptr | Kind::Float => true,
                Kind::Fwd | Kind::Enum | Kind::Enum64 => {
                    l.name().is_empty() || t.name().is_empty() || names_fit(l.name(), t.name())
                }
                Kind::Int => l.int_bit_offset() == 0 && t.int_bit_offset() == 0,
                Kind::Array => {
                    (local, target) = elements(l, t);
                    continue;
                }
                _ => false,
            });
        }
        Ok(false)
    }

    /// Whether the two are one type as far as type-based relocations care: composites and enums by
    /// name (the caller made sure of it), pointers and functions by what they consist of.
    pub(super) fn types_fit(
        &mut self,
        local: TypeId,
        target: TypeId,
        depth: usize,
    ) -> Result<bool, Error> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Error::new("types are nested too deeply"));
        };
        self.spend()?;
        if depth + 1 == DEPTH_MAX {
            let (l, t) = (self.local.ty(local), self.target.ty(target));
            if !kinds_fit(l.kind(), t.kind()) {
                return Ok(false);
            }
        }
        let (l, t) = (self.local.skip_modifiers(local), self.target.skip_modifiers(target));
        if !kinds_fit(l.kind(), t.kind()) {
            return Ok(false);
        }
        match l.kind() {
            Kind::Int => Ok(l.int_bit_offset() == 0 && t.int_bit_offset() == 0),
            Kind::Ptr => self.types_fit(l.target_id(), t.target_id(), depth),
            Kind::Array => {
                let (l, t) = elements(l, t);
                self.types_fit(l, t, depth)
            }
            Kind::FuncProto => self.protos_agree(l, t, |m, l, t| m.types_fit(l, t, depth)),
            Kind::Void | Kind::Struct | Kind::Union | Kind::Fwd => Ok(true),
            Kind::Enum | Kind::Enum64 => Ok(true),
            _ => Ok(false),
        }
    }

    /// Whether the target has everything that the local type has, member by member.
    ///
    /// `behind_ptr`: whether a pointer was passed; composites then match by name. `depth`: how deep
    /// types may still be nested.
    fn types_match(
        &mut self,
        local: TypeId,
        target: TypeId,
        behind_ptr: bool,
        depth: usize,
    ) -> Result<bool, Error> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Error::new("types are nested too deeply"));
        };
        self.spend()?;
        let (l, t) = (self.local.skip_modifiers(local), self.target.skip_modifiers(target));
        if !names_fit(l.name(), t.name()) {
            return Ok(false);
        }
        let same_kind = l.kind() == t.kind();
        match l.kind() {
            Kind::Void => Ok(same_kind),
            Kind::Fwd | Kind::Struct | Kind::Union if behind_ptr => Ok(declarations_match(l, t)),
            Kind::Fwd => Ok(same_kind && l.kflag() == t.kflag()),
            Kind::Enum | Kind::Enum64 => {
                let is_like = t.kind().is_any_enum() && l.stated_size() == t.stated_size();
                Ok(is_like && self.enums_match(l, t)?)
            }
            Kind::Struct | Kind::Union => Ok(same_kind && self.members_match(l, t, depth)?),
            Kind::Int => Ok(same_kind
                && l.int_bits() == t.int_bits()
                && l.int_encoding().is_signed() == t.int_encoding().is_signed()),
            Kind::Ptr if same_kind => self.types_match(l.target_id(), t.target_id(), true, depth),
            Kind::Array => {
                let nelems = |t: Type<'_>| t.array().map(|a| a.nelems);
                let (le, te) = elements(l, t);
                Ok(same_kind
                    && nelems(l) == nelems(t)
                    && self.types_match(le, te, behind_ptr, depth)?)
            }
            Kind::FuncProto if same_kind => {
                self.protos_agree(l, t, |m, l, t| m.types_match(l, t, behind_ptr, depth))
            }
            _ => Ok(false),
        }
    }

    /// Every value of the one is, by name, a value of the other.
    fn enums_match(&mut self, l: Type<'_>, t: Type<'_>) -> Result<bool, Error> {
        if l.vlen() > t.vlen() {
            return Ok(false);
        }
        for value in l.enumerators() {
            self.spend()?;
            if !t.enumerators().any(|other| names_fit(value.name, other.name)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Every member of the one has a matching member of the same name in the other.
    fn members_match(&mut self, l: Type<'_>, t: Type<'_>, depth: usize) -> Result<bool, Error> {
        if l.vlen() > t.vlen() {
            return Ok(false);
        }
        for member in l.members() {
            let mut found = false;
            for other in t.members() {
                self.spend()?;
                if names_fit(member.name(), other.name())
                    && self.types_match(member.ty, other.ty, false, depth)?
                {
                    found = true;
                    break;
                }
            }
            if !found {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether two prototypes have equally many parameters, and `agree` says so of each and the
    /// return.
    fn protos_agree(
        &mut self,
        l: Type<'_>,
        t: Type<'_>,
        agree: impl Fn(&mut Self, TypeId, TypeId) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        if l.vlen() != t.vlen() {
            return Ok(false);
        }
        for (p, q) in l.params().zip(t.params()) {
            if !agree(self, p.ty, q.ty)? {
                return Ok(false);
            }
        }
        agree(self, l.target_id(), t.target_id())
    }
}

/// Behind a pointer, a declaration matches what it declares, and composites match by name and kind.
fn declarations_match(l: Type<'_>, t: Type<'_>) -> bool {
    let is_union = |t: Type<'_>| match t.kind() {
        Kind::Struct => Some(false),
        Kind::Union => Some(true),
        Kind::Fwd => Some(t.is_fwd_union()),
        _ => None,
    };
    is_union(l) == is_union(t)
}

fn elements(l: Type<'_>, t: Type<'_>) -> (TypeId, TypeId) {
    let elem = |t: Type<'_>| t.array().map_or(TypeId::VOID, |a| a.elem);
    (elem(l), elem(t))
}

fn names_fit(a: &str, b: &str) -> bool {
    essential_name(a) == essential_name(b)
}

/// Equal kinds; enums of both widths count as one kind.
pub(super) fn kinds_fit(a: Kind, b: Kind) -> bool {
    a == b || a.is_any_enum() && b.is_any_enum()
}

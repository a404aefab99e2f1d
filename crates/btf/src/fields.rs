//! Special fields of map values and allocated objects: those that the kernel manages.
//!
//! Kernel: `btf_parse_fields` (6.18), from its documentation and behaviour. Fields are found by the
//! name of their struct (`bpf_spin_lock`) or by the type tag of a pointer (`__kptr`). Only structs
//! are searched: fields in a union, or behind a typedef or `const`, are plain data to the kernel.
//!
//! # Invariants
//! 1. At most [`FIELDS_MAX`] fields are returned, sorted by offset, without overlap.
//! 2. A call visits at most `VISITS_MAX` members, whatever the types say.

use crate::field_kind::{FieldKind, FieldKind::*, ROWS, Row, SpecialField};
use crate::layout::DEPTH_MAX;
use crate::waited::made_once;
use crate::{Btf, Error, Kind, Member, Type, TypeId};
use rustc_hash::FxHashMap;

/// The kernel's `BTF_FIELDS_MAX`.
const FIELDS_MAX: usize = 11;
const VISITS_MAX: u32 = 1 << 18;

impl Btf {
    /// The structs that programs may allocate and that have special fields, by id; none after an
    /// error. Computed once: all programs of an object share its BTF.
    pub fn struct_metas(&self) -> &FxHashMap<TypeId, Vec<SpecialField>> {
        let find = || struct_metas(self).unwrap_or_default().into_iter().collect();
        made_once(&self.metas, find)
    }
}

/// The special fields of a map value of type `id` (a struct or `DATASEC`), by offset.
///
/// After an error the kernel still creates the map, as if its values had no special fields.
pub fn special_fields(btf: &Btf, id: TypeId) -> Result<Vec<SpecialField>, Error> {
    find(btf, id, |row| row.in_map_value, &mut { VISITS_MAX })
}

/// The special fields of the values of several maps, of types `ids`; none after an error, as in
/// [`special_fields`].
///
/// `None` if the types have more than `VISITS_MAX` members together, counted once per nesting.
pub fn special_fields_of(
    btf: &Btf,
    ids: impl IntoIterator<Item = TypeId>,
) -> Option<Vec<Vec<SpecialField>>> {
    let left = &mut { VISITS_MAX };
    let mut known = FxHashMap::<TypeId, Vec<SpecialField>>::default();
    let mut fields_of = |id| {
        if let Some(fields) = known.get(&id) {
            return Some(fields.clone());
        }
        let fields = find(btf, id, |row| row.in_map_value, left).unwrap_or_default();
        known.insert(id, fields.clone());
        (*left > 0).then_some(fields)
    };
    ids.into_iter().map(&mut fields_of).collect()
}

/// The structs that programs may allocate (`bpf_obj_new`) and that have special fields: those with
/// a lock, graph node, graph root, refcount or kptr among their members, in id order.
///
/// A kptr to something that is not a struct here, such as a forward declaration, does not count,
/// and is an error next to other special fields.
///
/// Of several structs of one name, the kernel knows the first as a lock, node and so on.
///
/// After an error the kernel rejects the whole BTF, and also if a lock, node and so on of a struct
/// is of another size than the kernel's or not aligned, so that the struct has no field at all.
pub fn struct_metas(btf: &Btf) -> Result<Vec<(TypeId, Vec<SpecialField>)>, Error> {
    let is_named = |m: Member<'_>| {
        let t = btf.ty(m.ty);
        // The other lock only counts beside these.
        let searched = |r: &Row| r.in_object && !r.kind.is_pointer() && r.kind != ResSpinLock;
        let special = |r: &Row| searched(r) && r.name == t.name();
        t.kind() == Kind::Struct
            && ROWS.iter().any(special)
            && btf.find_by_name_kind(t.name(), Kind::Struct) == Some(m.ty)
    };
    let is_tagged = |m: Member<'_>| {
        let t = btf.ty(m.ty);
        let kind = tagged_pointer(t).ok().flatten();
        kind.is_some_and(|kind| kind.row().in_object) && pointee(btf, t).is_ok()
    };
    let left = &mut { VISITS_MAX };
    let mut metas = Vec::new();
    for t in btf.iter().filter(|t| t.kind() == Kind::Struct) {
        let named = t.members().any(is_named);
        if !named && !t.members().any(is_tagged) {
            continue;
        }
        let fields = find(btf, t.id(), |row| row.in_object, left)?;
        if named && fields.is_empty() {
            let text = "a member is a special field by its name, but not by size or place";
            return Err(Error::new(text).context(format!("special fields of '{}'", t.name())));
        }
        metas.push((t.id(), fields));
    }
    Ok(metas)
}

/// Searches one struct or `DATASEC` for `allowed` kinds; at most `left` visits.
fn find(
    btf: &Btf,
    id: TypeId,
    allowed: fn(&Row) -> bool,
    left: &mut u32,
) -> Result<Vec<SpecialField>, Error> {
    let mut search = Search { btf, allowed, left, found: Vec::new() };
    let t = btf.require(id)?;
    let in_struct = |e: Error| e.context(format!("special fields of '{}'", t.name()));
    search.aggregate(t).map_err(in_struct)?;
    let mut found = search.found;
    found.sort_by_key(|f| f.offset);
    if found.windows(2).any(|w| w[0].offset.saturating_add(w[0].size) > w[1].offset) {
        return Err(Error::new(format!("special fields of '{}' overlap", t.name())));
    }
    check_together(&found).map_err(in_struct)?;
    Ok(found)
}

/// A kind of which there should be one, but one is in the value and another in a struct within it.
/// The kernel loads them with a warning (`WARN_ON_ONCE`).
pub fn repeated(fields: &[SpecialField]) -> Option<FieldKind> {
    let count = |row: &Row| fields.iter().filter(|field| field.kind == row.kind).count();
    ROWS.iter().find(|row| row.unique && count(row) > 1).map(|row| row.kind)
}

/// Kinds that require or exclude one another.
fn check_together(found: &[SpecialField]) -> Result<(), Error> {
    let has = |kind| found.iter().any(|f| f.kind == kind);
    let locked = has(SpinLock) || has(ResSpinLock);
    if has(SpinLock) && has(ResSpinLock) {
        return Err(Error::new("bpf_spin_lock and bpf_res_spin_lock in one value"));
    }
    if (has(ListHead) || has(RbRoot)) && !locked {
        return Err(Error::new("bpf_list_head or bpf_rb_root without a lock"));
    }
    if has(ListNode) && has(RbNode) && !has(Refcount) {
        return Err(Error::new("bpf_list_node and bpf_rb_node without bpf_refcount"));
    }
    Ok(())
}

/// The kind of tagged pointer, if it is one.
fn tagged_pointer(t: Type<'_>) -> Result<Option<FieldKind>, Error> {
    let t = if t.kind() == Kind::Volatile { t.target() } else { t };
    let tag = t.target();
    if t.kind() != Kind::Ptr || tag.kind() != Kind::TypeTag || tag.kflag() {
        return Ok(None);
    }
    if tag.target().kind() == Kind::TypeTag {
        return Err(Error::new(format!("pointer with tag '{}' and another", tag.name())));
    }
    match ROWS.iter().find(|row| row.kind.is_pointer() && row.name == tag.name()) {
        Some(row) => Ok(Some(row.kind)),
        None => Err(Error::new(format!("pointer with unknown tag '{}'", tag.name()))),
    }
}

/// The target struct of a tagged pointer.
fn pointee(btf: &Btf, t: Type<'_>) -> Result<TypeId, Error> {
    let t = if t.kind() == Kind::Volatile { t.target() } else { t };
    let to = btf.skip_modifiers(t.target_id());
    if to.kind() != Kind::Struct {
        return Err(Error::new("tagged pointer does not point to a struct"));
    }
    Ok(to.id())
}

impl SpecialField {
    /// Whether it is a member, or variable, of its own: not inside of another struct or an array.
    pub fn is_direct_in(&self, value: Type<'_>) -> bool {
        let is_it = |t: Type<'_>| match self.kind.is_pointer() {
            true => matches!(t.kind(), Kind::Ptr | Kind::Volatile),
            false => t.kind() == Kind::Struct && t.name() == self.kind.name(),
        };
        let at = u64::from(self.offset) * 8;
        let mut members = value.members().filter(|m| u64::from(m.bit_offset) == at);
        let mut vars = value.vars().filter(|v| v.offset == self.offset);
        members.any(|m| is_it(value.btf().ty(m.ty)))
            || vars.any(|v| is_it(value.btf().ty(v.ty).target()))
    }
}

struct Search<'a> {
    btf: &'a Btf,
    allowed: fn(&Row) -> bool,
    left: &'a mut u32,
    found: Vec<SpecialField>,
}

/// A member or variable that may be a special field.
#[derive(Clone, Copy)]
struct Slot {
    ty: TypeId,
    /// Bytes from the start of the value.
    offset: u32,
    /// In a `DATASEC`, the size stated by the section.
    expected_size: Option<u32>,
    /// Where its `contains:` decl tag would be: on this type, about this component.
    tagged: (TypeId, Option<u32>),
}

impl<'a> Search<'a> {
    fn aggregate(&mut self, t: Type<'a>) -> Result<(), Error> {
        match t.kind() {
            Kind::Struct => self.members(t, DEPTH_MAX),
            Kind::Datasec => {
                let mut seen = 0;
                t.vars().try_for_each(|v| {
                    let var = self.btf.ty(v.ty);
                    let (offset, expected_size) = (v.offset, Some(v.size));
                    let ty = var.target_id();
                    let slot = Slot { ty, offset, expected_size, tagged: (v.ty, None) };
                    self.slot(slot, &mut seen, DEPTH_MAX)
                })
            }
            _ => Ok(()),
        }
    }

    /// The members of a struct, which counts alone: where its fields are aligned, and which there
    /// is one of.
    fn members(&mut self, t: Type<'a>, depth: usize) -> Result<(), Error> {
        let mut seen = 0;
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Error::new("structs are nested too deeply"));
        };
        for (n, m) in t.members().enumerate() {
            // Regardless of its type, a bitfield disables the special fields of its struct.
            if m.bit_offset % 8 != 0 {
                return Err(Error::new("a member does not start at a byte boundary"));
            }
            let (offset, tagged) = (m.bit_offset / 8, (t.id(), Some(n as u32)));
            self.slot(Slot { ty: m.ty, offset, expected_size: None, tagged }, &mut seen, depth)?;
        }
        Ok(())
    }

    /// `seen` has bit `kind` once a unique kind was found.
    fn slot(&mut self, slot: Slot, seen: &mut u16, depth: usize) -> Result<(), Error> {
        *self.left =
            self.left.checked_sub(1).ok_or_else(|| Error::new("too many nested members"))?;
        let (t, nelems) = self.element(slot.ty)?;
        if nelems == 0 {
            return Ok(());
        }
        let fits = |size: u32| {
            slot.expected_size.is_none_or(|e| u64::from(e) == u64::from(size) * u64::from(nelems))
        };
        let Some(kind) = self.kind_of(t, seen)? else {
            let size = t.stated_size().unwrap_or(0);
            if t.kind() != Kind::Struct || !fits(size) {
                return Ok(());
            }
            let first = self.found.len();
            self.members(t, depth)?;
            for field in &mut self.found[first..] {
                let offset = field.offset.checked_add(slot.offset);
                field.offset = offset.ok_or_else(|| Error::new("offset beyond 4 GB"))?;
            }
            return self.repeat(first, nelems, size);
        };
        let row = kind.row();
        if !fits(row.size) || !slot.offset.is_multiple_of(row.align) {
            return Ok(());
        }
        if !kind.is_pointer() && (t.kind() != Kind::Struct || t.stated_size() != Some(row.size)) {
            return Ok(());
        }
        let (target, node_offset) = match kind {
            ListHead => self.graph_root(slot, ListNode)?,
            RbRoot => self.graph_root(slot, RbNode)?,
            _ if kind.is_pointer() => (Some(pointee(self.btf, t)?), None),
            _ => (None, None),
        };
        let first = self.found.len();
        let (offset, size) = (slot.offset, row.size);
        self.add(SpecialField { kind, offset, size, target, node_offset })?;
        self.repeat(first, nelems, size)
    }

    /// The element type of (nested) arrays, and the number of elements.
    fn element(&self, ty: TypeId) -> Result<(Type<'a>, u32), Error> {
        let mut t = self.btf.ty(ty);
        let mut nelems: u32 = 1;
        for _ in 0..DEPTH_MAX {
            let Some(array) = t.array() else { return Ok((t, nelems)) };
            nelems = nelems
                .checked_mul(array.nelems)
                .ok_or_else(|| Error::new("array has too many elements"))?;
            t = self.btf.ty(array.elem);
        }
        Err(Error::new("arrays are nested too deeply"))
    }

    /// The kind of special field of this type: by its name, or for pointers by their tag.
    fn kind_of(&self, t: Type<'a>, seen: &mut u16) -> Result<Option<FieldKind>, Error> {
        let by_name = |row: &&Row| !row.kind.is_pointer() && row.name == t.name();
        if let Some(row) = ROWS.iter().find(by_name).filter(|row| (self.allowed)(row)) {
            let bit = 1 << row.kind as u16;
            if row.unique && *seen & bit != 0 {
                return Err(Error::new(format!("more than one {}", row.name)));
            }
            *seen |= bit;
            return Ok(Some(row.kind));
        }
        if t.kind() == Kind::Struct {
            return Ok(None);
        }
        Ok(tagged_pointer(t)?.filter(|kind| (self.allowed)(kind.row())))
    }

    /// The contents of a list head or rb root, from its decl tag `contains:STRUCT:NODE`.
    fn graph_root(
        &self,
        slot: Slot,
        node: FieldKind,
    ) -> Result<(Option<TypeId>, Option<u32>), Error> {
        let tag = self
            .btf
            .decl_tags(slot.tagged.0, slot.tagged.1)
            .find_map(|tag| tag.strip_prefix("contains:"))
            .ok_or_else(|| Error::new("list head or rb root without a 'contains:' tag"))?;
        let (held, field) = tag
            .split_once(':')
            .ok_or_else(|| Error::new(format!("tag 'contains:{tag}' does not name a field")))?;
        let held = self
            .btf
            .find_by_name_kind(held, Kind::Struct)
            .ok_or_else(|| Error::new(format!("struct {held} of a 'contains:' tag is unknown")))?;
        let member = self.btf.ty(held).members().find(|m| m.is_named(field));
        let member = member.filter(|m| {
            let t = self.btf.ty(m.ty);
            t.kind() == Kind::Struct && t.name() == node.name() && m.bit_offset % 64 == 0
        });
        let member = member.ok_or_else(|| {
            let name = self.btf.ty(held).name();
            Error::new(format!("struct {name} has no {} '{field}'", node.name()))
        })?;
        Ok((Some(held), Some(member.bit_offset / 8)))
    }

    fn add(&mut self, field: SpecialField) -> Result<(), Error> {
        if self.found.len() >= FIELDS_MAX {
            return Err(Error::new(format!("more than {FIELDS_MAX} special fields")));
        }
        self.found.push(field);
        Ok(())
    }

    /// The fields from `first` on are in the first of `nelems` elements of `size` bytes: adds those
    /// of the other elements.
    fn repeat(&mut self, first: usize, nelems: u32, size: u32) -> Result<(), Error> {
        let fields = self.found[first..].to_vec();
        if nelems == 1 || fields.is_empty() {
            return Ok(());
        }
        if let Some(field) = fields.iter().find(|f| !f.kind.is_repeatable()) {
            return Err(Error::new(format!("array of {}", field.kind.name())));
        }
        for n in 1..nelems {
            for field in &fields {
                let offset = n.checked_mul(size).and_then(|d| field.offset.checked_add(d));
                let offset = offset.ok_or_else(|| Error::new("offset beyond 4 GB"))?;
                self.add(SpecialField { offset, ..field.clone() })?;
            }
        }
        Ok(())
    }
}

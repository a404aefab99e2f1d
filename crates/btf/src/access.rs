//! The field at an offset of a struct: the lookup behind loads through BTF pointers.
//!
//! Kernel: `btf_struct_walk`, `btf_struct_access` (6.18), from their behaviour and messages.
//!
//! # Invariants
//! 1. A walk ends within [`DEPTH_MAX`] nested structs, whatever the types say.
//! 2. Bitfields and holes are never part of an access that does not cover them completely.

use crate::layout::DEPTH_MAX;
use crate::{Btf, Kind, Member, Type, TypeId};
use std::fmt;

/// Type tag of a pointer that affects what programs may do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PtrTag {
    /// `__user`: an address of user space.
    User,
    /// `__percpu`.
    Percpu,
    /// `__rcu`.
    Rcu,
}

/// One step into a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk<'a> {
    /// Data without further structure.
    Scalar,
    /// All of a pointer to a struct or union.
    Ptr {
        /// The struct, under its modifiers.
        to: TypeId,
        /// The tag next to the pointer.
        tag: Option<PtrTag>,
        /// Whether the way leads through a union with several members, or through an element of a
        /// flexible array where [`WalkRules`] say so.
        untrusted: bool,
        /// Name of the member.
        field: &'a str,
    },
    /// All of a pointer to anything else: `void *`, `int *`, `struct foo **`, functions.
    Mem {
        /// What it points to, under its modifiers.
        to: TypeId,
        /// The tag next to the pointer.
        tag: Option<PtrTag>,
    },
    /// The start of a nested struct or union.
    Struct {
        /// It, under its modifiers.
        id: TypeId,
        /// As for [`Walk::Ptr`]; it may be such a union itself.
        untrusted: bool,
    },
}

/// Why nothing can be accessed; displays as the kernel's message, without newline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WalkError {
    /// There is no field at this offset, which the kernel reports as an invalid argument.
    NoField(String),
    /// The access does not match the field.
    Unfit(String),
}

impl fmt::Display for WalkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (WalkError::NoField(text) | WalkError::Unfit(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for WalkError {}

/// What kernels do not agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkRules {
    /// Inside a union, an access may extend into the next member.
    pub unions_run_on: bool,
    /// Pointers in the elements of flexible arrays are not trusted.
    pub flexible_arrays_untrusted: bool,
    /// Inside an element of a flexible array that is not trusted, too.
    pub flexible_arrays_run_on: bool,
}

impl Default for WalkRules {
    fn default() -> WalkRules {
        WalkRules {
            unions_run_on: true,
            flexible_arrays_untrusted: false,
            flexible_arrays_run_on: false,
        }
    }
}

/// The state of a lookup: looking for `size` bytes at `off` of `t`.
#[derive(Clone, Copy)]
struct At<'a> {
    t: Type<'a>,
    off: u32,
    size: u32,
    untrusted: bool,
    rules: WalkRules,
}

/// The result for one struct.
enum Found<'a> {
    Done(Walk<'a>),
    /// Inside this nested struct, not at its start.
    Inside(At<'a>),
}

impl Btf {
    /// One step: the first thing that an access of `size` bytes at byte `off` of struct `id` refers
    /// to.
    pub fn struct_walk(&self, id: TypeId, off: u32, size: u32) -> Result<Walk<'_>, WalkError> {
        let (t, rules) = (self.skip_modifiers(id), WalkRules::default());
        At { t, off, size, untrusted: false, rules }.walk()
    }

    /// Continues through nested structs until data or a pointer is found; never [`Walk::Struct`].
    pub fn struct_access(&self, id: TypeId, off: u32, size: u32) -> Result<Walk<'_>, WalkError> {
        self.struct_access_by(WalkRules::default(), id, off, size)
    }

    /// The same by the rules of another kernel.
    pub fn struct_access_by(
        &self,
        rules: WalkRules,
        id: TypeId,
        off: u32,
        size: u32,
    ) -> Result<Walk<'_>, WalkError> {
        let (mut id, mut off, mut untrusted) = (id, off, false);
        for _ in 0..DEPTH_MAX {
            let t = self.skip_modifiers(id);
            match (At { t, off, size, untrusted, rules }).walk()? {
                Walk::Struct { id: inner, untrusted: through } => {
                    (id, off, untrusted) = (inner, 0, through);
                }
                done => return Ok(done),
            }
        }
        Err(WalkError::Unfit(format!("struct {} is nested too deeply", self.ty(id).name())))
    }
}

impl<'a> At<'a> {
    fn walk(self) -> Result<Walk<'a>, WalkError> {
        let mut at = self;
        for _ in 0..DEPTH_MAX {
            match at.look()? {
                Found::Done(walk) => return Ok(walk),
                Found::Inside(next) => at = next,
            }
        }
        Err(WalkError::Unfit(format!("struct {} is nested too deeply", at.name())))
    }

    /// The struct's name in messages.
    fn name(self) -> &'a str {
        shown(self.t.name())
    }

    /// Wraps: an access that begins before the struct begins beyond all its fields.
    fn end(self) -> u64 {
        u64::from(self.off.wrapping_add(self.size))
    }

    fn look(mut self) -> Result<Found<'a>, WalkError> {
        // Also if the lookup starts at one, such as an LSM hook's `union bpf_attr *`.
        self.untrusted |= self.t.kind() == Kind::Union && self.t.vlen() != 1;
        if !self.t.kind().is_composite() {
            return Err(WalkError::Unfit(format!("Type '{}' is not a struct", self.name())));
        }
        if self.end() > u64::from(self.t.stated_size().unwrap_or(0)) {
            return self.flexible_array();
        }
        for m in self.t.members() {
            if m.bitfield_size != 0 {
                let end_bit = u64::from(m.bit_offset) + u64::from(m.bitfield_size);
                let covered = self.off <= m.bit_offset / 8 && end_bit.div_ceil(8) <= self.end();
                if covered {
                    return Ok(Found::Done(Walk::Scalar));
                }
                continue;
            }
            let begin = m.bit_offset / 8;
            if self.off < begin || (self.size == 0 && self.off == begin) {
                break; // in a hole; of no bytes, none are the member's
            }
            if let Some(found) = self.member(m)? {
                return Ok(found);
            }
        }
        let (name, off) = (self.name(), self.off as i32);
        Err(WalkError::NoField(format!("struct {name} doesn't have field at offset {off}")))
    }

    /// The result for member `m`, which begins at or before the access; none if it ends before it.
    fn member(self, m: Member<'a>) -> Result<Option<Found<'a>>, WalkError> {
        let btf = self.t.btf();
        let mut start = m.bit_offset / 8;
        let Ok(bytes) = btf.size_of(m.ty) else {
            return Err(WalkError::Unfit(format!("size of field {} cannot be known", m.name())));
        };
        let end = u64::from(start) + u64::from(bytes);
        if u64::from(self.off) >= end {
            return Ok(None);
        }
        let mut t = btf.skip_modifiers(m.ty);
        if t.kind() == Kind::Array {
            t = innermost_element(t);
            let elem_bytes = btf.size_of(t.id()).unwrap_or(0);
            if elem_bytes == 0 {
                return Ok(None);
            }
            start += (self.off - start) / elem_bytes * elem_bytes;
        }
        if t.kind().is_composite() {
            return Ok(Some(self.enter(t, self.off - start)));
        }
        if t.kind() == Kind::Ptr {
            return Ok(Some(Found::Done(self.pointer(t, m.name(), start)?)));
        }
        // Part of a scalar, or several elements of an array, as long as the member contains all of
        // it. Seen on 6.18: inside a union an access may also extend into the next member.
        if self.end() > end && !(self.untrusted && self.rules.unions_run_on) {
            return Err(WalkError::Unfit(format!(
                "access beyond the end of member {} (mend:{end}) in struct {} with off {} size {}",
                shown(m.name()),
                self.name(),
                self.off,
                self.size
            )));
        }
        Ok(Some(Found::Done(Walk::Scalar)))
    }

    /// The access is in nested struct `t`, `off` bytes from its start.
    fn enter(self, t: Type<'a>, off: u32) -> Found<'a> {
        let untrusted = self.untrusted || t.kind() == Kind::Union && t.vlen() != 1;
        if off == 0 {
            return Found::Done(Walk::Struct { id: t.id(), untrusted });
        }
        Found::Inside(At { t, off, untrusted, ..self })
    }

    /// Pointer `t` at byte `start`, which must be accessed as a whole.
    fn pointer(self, t: Type<'a>, field: &'a str, start: u32) -> Result<Walk<'a>, WalkError> {
        if start != self.off || self.size != crate::layout::PTR_BYTES {
            return Err(WalkError::Unfit(format!(
                "cannot access ptr member {} with moff {start} \
                 in struct {} with off {} size {}",
                shown(field),
                self.name(),
                self.off,
                self.size
            )));
        }
        let btf = self.t.btf();
        let tag = match t.target() {
            tag if tag.kind() == Kind::TypeTag && !tag.kflag() => match tag.name() {
                "user" => Some(PtrTag::User),
                "percpu" => Some(PtrTag::Percpu),
                "rcu" => Some(PtrTag::Rcu),
                _ => None,
            },
            _ => None,
        };
        let to = btf.skip_modifiers(t.target_id());
        if !to.kind().is_composite() {
            return Ok(Walk::Mem { to: to.id(), tag });
        }
        Ok(Walk::Ptr { to: to.id(), tag, untrusted: self.untrusted, field })
    }

    /// An access that ends beyond the struct: valid if its last member is a flexible array.
    fn flexible_array(self) -> Result<Found<'a>, WalkError> {
        let btf = self.t.btf();
        let beyond = || {
            let name = self.name();
            WalkError::Unfit(format!(
                "access beyond struct {name} at off {} size {}",
                self.off, self.size
            ))
        };
        let last = self.t.members().last().ok_or_else(beyond)?;
        let array = btf.skip_modifiers(last.ty).array().ok_or_else(beyond)?;
        let start = last.bit_offset / 8;
        if array.nelems != 0 || self.off < start {
            return Err(beyond());
        }
        let elem = btf.skip_modifiers(array.elem);
        if elem.kind() == Kind::Int {
            return Ok(Found::Done(Walk::Scalar));
        }
        let bytes = elem.stated_size().unwrap_or(0);
        if !elem.kind().is_composite() || bytes == 0 {
            return Err(beyond());
        }
        let mut rules = self.rules;
        rules.unions_run_on &= self.untrusted || rules.flexible_arrays_run_on;
        let untrusted = self.untrusted || rules.flexible_arrays_untrusted;
        Ok(Found::Inside(At { t: elem, off: (self.off - start) % bytes, untrusted, rules, ..self }))
    }
}

/// A name in messages.
fn shown(name: &str) -> &str {
    if name.is_empty() { "(anon)" } else { name }
}

/// The element of a (multi-dimensional) array, under its modifiers.
fn innermost_element(t: Type<'_>) -> Type<'_> {
    let mut t = t;
    for _ in 0..DEPTH_MAX {
        match t.array() {
            Some(array) => t = t.btf().skip_modifiers(array.elem),
            None => break,
        }
    }
    t
}

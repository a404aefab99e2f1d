//! Sizes and alignments, and skipping of modifiers and typedefs.

use crate::btf::CHAIN_MAX;
use crate::{Btf, Error, Kind, Type, TypeId};

/// Bytes of a pointer in BPF.
pub(crate) const PTR_BYTES: u32 = 8;
/// Maximum nesting of arrays, structs and variables; the kernel's `MAX_RESOLVE_DEPTH`.
pub(crate) const DEPTH_MAX: usize = 32;

impl Btf {
    /// The type under `const`, `volatile`, `restrict` and type tags. Typedefs are kept.
    pub fn skip_modifiers_only(&self, id: TypeId) -> Type<'_> {
        self.skip_while(id, Kind::is_modifier)
    }

    /// The type under modifiers and typedefs: the kernel's `btf_type_skip_modifiers`.
    pub fn skip_modifiers(&self, id: TypeId) -> Type<'_> {
        self.skip_while(id, Kind::is_modifier_or_typedef)
    }

    fn skip_while(&self, id: TypeId, skip: fn(Kind) -> bool) -> Type<'_> {
        let mut t = self.ty(id);
        for _ in 0..=CHAIN_MAX {
            if !skip(t.kind()) {
                break;
            }
            t = self.ty(t.target_id());
        }
        t
    }

    /// The size of a type in bytes; not defined for void, functions and forwards.
    pub fn size_of(&self, id: TypeId) -> Result<u32, Error> {
        let mut id = id;
        let mut count: u64 = 1;
        for _ in 0..=DEPTH_MAX {
            let t = self.skip_modifiers(id);
            let size = match t.kind() {
                Kind::Ptr => PTR_BYTES,
                Kind::Array => {
                    let array = t.array().ok_or_else(|| no_size(t))?;
                    count = count.saturating_mul(u64::from(array.nelems));
                    id = array.elem;
                    continue;
                }
                Kind::Var => {
                    id = t.target_id();
                    continue;
                }
                _ => t.stated_size().ok_or_else(|| no_size(t))?,
            };
            return u32::try_from(count.saturating_mul(u64::from(size)))
                .map_err(|_| Error::new(format!("size of type {id} exceeds 4 GB")));
        }
        Err(Error::new(format!("type {id} is nested too deeply")))
    }

    /// The alignment in bytes of a type; 1 for packed structs.
    pub fn align_of(&self, id: TypeId) -> Result<u32, Error> {
        Align { btf: self, left: VISITS_MAX }.of(id, DEPTH_MAX)
    }
}

/// Members that one alignment may visit.
const VISITS_MAX: u32 = 1 << 20;

struct Align<'a> {
    btf: &'a Btf,
    left: u32,
}

impl Align<'_> {
    fn of(&mut self, id: TypeId, depth: usize) -> Result<u32, Error> {
        let t = self.btf.skip_modifiers(id);
        let (Some(depth), Some(left)) = (depth.checked_sub(1), self.left.checked_sub(1)) else {
            return Err(Error::new(format!("type {id} is nested too deeply")));
        };
        self.left = left;
        match t.kind() {
            Kind::Int | Kind::Enum | Kind::Enum64 | Kind::Float => {
                Ok(t.stated_size().unwrap_or(1).clamp(1, PTR_BYTES))
            }
            Kind::Ptr => Ok(PTR_BYTES),
            Kind::Var => self.of(t.target_id(), depth),
            Kind::Array => self.of(t.array().map_or(TypeId::VOID, |a| a.elem), depth),
            Kind::Struct | Kind::Union => self.composite(t, depth),
            _ => Err(no_size(t)),
        }
    }

    /// The largest alignment of a member, or 1 if a member or the size is not a multiple of its
    /// alignment.
    fn composite(&mut self, t: Type<'_>, depth: usize) -> Result<u32, Error> {
        let mut max = 1;
        for m in t.members() {
            let align = self.of(m.ty, depth)?;
            max = max.max(align);
            if m.bitfield_size == 0 && u64::from(m.bit_offset) % (8 * u64::from(align)) != 0 {
                return Ok(1);
            }
        }
        let size = t.stated_size().unwrap_or(0);
        Ok(if size.is_multiple_of(max) { max } else { 1 })
    }
}

fn no_size(t: Type<'_>) -> Error {
    Error::new(format!("type {} ({} '{}') has no size", t.id(), t.kind().name(), t.name()))
}

//! `RegView`: what the log shows of a register.

use crate::state::reg_type::{Base, RegType};
use skep_domain::Scalar;

/// What a register holds, as far as the kernel's log shows it; displayed in the log's notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegView<'a> {
    /// The type, with the modifiers that the log shows.
    pub ty: RegType,
    /// Identity shared by copies, 0 if none.
    pub id: u32,
    /// How much a number is more than the others of its identity.
    pub added: Option<i32>,
    /// The reference on which a pointer depends, 0 if none.
    pub ref_obj_id: u32,
    /// Fixed offset of a pointer in bytes.
    pub off: i32,
    /// Those of a number, or of the variable offset of a pointer.
    pub bounds: Bounds,
    /// What a pointer points to.
    pub pointee: Pointee<&'a str>,
    /// Whether a number is shown as precise.
    pub precise: bool,
    /// Whether the kernel's log has no numbers of references of their own.
    pub(crate) shows_reference_as_id: bool,
}

/// What is known of 64 bits: those of `value`, except where `mask` has a 1, and eight bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in the log")]
pub struct Bounds {
    pub value: u64,
    pub mask: u64,
    pub smin: i64,
    pub smax: i64,
    pub umin: u64,
    pub umax: u64,
    pub smin32: i32,
    pub smax32: i32,
    pub umin32: u32,
    pub umax32: u32,
}

impl Bounds {
    /// Nothing is known.
    pub const ANY: Bounds = Bounds::of(&Scalar::unknown());

    /// Exactly one value.
    pub const fn constant(value: u64) -> Bounds {
        Bounds::of(&Scalar::constant(value))
    }

    /// The value, if the bits leave only one.
    pub const fn const_value(&self) -> Option<u64> {
        if self.mask == 0 { Some(self.value) } else { None }
    }

    pub(crate) const fn of(scalar: &Scalar) -> Bounds {
        let Scalar { var_off, smin, smax, umin, umax, .. } = *scalar;
        Bounds {
            value: var_off.value,
            mask: var_off.mask,
            smin,
            smax,
            umin,
            umax,
            smin32: scalar.s32_min,
            smax32: scalar.s32_max,
            umin32: scalar.u32_min,
            umax32: scalar.u32_max,
        }
    }
}

/// What a pointer points to, if the log shows more of it than the type; `N` is a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pointee<N> {
    /// The log shows nothing.
    Other,
    /// The stack.
    Stack {
        /// The function's frame; `None` if it is the register's own.
        frame: Option<u32>,
    },
    /// The packet, or its metadata.
    Packet {
        /// Bytes after it that are known to be inside; -1 if it is known to be at the end or
        /// beyond, -2 if beyond.
        range: i32,
    },
    /// A map, or a key or value of it.
    Map {
        /// The map's name in the kernel, maybe empty.
        name: N,
        /// In bytes.
        key_size: u32,
        /// In bytes.
        value_size: u32,
    },
    /// An object of a type.
    Type {
        /// The type's name, maybe empty.
        name: N,
    },
    /// Memory.
    Mem {
        /// In bytes.
        size: u32,
    },
    /// A dynptr.
    Dynptr {
        /// Its kind, such as `local`.
        kind: &'static str,
    },
}

impl<N> Pointee<N> {
    /// The same, with another type of name.
    pub(crate) fn with_name<'n, M>(&'n self, of: impl FnOnce(&'n N) -> M) -> Pointee<M> {
        match *self {
            Pointee::Other => Pointee::Other,
            Pointee::Stack { frame } => Pointee::Stack { frame },
            Pointee::Packet { range } => Pointee::Packet { range },
            Pointee::Map { ref name, key_size, value_size } => {
                Pointee::Map { name: of(name), key_size, value_size }
            }
            Pointee::Type { ref name } => Pointee::Type { name: of(name) },
            Pointee::Mem { size } => Pointee::Mem { size },
            Pointee::Dynptr { kind } => Pointee::Dynptr { kind },
        }
    }
}

impl<'a> RegView<'a> {
    /// A number.
    pub fn number(bounds: Bounds) -> RegView<'a> {
        RegView {
            ty: RegType::SCALAR,
            id: 0,
            added: None,
            ref_obj_id: 0,
            off: 0,
            bounds,
            pointee: Pointee::Other,
            precise: false,
            shows_reference_as_id: false,
        }
    }

    /// A pointer, with offset 0.
    pub fn pointer(ty: RegType, pointee: Pointee<&'a str>) -> RegView<'a> {
        RegView { ty, pointee, ..RegView::number(Bounds::constant(0)) }
    }

    /// Whether it is a number, and not a pointer.
    pub fn is_number(&self) -> bool {
        self.ty.is(Base::Scalar)
    }

    /// The number, if it is one and known.
    pub fn constant(&self) -> Option<u64> {
        self.bounds.const_value().filter(|_| self.is_number())
    }

    /// The known part of a pointer's offset in bytes.
    pub fn fixed_off(&self) -> i64 {
        let known = self.bounds.const_value().unwrap_or(0) as i64;
        known.wrapping_add(self.off.into())
    }
}

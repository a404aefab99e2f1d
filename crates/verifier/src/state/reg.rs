//! One register as the verifier knows it.
//!
//! Registers are small values: precision and liveness are stored in masks of the containing state
//! (see `state/checkpoint.rs`), so that equal registers can be shared.
//!
//! Kernel: `struct bpf_reg_state` (6.18), without `precise`, `live`, `parent`, `subreg_def`.

use super::reg_type::{Base, RegType, TypeFlag};
use skep_domain::Scalar;
use skep_uapi::Behaviours;

/// Flags in `Reg::id` of a scalar: it equals a linked scalar plus the constant in `off`; added in
/// 64 bits, or in 32 bits to a scalar whose upper half is zero.
pub(crate) const BPF_ADD_CONST64: u32 = 1 << 31;
pub(crate) const BPF_ADD_CONST32: u32 = 1 << 30;
pub(crate) const BPF_ADD_CONST: u32 = BPF_ADD_CONST64 | BPF_ADD_CONST32;

/// Flags that make a pointer trusted.
pub(crate) const TRUSTED: TypeFlag =
    TypeFlag::MEM_ALLOC.union(TypeFlag::PTR_TRUSTED).union(TypeFlag::NON_OWN_REF);

/// `range` of a packet pointer that is known to be at or beyond `data_end`.
pub(crate) const AT_PKT_END: i32 = -1;
pub(crate) const BEYOND_PKT_END: i32 = -2;

/// The part of a register that depends on its type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Extra {
    #[default]
    None,
    /// Bytes after the pointer that are known to lie before `data_end`, or `AT_PKT_END`,
    /// `BEYOND_PKT_END`.
    Range(i32),
    /// `map` indexes `Facts::maps`; `uid` distinguishes two lookups of an inner map.
    Map { map: u32, uid: u32 },
    /// Type id in the kernel's BTF, or in the program's own.
    Btf { id: u32, in_prog: bool },
    /// Size in bytes; `dynptr_id` is that of the dynptr of which this is a slice, or 0.
    Mem { size: u32, dynptr_id: u32 },
    /// A dynptr: its stack slots, or `CONST_PTR_TO_DYNPTR`.
    Dynptr { kind: DynptrKind, first_slot: bool },
    /// An open-coded iterator on the stack.
    Iter { btf_id: u32, active: IterState, depth: u32 },
    /// Saved irq flags on the stack.
    IrqFlag { is_lock: bool },
    /// Frame that a stack pointer points into.
    Frame(u32),
    /// Subprog that a function pointer points to.
    Subprog(u32),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum DynptrKind {
    #[default]
    Invalid,
    Local,
    Ringbuf,
    Skb,
    Xdp,
    SkbMeta,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum IterState {
    Active,
    Drained,
}

/// What is known of one register, or of one spilled register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reg {
    pub(crate) ty: RegType,
    /// Fixed offset in bytes of a pointer; for a linked scalar, the constant difference.
    pub(crate) off: i32,
    /// Identity shared by copies: of scalars (linked), of nullable pointers, of packet pointers; 0
    /// if none.
    pub(crate) id: u32,
    /// The reference on which this pointer depends; 0 if none.
    pub(crate) ref_obj_id: u32,
    /// A scalar's value, or a pointer's variable offset.
    pub(crate) val: Scalar,
    pub(crate) extra: Extra,
}

impl Reg {
    /// A register that must not be read.
    pub(crate) fn not_init() -> Reg {
        Reg { ty: RegType::NOT_INIT, ..Reg::unknown() }
    }

    /// An unknown scalar.
    pub(crate) fn unknown() -> Reg {
        Reg {
            ty: RegType::SCALAR,
            off: 0,
            id: 0,
            ref_obj_id: 0,
            val: Scalar::unknown(),
            extra: Extra::None,
        }
    }

    /// A scalar with a known value.
    pub(crate) fn constant(value: u64) -> Reg {
        Reg { val: Scalar::constant(value), ..Reg::unknown() }
    }

    /// A pointer of type `ty` with offset 0.
    pub(crate) fn pointer(ty: RegType) -> Reg {
        Reg { ty, ..Reg::constant(0) }
    }

    /// A pointer to the top of the stack of frame `frameno`.
    pub(crate) fn frame_pointer(frameno: u32) -> Reg {
        Reg { extra: Extra::Frame(frameno), ..Reg::pointer(RegType::of(Base::Stack)) }
    }

    /// The same scalar without a link: drops the id, and the constant with it.
    pub(crate) fn unlinked(&self) -> Reg {
        Reg { id: 0, off: 0, ..*self }
    }

    /// [`Reg::unlinked`] where the kernel drops the id, but on some leaves the constant, which then
    /// counts again in the next link.
    pub(crate) fn without_id(&self, rules: &Behaviours) -> Reg {
        let off = if rules.dropped_links_leave_constants { self.off } else { 0 };
        Reg { id: 0, off, ..*self }
    }

    pub(crate) fn is_scalar(&self) -> bool {
        self.ty.is(Base::Scalar)
    }
    pub(crate) fn is_const(&self) -> bool {
        self.is_scalar() && self.val.var_off.is_const()
    }
    pub(crate) fn is_null(&self) -> bool {
        self.is_const() && self.val.var_off.value == 0
    }
    /// The known value, if it is a known scalar.
    pub(crate) fn const_value(&self) -> Option<u64> {
        self.is_const().then_some(self.val.var_off.value)
    }
    /// Packet range, 0 for types that have none.
    pub(crate) fn range(&self) -> i32 {
        if let Extra::Range(r) = self.extra { r } else { 0 }
    }
    /// Index into `Facts::maps` of the map that a map pointer, value or key belongs to.
    pub(crate) fn map(&self) -> Option<u32> {
        if let Extra::Map { map, .. } = self.extra { Some(map) } else { None }
    }
    pub(crate) fn map_uid(&self) -> u32 {
        if let Extra::Map { uid, .. } = self.extra { uid } else { 0 }
    }
    /// Frame that a stack pointer points into.
    pub(crate) fn frameno(&self) -> u32 {
        if let Extra::Frame(f) = self.extra { f } else { 0 }
    }
    pub(crate) fn mem_size(&self) -> u32 {
        if let Extra::Mem { size, .. } = self.extra { size } else { 0 }
    }
    pub(crate) fn btf_id(&self) -> u32 {
        if let Extra::Btf { id, .. } = self.extra { id } else { 0 }
    }

    /// Whether a kfunc may receive the pointer as a valid object.
    ///
    /// Kernel: `is_trusted_reg` (6.18).
    pub(crate) fn is_trusted(&self) -> bool {
        if self.ref_obj_id != 0 {
            return true;
        }
        let unsafe_flags = self.ty.flags.difference(TRUSTED);
        let always = matches!(
            self.ty.base,
            Base::Socket | Base::SockCommon | Base::TcpSock | Base::ConstMapPtr
        );
        unsafe_flags.is_empty() && (always || self.ty.flags.intersects(TRUSTED))
    }

    /// The offset of a pointer, where a constant part of its own means that all of it is known.
    #[cold]
    pub(crate) fn whole_offset(&self) -> Scalar {
        match self.off {
            0 => self.val,
            off => Scalar::constant(i64::from(off) as u64),
        }
    }

    /// Whether the pointer cannot be NULL.
    ///
    /// Kernel: `reg_not_null` (6.18).
    pub(crate) fn is_not_null(&self) -> bool {
        if self.ty.may_be_null() {
            return false;
        }
        match self.ty.base {
            Base::Socket | Base::TcpSock | Base::SockCommon => true,
            Base::MapValue | Base::MapKey | Base::ConstMapPtr => true,
            Base::BtfId => self.is_trusted(),
            Base::Mem => !self.ty.has(TypeFlag::PTR_UNTRUSTED),
            _ => false,
        }
    }
}

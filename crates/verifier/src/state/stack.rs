//! The stack of one frame, in slots of eight bytes.
//!
//! # Invariants
//! 1. `slots.len() * 8` is the allocated size; slot `spi` covers bytes `[-8 * (spi + 1), -8 *
//!    spi)`.
//! 2. `spill` is meaningful only where `types[7]` is `Spill`, or the slot belongs to a dynptr,
//!    iterator or irq flag.
//!
//! Kernel: `struct bpf_stack_state`, `enum bpf_stack_slot_type` (6.18).

use super::arena::PackedReg;
use skep_uapi::limits::BPF_REG_SIZE_BYTES;

/// What one byte of the stack holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum SlotType {
    #[default]
    Invalid,
    /// Forgotten because no insn seemed to read it: kernels that forget such bytes before the walk
    /// refuse to read them.
    Forgotten,
    Spill,
    Misc,
    Zero,
    Dynptr,
    Iter,
    IrqFlag,
}

impl SlotType {
    /// Whether the byte holds nothing that may be relied on.
    #[inline]
    pub(crate) fn is_nothing(self) -> bool {
        matches!(self, SlotType::Invalid | SlotType::Forgotten)
    }

    /// How the log calls a load of a byte that cannot be read, and what it adds.
    pub(crate) fn unreadable(self) -> [&'static str; 2] {
        match self {
            SlotType::Forgotten => ["reading", ", slot poisoned by dead code elimination"],
            _ => ["invalid read", ""],
        }
    }
}

/// Eight bytes of stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Slot {
    /// Type of each byte; index 0 is the lowest address.
    pub(crate) types: [SlotType; 8],
    /// The spilled register (or dynptr, iterator, irq state).
    pub(crate) spill: PackedReg,
}

/// Bytes of a slot.
pub(crate) const BPF_REG_SIZE: i32 = BPF_REG_SIZE_BYTES as i32;

/// Slot index of a stack offset (negative, relative to the frame pointer).
pub(crate) fn spi_of(off: i32) -> usize {
    ((-off - 1) / BPF_REG_SIZE).max(0) as usize
}

impl Slot {
    /// The types as one number.
    #[inline]
    pub(crate) fn word(&self) -> u64 {
        u64::from_le_bytes(self.types.map(|t| t as u8))
    }
    /// Type of the byte at `off`. Bytes of a slot are numbered from its top, as offsets decrease.
    #[inline]
    pub(crate) fn byte(&self, off: i32) -> SlotType {
        self.types[(-off - 1) as usize % 8]
    }
    /// Whether a register (of any size) is spilled here.
    pub(crate) fn is_spilled(&self) -> bool {
        self.types[7] == SlotType::Spill
    }
    /// Bytes of the register that is spilled here.
    pub(crate) fn spilled_bytes(&self) -> i32 {
        self.types.iter().rev().take_while(|&&ty| ty == SlotType::Spill).count() as i32
    }
    /// Whether a whole register is spilled here.
    pub(crate) fn is_full_spill(&self) -> bool {
        self.types[0] == SlotType::Spill
    }
}

//! Objects in stack slots: finding, reading and clearing their slots.
//!
//! Dynptrs, iterators and saved irq flags take whole slots. A pointer to one points to its lowest
//! byte, so its first slot is the one with the highest index.
//!
//! Kernel: `stack_slot_obj_get_spi`, `is_spi_bounds_valid`, `mark_stack_slot_obj_read` (6.18).

use crate::HoleKind;
use crate::check::mem::access::{AccessType, MemAccess};
use crate::check::mem::check_mem_access;
use crate::env::{Env, Walk};
use crate::log::note::Note;
use crate::rejection::{Check, KfuncFault, Stop, Word};
use crate::state::reg::Reg;
use crate::state::stack::{BPF_REG_SIZE, Slot, SlotType};
use skep_uapi::errno;

/// The `nr` slots of an object, the first at `spi`, the others at lower indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slots {
    pub(crate) frameno: u32,
    pub(crate) spi: usize,
    pub(crate) nr: usize,
}

/// Why there is no place for an object there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoSlots {
    /// Not allocated yet: an access would grow the stack or be refused.
    OutOfRange,
    /// Not at the start of a slot; the message has been written to the log.
    Misplaced(KfuncFault),
}

impl NoSlots {
    /// The refusal, if no other message applies.
    pub(crate) fn stop(self) -> Stop {
        match self {
            NoSlots::OutOfRange => Stop::refuse_silently(errno::ERANGE, KfuncFault::SlotOutside),
            NoSlots::Misplaced(kind) => Stop::refuse_silently(errno::EINVAL, kind),
        }
    }
}

impl Slots {
    /// Slot indices, the first slot first.
    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        (self.spi + 1 - self.nr..=self.spi).rev()
    }
    /// A bit for each slot.
    pub(crate) fn mask(self) -> u64 {
        self.iter().fold(0, |mask, spi| mask | 1 << spi)
    }
}

impl Env<'_> {
    /// The slots of the object of kind `what` that the stack pointer `reg` points to.
    pub(crate) fn slots_of(&mut self, reg: &Reg, what: Word, nr: usize) -> Result<Slots, NoSlots> {
        let misplaced = |env: &mut Self, kind: KfuncFault| {
            env.trace.note(Note::Overruled { fault: &kind });
            NoSlots::Misplaced(kind)
        };
        let is_known = reg.val.var_off.is_const();
        if !is_known && self.facts.rules().dynptr_offsets_constant {
            return Err(misplaced(self, KfuncFault::SlotVariable { what }));
        }
        let added = if is_known { reg.val.var_off.value as i32 } else { 0 };
        let off = reg.off.wrapping_add(added);
        let spi = off.checked_neg().map_or(0, |n| n - 1) / BPF_REG_SIZE;
        if off % BPF_REG_SIZE != 0 || spi + 1 < nr as i32 {
            return Err(misplaced(self, KfuncFault::SlotOffset { what, off }));
        }
        if off >= 0 && self.facts.rules().objects_below_frame {
            return Err(misplaced(self, KfuncFault::SlotOffset { what, off }));
        }
        if off >= 0 {
            self.goes_through(HoleKind::ObjectAboveStack);
        }
        let (frameno, spi) = (reg.frameno(), spi as usize);
        if spi >= self.walk.cur.frames[frameno as usize].slots().len() {
            return Err(NoSlots::OutOfRange);
        }
        Ok(Slots { frameno, spi, nr })
    }

    /// The insn reads the object's slots.
    pub(crate) fn mark_slots_read(&mut self, at: Slots) {
        for spi in at.iter() {
            self.mark_stack_read(at.frameno, 1 << spi);
            self.walk.mark_stack_slot_scratched(spi);
        }
    }

    /// Fills the slots with `ty` and gives each its register, the first slot first.
    pub(crate) fn write_slots(&mut self, at: Slots, ty: SlotType, regs: impl Fn(usize) -> Reg) {
        for (i, spi) in at.iter().enumerate() {
            self.walk.cur.frames[at.frameno as usize].slot_mut(spi).types = [ty; 8];
            self.set_spilled(at.frameno, spi, &regs(i));
            self.walk.mark_stack_slot_scratched(spi);
        }
        self.mark_stack_write(at.frameno, at.mask());
    }

    /// Makes the slots invalid.
    pub(crate) fn clear_slots(&mut self, at: Slots) {
        for spi in at.iter() {
            *self.walk.cur.frames[at.frameno as usize].slot_mut(spi) = Slot::default();
            self.walk.mark_stack_slot_scratched(spi);
        }
        self.mark_stack_write(at.frameno, at.mask());
    }

    /// Simulates that the callee writes `bytes` bytes at the pointer in R`regno`, eight at a time.
    pub(crate) fn write_object(&mut self, regno: u8, bytes: i32) -> Check {
        for off in (0..bytes).step_by(BPF_REG_SIZE as usize) {
            check_mem_access(
                self,
                MemAccess {
                    regno,
                    off,
                    size: BPF_REG_SIZE,
                    ty: AccessType::Write,
                    value_regno: None,
                    strict_alignment_once: false,
                    is_ldsx: false,
                },
            )?;
        }
        Ok(())
    }
}

impl Walk {
    /// The slots, the first one first.
    pub(crate) fn slots_at(&self, at: Slots) -> impl Iterator<Item = Slot> + '_ {
        at.iter().map(move |spi| self.slot(at.frameno, spi))
    }
}

//! Saved irq flags: one stack slot each, restored in reverse order.
//!
//! Kernel: `process_irq_flag`, `mark_stack_slot_irq_flag`, `acquire_irq_state`, `release_irq_state`
//! (6.18).

use super::callee::Special;
use super::meta::Meta;
use super::slots::NoSlots;
use crate::env::Env;
use crate::rejection::{Check, KfuncFault, reject};
use crate::state::reference::{LockHome, RefKind, Reference};
use crate::state::reg::{Extra, Reg};
use crate::state::reg_type::{Base, RegType};
use crate::state::stack::{BPF_REG_SIZE, SlotType};

impl Env<'_> {
    /// Checks argument `nth` of the call, a pointer to saved irq flags.
    pub(super) fn process_irq_flag(&mut self, meta: &Meta<'_>, nth: usize) -> Check {
        let regno = nth as u8 + 1;
        let reg = self.reg(regno);
        let special = meta.callee.special;
        let is_lock =
            matches!(special, Special::ResSpinLockIrqsave | Special::ResSpinUnlockIrqrestore);
        if !reg.ty.is(Base::Stack) {
            reject!(EINVAL, KfuncFault::NotIrqFlag { nth });
        }
        if matches!(special, Special::LocalIrqSave | Special::ResSpinLockIrqsave) {
            let free = match self.slots_of(&reg, "irq_flag", 1) {
                Err(NoSlots::OutOfRange) => true,
                Err(NoSlots::Misplaced(_)) => false,
                Ok(at) => {
                    self.walk.slots_at(at).all(|slot| !slot.types.contains(&SlotType::IrqFlag))
                }
            };
            if !free {
                reject!(EINVAL, KfuncFault::IrqFlagInUse { nth });
            }
            self.write_object(regno, BPF_REG_SIZE)?;
            return self.save_irq_flag(&reg, is_lock);
        }
        let saved = match self.slots_of(&reg, "irq_flag", 1) {
            Err(_) => false,
            Ok(at) => {
                self.spilled(at.frameno, at.spi).ref_obj_id != 0
                    && self.walk.slots_at(at).all(|slot| slot.types == [SlotType::IrqFlag; 8])
            }
        };
        if !saved {
            reject!(EINVAL, KfuncFault::IrqFlagUninit { nth });
        }
        self.restore_irq_flag(&reg, is_lock)
    }

    fn save_irq_flag(&mut self, reg: &Reg, is_lock: bool) -> Check {
        let at = self.slots_of(reg, "irq_flag", 1).map_err(NoSlots::stop)?;
        let id = self.store.new_id();
        self.walk.cur.refs.acquire(Reference {
            kind: RefKind::Irq,
            id,
            insn_idx: self.walk.insn_idx,
            home: LockHome::None,
        });
        self.walk.cur.refs.active_irq_id = id;
        self.write_slots(at, SlotType::IrqFlag, |_| Reg {
            extra: Extra::IrqFlag { is_lock },
            ref_obj_id: id,
            ..Reg::pointer(RegType::of(Base::Stack))
        });
        Ok(())
    }

    fn restore_irq_flag(&mut self, reg: &Reg, is_lock: bool) -> Check {
        let at = self.slots_of(reg, "irq_flag", 1).map_err(NoSlots::stop)?;
        self.mark_slots_read(at);
        let flag = self.spilled(at.frameno, at.spi);
        let class = |is_lock| if is_lock { "lock" } else { "native" };
        if flag.extra != (Extra::IrqFlag { is_lock }) {
            let (by, with) = (class(!is_lock), class(is_lock));
            reject!(EINVAL, KfuncFault::IrqFlagKind { by, with });
        }
        let (id, active) = (flag.ref_obj_id, self.walk.cur.refs.active_irq_id);
        let refs = &self.walk.cur.refs.acquired;
        if id != active {
            let from = refs.iter().find(|r| r.kind == RefKind::Irq && r.id == active);
            let insn_idx = from.map_or(0, |r| r.insn_idx);
            reject!(EACCES, KfuncFault::IrqOrder { active, insn_idx });
        }
        let held = refs.find_newest(|r| r.kind == RefKind::Irq && r.id == id);
        if let Some(i) = held {
            let before = refs.iter().take(i).filter(|r| r.kind == RefKind::Irq).last();
            let prev = before.map_or(0, |r| r.id);
            self.walk.cur.refs.remove_at(i);
            self.walk.cur.refs.active_irq_id = prev;
            if self.facts.rules().any_section_protects {
                self.end_protection();
            }
        }
        self.clear_slots(at);
        Ok(())
    }
}

//! Scalars that are copies of each other: what a jump implies for one holds for all.
//!
//! Kernel: `collect_linked_regs`, `sync_linked_regs` (6.18).

use super::patch::Patch;
use super::scalar_rules;
use crate::env::{Env, Store};
use crate::state::arena::PackedReg;
use crate::state::history::{LINKED_REGS_MAX, LinkedReg, LinkedRegs};
use crate::state::reg::{BPF_ADD_CONST, BPF_ADD_CONST32, Reg};
use crate::state::values::SCALAR;
use skep_domain::Scalar;
use skep_uapi::Behaviours;

/// Cache keys for operations on linked scalars; no insn has them.
const UNLINKED: u32 = 1 << 26;
const SHIFTED: u32 = 1 << 27;

/// The registers that share their id with an operand of a conditional jump.
#[derive(Default)]
pub(crate) struct Linked {
    /// What the history keeps of them.
    pub(crate) recorded: LinkedRegs,
    /// Those beyond, on kernels that link any number.
    rest: Vec<LinkedReg>,
}

impl Linked {
    /// Whether a register is linked with another.
    pub(crate) fn is_shared(&self) -> bool {
        self.recorded.len() > 1
    }
    /// Whether there are some that going back over the jump would miss.
    pub(crate) fn has_more_than_recorded(&self) -> bool {
        !self.rest.is_empty()
    }
    pub(crate) fn iter(&self) -> impl Iterator<Item = LinkedReg> + '_ {
        self.recorded.iter().chain(self.rest.iter().copied())
    }
    /// Adds one; false if it does not fit. Of those that are more than `max`, it takes any number
    /// if they are `unlimited`.
    fn push(&mut self, place: LinkedReg, max: usize, unlimited: bool) -> bool {
        let fits = self.recorded.push(place, max);
        if !fits && unlimited {
            self.rest.push(place);
        }
        fits || unlimited
    }
}

impl Env<'_> {
    /// Registers of frame `f` that may still be read: live at the current insn or, in a caller, at
    /// the call into the next frame. Some kernels do not leave out the others.
    fn live_regs_in_frame(&self, f: usize) -> u16 {
        if self.facts.rules().dead_are_linked {
            return !0;
        }
        let at = match self.walk.cur.frames.get(f + 1) {
            Some(callee) => callee.meta.callsite as u32,
            None => self.walk.insn_idx,
        };
        self.learned.aux.get(at as usize).map_or(!0, |aux| aux.live_regs)
    }

    /// The scalar without its id; on some kernels the constant of a sum stays.
    fn without_id(&mut self, reg: PackedReg) -> PackedReg {
        match self.facts.rules().dropped_links_leave_constants {
            true => PackedReg { id: 0, ..reg },
            false => self.store.unlinked(reg),
        }
    }

    /// Adds the live registers that share `id`; those that do not fit lose their id.
    pub(crate) fn collect_linked_regs(&mut self, id: u32, linked: &mut Linked) {
        let id = id & !BPF_ADD_CONST;
        let narrow = self.facts.rules().narrow_spills_linked;
        let max = LINKED_REGS_MAX - usize::from(self.facts.rules().five_registers_linked);
        let unlimited = self.facts.rules().any_number_linked;
        for f in (0..self.walk.cur.frames.len()).rev() {
            let frameno = f as u8;
            let live = self.live_regs_in_frame(f);
            for at in (0..10).filter(|at| live >> at & 1 == 1) {
                let reg = self.walk.cur.frames[f].name(at);
                if self.store.arena.is(reg, SCALAR)
                    && reg.id & !BPF_ADD_CONST == id
                    && !linked.push(LinkedReg { frameno, is_reg: true, at }, max, unlimited)
                {
                    let alone = self.without_id(reg);
                    self.walk.cur.frames[f].refine_name(at, alone);
                }
            }
            for spi in 0..self.walk.cur.frames[f].slots().len() {
                let slot = self.walk.cur.frames[f].slots()[spi];
                if slot.is_spilled()
                    && (narrow || slot.is_full_spill())
                    && slot.spill.id & !BPF_ADD_CONST == id
                    && self.store.arena.is(slot.spill, SCALAR)
                    && !linked.push(
                        LinkedReg { frameno, is_reg: false, at: spi as u8 },
                        max,
                        unlimited,
                    )
                {
                    let alone = self.without_id(slot.spill);
                    self.walk.cur.frames[f].slot_mut(spi).spill = alone;
                }
            }
        }
    }

    /// Applies what is known about the register at `known` to all registers linked with it.
    pub(crate) fn sync_linked_regs(
        &mut self,
        patch: &mut Patch,
        known: LinkedReg,
        linked: &Linked,
    ) {
        let from = patch.get(self, known);
        let from = self.store.arena.pack(&from);
        for place in linked.iter().filter(|&p| p != known) {
            let reg = patch.get(self, place);
            let reg = self.store.arena.pack(&reg);
            if let Some(name) = self.linked_to(from, reg) {
                patch.set(place, self.store.arena.reg(name));
            }
        }
    }

    /// The new value of a register with value `place`, given that the register linked with it has
    /// value `known`; `None` if they are not linked.
    pub(super) fn linked_to(&mut self, known: PackedReg, place: PackedReg) -> Option<PackedReg> {
        if !self.store.arena.is(place, SCALAR)
            || place.id & !BPF_ADD_CONST != known.id & !BPF_ADD_CONST
        {
            return None;
        }
        let (consts, from_consts) = (place.id & BPF_ADD_CONST, known.id & BPF_ADD_CONST);
        if consts != 0 && from_consts != 0 && consts != from_consts {
            return None;
        }
        let off = self.store.arena.off(place.val);
        if (consts == 0 && from_consts == 0) || off == self.store.arena.off(known.val) {
            return Some(known);
        }
        let wide = (place.id | known.id) & BPF_ADD_CONST32 == 0;
        let (key, operands) = (SHIFTED | u32::from(wide), [known.val, place.val]);
        let val = match self.store.transfers.get(key, operands) {
            Some([val, ..]) => val,
            None => {
                let mut sum = self.store.arena.reg(known);
                shift(self.facts.rules(), &mut sum, off, wide);
                let val = self.store.arena.pack(&sum).val;
                self.store.transfers.insert(key, operands, [val, 0, 0, 0]);
                val
            }
        };
        let id = if self.facts.rules().synced_keep_ids { place.id } else { known.id };
        Some(PackedReg { val, id })
    }
}

impl Store {
    /// The same scalar without id and constant offset.
    pub(crate) fn unlinked(&mut self, reg: PackedReg) -> PackedReg {
        let operands = [reg.val, 0];
        let val = match self.transfers.get(UNLINKED, operands) {
            Some([val, ..]) => val,
            None => {
                let alone = self.arena.reg(reg).unlinked();
                let val = self.arena.pack(&alone).val;
                self.transfers.insert(UNLINKED, operands, [val, 0, 0, 0]);
                val
            }
        };
        PackedReg { val, id: 0 }
    }
}

/// Adds to `sum` the difference between `off` and its constant, which becomes `off`.
fn shift(rules: &Behaviours, sum: &mut Reg, off: i32, wide: bool) {
    let delta = i64::from(off) - i64::from(sum.off);
    sum.off = off;
    scalar_rules::add_linked(rules, wide, &mut sum.val, &Scalar::constant(delta as u64));
}

//! Removes dead registers and stack slots from states.
//!
//! Until 7.0 a checkpoint is cleaned once all its paths have been verified: only then is it known
//! which stack slots are read. From 7.1 that is known before the walk, and the current state is
//! cleaned wherever it may be saved.
//!
//! Kernel: `clean_live_states`, `clean_verifier_state` (6.18).

use crate::env::{Env, InsnFlags, Store};
use crate::passes::stack_use::At;
use crate::passes::stack_use::touches::Halves;
use crate::state::arena::{Arena, PackedReg};
use crate::state::checkpoint::Checkpoint;
use crate::state::frame::{Frame, frame_insn_idx};
use crate::state::reg::BPF_ADD_CONST;
use crate::state::stack::{Slot, SlotType};
use crate::state::values::SCALAR;
use skep_uapi::Behaviours;
use smallvec::SmallVec;

impl Env<'_> {
    /// Removes what is dead at `insn_idx` from the current state.
    pub(super) fn clean_current(&mut self, insn_idx: u32) {
        let n = self.walk.cur.frames.len();
        let callsites: SmallVec<[i32; 8]> =
            self.walk.cur.frames.iter().map(|f| f.meta.callsite).collect();
        let places: SmallVec<[At; 8]> = (0..n)
            .map(|i| At {
                start: self.facts.subprogs[self.walk.cur.frames[i].meta.subprogno as usize].start,
                callsite: callsites[i] as u32,
                insn: match callsites.get(i + 1) {
                    None => insn_idx,
                    Some(&callsite) => {
                        let again =
                            self.learned.aux[callsite as usize].has(InsnFlags::CALLS_CALLBACK);
                        callsite as u32 + u32::from(!again)
                    }
                },
            })
            .collect();
        let live_stack = self.facts.stack_use.live(&places);
        let rules = self.facts.rules();
        for (i, frame) in self.walk.cur.frames.iter_mut().enumerate() {
            let at = frame_insn_idx(i, n, insn_idx, |f| callsites[f]);
            let live = self.learned.aux[at as usize].live_regs;
            for regno in (0..10_u8).filter(|r| live >> r & 1 == 0) {
                if frame.name(regno) != PackedReg::default() {
                    frame.set_name(regno, PackedReg::default());
                }
            }
            clean_stack(&self.store.arena, frame, live_stack[i], rules);
        }
    }

    /// Clears the ids of scalars that are not linked with any other.
    pub(super) fn forget_single_ids(&mut self) {
        let ids = self.walk.cur.frames.iter().flat_map(|frame| {
            let regs = frame.names()[..10].iter().copied();
            let spills = frame.slots().iter().filter(|slot| slot.is_spilled());
            regs.chain(spills.map(|slot| slot.spill)).filter(|reg| self.store.is_linked(*reg))
        });
        let mut ids: SmallVec<[u32; 16]> = ids.map(|reg| reg.id & !BPF_ADD_CONST).collect();
        ids.sort_unstable();
        let single = |id: u32| {
            let first = ids.partition_point(|&other| other < id);
            ids.get(first + 1) != Some(&id)
        };
        for i in 0..self.walk.cur.frames.len() {
            for regno in 0..10_u8 {
                let reg = self.walk.cur.frames[i].name(regno);
                if self.store.is_linked(reg) && single(reg.id & !BPF_ADD_CONST) {
                    let alone = self.store.unlinked(reg);
                    self.walk.cur.frames[i].refine_name(regno, alone);
                }
            }
            for spi in 0..self.walk.cur.frames[i].slots().len() {
                let slot = self.walk.cur.frames[i].slots()[spi];
                let spilled = slot.is_spilled() && self.store.is_linked(slot.spill);
                if spilled && single(slot.spill.id & !BPF_ADD_CONST) {
                    let alone = self.store.unlinked(slot.spill);
                    self.walk.cur.frames[i].slot_mut(spi).spill = alone;
                }
            }
        }
    }

    /// Cleans the verified checkpoints of the list.
    pub(super) fn clean_live_states(&mut self, bucket: usize, insn_idx: u32) {
        let mut left = self.store.explored[bucket].uncleaned;
        let mut next = self.store.explored[bucket].newest;
        while let Some(id) = next.filter(|_| left > 0) {
            let hot = self.store.ckpts.hot(id);
            next = hot.older;
            if hot.cleaned {
                continue;
            }
            left -= 1;
            if hot.branches > 0
                || hot.insn_idx != insn_idx
                || !self.same_callsites(self.store.ckpts.get(id))
                || (!self.facts.rules().loop_entries_left_over && self.incomplete_read_marks(id))
            {
                continue;
            }
            self.clean_checkpoint(id);
            self.store.explored[bucket].uncleaned -= 1;
        }
    }

    fn same_callsites(&self, old: &Checkpoint) -> bool {
        old.state.frames.len() == self.walk.cur.frames.len()
            && old
                .state
                .frames
                .iter()
                .zip(&self.walk.cur.frames)
                .all(|(&o, c)| self.store.arena.meta(o).callsite == c.meta.callsite)
    }
}

impl Store {
    fn is_linked(&self, reg: PackedReg) -> bool {
        reg.id != 0 && self.arena.is(reg, SCALAR)
    }
}

/// Removes the halves of slots that are not in `live`.
fn clean_stack(arena: &Arena, frame: &mut Frame, live: Halves, rules: &Behaviours) {
    for spi in 0..frame.slots().len() {
        let halves = live >> (2 * spi) & 0b11;
        let Some(&old) = frame.slot(spi) else { continue };
        if halves == 0b11 {
            continue;
        }
        let is_object =
            matches!(old.types[7], SlotType::Dynptr | SlotType::Iter | SlotType::IrqFlag);
        let is_half_dead_spill = halves == 0b01 && old.is_full_spill();
        // Half of a pointer is not useful data.
        let is_kept = match arena.is(old.spill, SCALAR) {
            true => rules.half_dead_spills_kept && arena.reg(old.spill).is_const(),
            false => true,
        };
        if is_object && rules.dead_dynptrs_compared || is_half_dead_spill && is_kept {
            continue;
        }
        frame.set_slot(spi, clean_slot(arena, old, halves));
    }
}

/// The rest of a slot. A spilled register is kept while the half at which narrow loads begin is
/// live; otherwise the remaining half becomes data.
fn clean_slot(arena: &Arena, mut slot: Slot, halves: Halves) -> Slot {
    if halves & 0b01 == 0 {
        slot.types[..4].fill(SlotType::Forgotten);
    }
    if halves & 0b10 == 0 {
        if slot.is_spilled() {
            let rest = match arena.reg(slot.spill).is_null() {
                true => SlotType::Zero,
                false => SlotType::Misc,
            };
            let spilled = slot.types[..4].iter_mut().filter(|ty| **ty == SlotType::Spill);
            spilled.for_each(|ty| *ty = rest);
        }
        slot.types[4..].fill(SlotType::Forgotten);
        slot.spill = Default::default();
    }
    slot
}

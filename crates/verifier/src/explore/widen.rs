//! Widening: a loop that the verifier cannot bound is verified with unknown scalars.
//!
//! Kernel: `widen_imprecise_scalars`, `find_prev_entry` (6.18).

use crate::env::Env;
use crate::state::arena::PackedReg;
use crate::state::ids::CkptId;
use crate::state::stack::{Slot, SlotType};

impl Env<'_> {
    /// The newest checkpoint at `insn_idx` on the path of `parent`.
    pub(crate) fn find_prev_entry(&self, parent: CkptId, insn_idx: u32) -> Option<CkptId> {
        let cur = &self.store.ckpts.get(parent).state;
        let callsites = |id: CkptId| {
            self.store.ckpts.get(id).state.frames.iter().map(|&f| self.store.arena.meta(f).callsite)
        };
        let bucket =
            ((insn_idx ^ self.walk.cur.callsite_key()) % self.facts.insns.len() as u32) as usize;
        self.store.ckpts.list(self.store.explored[bucket].newest).find(|&id| {
            let ckpt = self.store.ckpts.get(id);
            ckpt.state.meta.insn_idx == insn_idx
                && self.store.ckpts.hot(id).branches > 0
                && ckpt.state.meta.dfs_depth < cur.meta.dfs_depth
                && callsites(id).eq(callsites(parent))
        })
    }

    /// Makes scalars of the branch pushed last unknown if they differ from those at `prev` and are
    /// not precise there.
    pub(crate) fn widen_imprecise_scalars(&mut self, prev: CkptId) {
        self.store.idmap.reset(self.store.id_gen);
        let frames = self.store.ckpts.get(prev).state.frames.clone();
        for fr in (0..frames.len()).rev() {
            let marks = self.store.ckpts.get(prev).precise[fr];
            let Some(cur_id) =
                self.store.branches.last_mut().and_then(|b| b.state.frames.get(fr).copied())
            else {
                continue;
            };
            let mut regs = self.store.arena.frame(cur_id).regs;
            let mut slots: Vec<Slot> = self.store.arena.frame_slots(cur_id).copied().collect();
            let olds = self.store.arena.frame(frames[fr]).regs;
            for (r, (old, reg)) in olds.into_iter().zip(&mut regs).enumerate() {
                self.maybe_widen(old, marks.regs >> r & 1 == 1, reg);
            }
            for (spi, slot) in slots.iter_mut().enumerate() {
                let old = self.store.arena.frame_slot(frames[fr], spi).copied();
                let Some(old) = old.filter(|o| o.types[7] == SlotType::Spill) else { continue };
                if slot.is_spilled() {
                    self.maybe_widen(old.spill, marks.stack >> spi & 1 == 1, &mut slot.spill);
                }
            }
            let widened = self.store.arena.edit_frame(
                cur_id,
                |r| *r = regs,
                !0,
                |first, page| {
                    let new = &slots[first..first + page.len()];
                    let changes = page != new;
                    page.copy_from_slice(new);
                    changes
                },
            );
            if let Some(branch) = self.store.branches.last_mut() {
                branch.state.frames[fr] = widened;
            }
        }
    }

    /// The newest checkpoint at `insn_idx` on the current path, with the same callers.
    pub(crate) fn find_prev_entry_of_current(&self, insn_idx: u32) -> Option<CkptId> {
        let bucket =
            ((insn_idx ^ self.walk.cur.callsite_key()) % self.facts.insns.len() as u32) as usize;
        self.store.ckpts.list(self.store.explored[bucket].newest).find(|&id| {
            let ckpt = self.store.ckpts.get(id);
            let callsites = ckpt.state.frames.iter().map(|&f| self.store.arena.meta(f).callsite);
            ckpt.state.meta.insn_idx == insn_idx
                && self.store.ckpts.hot(id).branches > 0
                && ckpt.state.meta.dfs_depth < self.walk.cur.meta.dfs_depth
                && callsites.eq(self.walk.cur.frames.iter().map(|f| f.meta.callsite))
        })
    }

    /// The same as [`Self::widen_imprecise_scalars`], for the current state.
    pub(crate) fn widen_current(&mut self, prev: CkptId) {
        self.store.idmap.reset(self.store.id_gen);
        let frames = self.store.ckpts.get(prev).state.frames.clone();
        for fr in (0..frames.len()).rev() {
            let marks = self.store.ckpts.get(prev).precise[fr];
            for r in 0..10u8 {
                let old = self.store.arena.frame(frames[fr]).regs[r as usize];
                let mut name = self.walk.cur.frames[fr].name(r);
                self.maybe_widen(old, marks.regs >> r & 1 == 1, &mut name);
                self.walk.cur.frames[fr].set_name(r, name);
            }
            let old_slots: Vec<Slot> = self.store.arena.frame_slots(frames[fr]).copied().collect();
            for (spi, old) in old_slots.iter().enumerate() {
                let Some(slot) = self.walk.cur.frames[fr].slot(spi).copied() else { break };
                if old.is_spilled() && slot.is_spilled() {
                    let mut packed = slot.spill;
                    self.maybe_widen(old.spill, marks.stack >> spi & 1 == 1, &mut packed);
                    if packed != slot.spill {
                        self.walk.cur.frames[fr].slot_mut(spi).spill = packed;
                    }
                }
            }
        }
    }

    fn maybe_widen(&mut self, old: PackedReg, precise: bool, cur: &mut PackedReg) {
        let (o, c) = (self.store.arena.val(old.val), self.store.arena.val(cur.val));
        if !o.is_scalar() || !c.is_scalar() || precise || self.facts.all_precise {
            return;
        }
        let exact = o.off == c.off
            && o.extra == c.extra
            && o.val == c.val
            && (self.facts.rules().widening_ignores_ids
                || self.store.idmap.check_ids(old.id, cur.id));
        if !exact {
            *cur = PackedReg::UNKNOWN;
        }
    }
}

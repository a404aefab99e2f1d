//! The changes that one outcome of a conditional jump makes to the state: computed once, applied to
//! the current state or to the pending branch.

use crate::env::{Env, Store};
use crate::state::arena::PackedReg;
use crate::state::frame::PAGE_SLOTS;
use crate::state::history::LinkedReg;
use crate::state::reg::Reg;
use smallvec::SmallVec;

/// Changed registers and spilled registers, with their places.
#[derive(Default)]
pub(crate) struct Patch {
    items: SmallVec<[(LinkedReg, Reg); 4]>,
    renames: Renames,
}

/// Places, with interned registers.
pub(crate) type Renames = SmallVec<[(LinkedReg, PackedReg); 4]>;

impl Patch {
    /// The register at `place` after the changes so far.
    pub(crate) fn get(&self, env: &Env<'_>, place: LinkedReg) -> Reg {
        match self.items.iter().find(|(p, _)| *p == place) {
            Some((_, reg)) => *reg,
            None if place.is_reg => {
                env.store.arena.reg(env.walk.cur.frames[place.frameno as usize].name(place.at))
            }
            None => env.spilled(u32::from(place.frameno), place.at as usize),
        }
    }

    /// Changes the register at `place`.
    pub(crate) fn set(&mut self, place: LinkedReg, reg: Reg) {
        match self.items.iter_mut().find(|(p, _)| *p == place) {
            Some((_, old)) => *old = reg,
            None => self.items.push((place, reg)),
        }
    }
}

/// The registers and spilled registers of the current state that have this id, with their places.
pub(crate) fn named_with_id(env: &Env<'_>, id: u32) -> Renames {
    let mut found = Renames::new();
    for (f, frame) in env.walk.cur.frames.iter().enumerate() {
        let frameno = f as u8;
        let mut add = |is_reg, at: usize, name: PackedReg| {
            if env.store.arena.id(name) == id {
                found.push((LinkedReg { frameno, is_reg, at: at as u8 }, name));
            }
        };
        for (at, &name) in frame.names().iter().enumerate() {
            add(true, at, name);
        }
        for (spi, slot) in frame.slots().iter().enumerate().filter(|(_, slot)| slot.is_spilled()) {
            add(false, spi, slot.spill);
        }
    }
    found
}

impl Env<'_> {
    /// Replaces the register at each of `places` by what `rename` returns; consecutive equal
    /// registers need one call.
    pub(crate) fn rename(
        &mut self,
        patch: &mut Patch,
        places: &Renames,
        mut rename: impl FnMut(&mut Self, PackedReg) -> Option<PackedReg>,
    ) {
        let mut last = None;
        for &(place, name) in places {
            let new: Option<PackedReg> = match last {
                Some((asked, new)) if asked == name => new,
                _ => rename(self, name),
            };
            last = Some((name, new));
            if let Some(new) = new.filter(|&new| new != name) {
                patch.renames.push((place, new));
            }
        }
    }

    /// Applies the changes to the current state.
    pub(crate) fn apply(&mut self, patch: &Patch) {
        for (place, reg) in &patch.items {
            if place.is_reg {
                let name = self.store.arena.pack(reg);
                self.walk.cur.frames[place.frameno as usize].refine_name(place.at, name);
            } else {
                self.set_spilled(u32::from(place.frameno), place.at as usize, reg);
            }
        }
        for &(place, name) in &patch.renames {
            let frame = &mut self.walk.cur.frames[place.frameno as usize];
            if place.is_reg {
                frame.refine_name(place.at, name);
            } else {
                frame.slot_mut(place.at as usize).spill = name;
            }
        }
    }
}

impl Store {
    /// Applies the changes to the branch pushed last, which is a copy of the current state.
    pub(crate) fn apply_to_branch(&mut self, patch: &Patch) {
        let items = patch.items.iter().map(|(place, reg)| (*place, self.arena.pack(reg)));
        let mut changes: Renames = items.collect();
        changes.extend_from_slice(&patch.renames);
        // Slots before registers, for each frame.
        changes.sort_unstable_by_key(|(place, _)| (place.frameno, place.is_reg, place.at));
        let Some(branch) = self.branches.last_mut() else { return };
        for (f, id) in branch.state.frames.iter_mut().enumerate() {
            let rest = |rest: (u8, bool, usize)| {
                changes.partition_point(|(p, _)| (p.frameno, p.is_reg, p.at.into()) < rest)
            };
            let f = f as u8;
            let (first, first_reg, end) =
                (rest((f, false, 0)), rest((f, true, 0)), rest((f + 1, false, 0)));
            if first == end {
                continue;
            }
            let (slots, regs) = (&changes[first..first_reg], &changes[first_reg..end]);
            let pages =
                slots.iter().fold(0, |pages, (p, _)| pages | 1 << (p.at / PAGE_SLOTS as u8));
            let edit_regs = |names: &mut [PackedReg; 11]| {
                regs.iter().for_each(|(place, name)| names[place.at as usize] = *name);
            };
            let mut changed = slots.iter().peekable();
            *id = self.arena.edit_frame(*id, edit_regs, pages, |first, slots| {
                let end = first + slots.len();
                let here = |(p, _): &&(LinkedReg, PackedReg)| usize::from(p.at) < end;
                while let Some((place, name)) = changed.next_if(here) {
                    slots[place.at as usize - first].spill = *name;
                }
                true
            });
        }
    }
}

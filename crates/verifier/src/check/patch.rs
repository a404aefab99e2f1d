//! Changes that one outcome of a conditional jump makes to the state: computed once, applied to
//! the current state or to the branch that waits.

use crate::env::Env;
use crate::state::arena::PackedReg;
use crate::state::history::LinkedReg;
use crate::state::reg::Reg;
use smallvec::SmallVec;

/// Changed registers and spilled registers, by place.
#[derive(Default)]
pub(crate) struct Patch {
    items: SmallVec<[(LinkedReg, Reg); 4]>,
}

impl Patch {
    /// The register at `place` with the changes so far.
    pub(crate) fn get(&self, env: &Env<'_>, place: LinkedReg) -> Reg {
        match self.items.iter().find(|(p, _)| *p == place) {
            Some((_, reg)) => *reg,
            None if place.is_reg => {
                env.arena.reg(env.cur.frames[place.frameno as usize].name(place.at))
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

/// Places of the current state that hold a register with this id.
pub(crate) fn places_with_id(env: &Env<'_>, id: u32) -> impl Iterator<Item = LinkedReg> {
    env.cur.frames.iter().enumerate().flat_map(move |(f, frame)| {
        let frameno = f as u8;
        let regs = frame.names().iter().enumerate().filter(move |(_, name)| name.id == id);
        let slots = frame.slots().iter().enumerate();
        let slots = slots.filter(move |(_, s)| s.spill.id == id && s.is_spilled());
        regs.map(move |(at, _)| LinkedReg { frameno, is_reg: true, at: at as u8 })
            .chain(slots.map(move |(at, _)| LinkedReg { frameno, is_reg: false, at: at as u8 }))
    })
}

impl Env<'_> {
    /// Applies the changes to the current state.
    pub(crate) fn apply(&mut self, patch: &Patch) {
        for (place, reg) in &patch.items {
            if place.is_reg {
                let name = self.arena.pack(reg);
                self.cur.frames[place.frameno as usize].refine_name(place.at, name);
            } else {
                self.set_spilled(u32::from(place.frameno), place.at as usize, reg);
            }
        }
    }

    /// Applies the changes to the branch that was pushed last, a copy of the current state.
    pub(crate) fn apply_to_branch(&mut self, patch: &Patch) {
        let packed: SmallVec<[(LinkedReg, PackedReg); 4]> =
            patch.items.iter().map(|(place, reg)| (*place, self.arena.pack(reg))).collect();
        let Some(branch) = self.branches.last_mut() else { return };
        for (f, id) in branch.state.frames.iter_mut().enumerate() {
            if packed.iter().all(|(place, _)| place.frameno as usize != f) {
                continue;
            }
            let here = |is_reg| {
                let here = move |p: &LinkedReg| p.frameno as usize == f && p.is_reg == is_reg;
                packed.iter().filter(move |(p, _)| here(p))
            };
            let edit_regs = |regs: &mut [PackedReg; 11]| {
                here(true).for_each(|(place, reg)| regs[place.at as usize] = *reg);
            };
            *id = self.arena.edit_frame(*id, edit_regs, |first, slots| {
                let mut changed = false;
                for (place, reg) in here(false) {
                    let at = (place.at as usize).checked_sub(first);
                    if let Some(slot) = at.and_then(|at| slots.get_mut(at)) {
                        slot.spill = *reg;
                        changed = true;
                    }
                }
                changed
            });
        }
    }
}

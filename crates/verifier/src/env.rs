//! The verifier's working set for one program, divided by who may write which part.
//!
//! Kernel: `struct bpf_verifier_env`, `struct bpf_subprog_info` (6.18).

pub(crate) mod facts;
pub(crate) mod learned;
pub(crate) mod store;
pub(crate) mod walk;
pub(crate) mod writable;

pub(crate) use crate::insn_aux::{CallMap, Form, Found, InsnAux, InsnFlags, LoopInline};
pub(crate) use crate::trace::sinks::Trace;
pub(crate) use facts::{Facts, MapView, Subprog};
pub(crate) use learned::{Learned, SubprogUse};
pub(crate) use store::Store;
pub(crate) use walk::Walk;

use crate::state::arena::{Arena, PackedReg};
use crate::state::frame::Frame;
use crate::state::reg::Reg;
use skep_insn::Insn;
use std::ops::{Deref, DerefMut};

/// The working set while the passes collect the facts, before the walk.
pub(crate) struct Setup<'a> {
    pub(crate) facts: Facts<'a>,
    pub(crate) walk: Walk,
    pub(crate) store: Store,
    pub(crate) learned: Learned,
    pub(crate) trace: Trace<'a>,
}

/// The working set during the walk and afterwards.
pub(crate) struct Env<'a> {
    pub(crate) facts: &'a Facts<'a>,
    pub(crate) walk: Walk,
    pub(crate) store: Store,
    pub(crate) learned: Learned,
    pub(crate) trace: Trace<'a>,
}

/// A register that is being changed; it is interned again when this is dropped.
pub(crate) struct RegMut<'a> {
    reg: Reg,
    i: u8,
    frame: &'a mut Frame,
    arena: &'a mut Arena,
}

impl Deref for RegMut<'_> {
    type Target = Reg;
    fn deref(&self) -> &Reg {
        &self.reg
    }
}

impl DerefMut for RegMut<'_> {
    fn deref_mut(&mut self) -> &mut Reg {
        &mut self.reg
    }
}

impl Drop for RegMut<'_> {
    fn drop(&mut self) {
        self.arena.set_reg(self.frame, self.i, &self.reg);
    }
}

impl Env<'_> {
    /// Reads a register of the current frame.
    #[inline(always)]
    pub(crate) fn reg(&self, i: u8) -> Reg {
        self.store.arena.reg(self.walk.cur.frame().name(i))
    }
    /// Changes a register of the current frame; it is printed with the next state.
    pub(crate) fn reg_mut(&mut self, i: u8) -> RegMut<'_> {
        self.walk.scratched_regs |= 1 << i;
        let reg = self.reg(i);
        RegMut { reg, i, frame: self.walk.cur.frame_mut(), arena: &mut self.store.arena }
    }
    /// Replaces a register of the current frame.
    pub(crate) fn set_reg(&mut self, i: u8, reg: Reg) {
        let name = self.store.arena.pack(&reg);
        self.walk.set_name(i, name);
    }
    /// The insn being walked.
    pub(crate) fn insn(&self) -> Insn {
        self.facts.insns[self.walk.insn_idx as usize]
    }
    pub(crate) fn aux(&self) -> &InsnAux {
        &self.learned.aux[self.walk.insn_idx as usize]
    }
    pub(crate) fn aux_mut(&mut self) -> &mut InsnAux {
        &mut self.learned.aux[self.walk.insn_idx as usize]
    }

    /// The register spilled in slot `spi` of frame `frameno`.
    pub(crate) fn spilled(&self, frameno: u32, spi: usize) -> Reg {
        match self.walk.cur.frames[frameno as usize].slot(spi) {
            Some(slot) => self.store.arena.reg(slot.spill),
            None => Reg::not_init(),
        }
    }
    /// Replaces it; the caller sets the slot's types.
    pub(crate) fn set_spilled(&mut self, frameno: u32, spi: usize, reg: &Reg) {
        let packed = self.store.arena.pack(reg);
        self.walk.cur.frames[frameno as usize].slot_mut(spi).spill = packed;
    }

    /// Calls `edit` for every register and spilled register of all frames; it returns whether it
    /// changed the register.
    ///
    /// Kernel: `bpf_for_each_reg_in_vstate` (6.18).
    pub(crate) fn for_each_reg(&mut self, mut edit: impl FnMut(&mut Reg) -> bool) {
        for frame in &mut self.walk.cur.frames {
            for i in 0..11 {
                let mut reg = self.store.arena.reg(frame.name(i));
                if edit(&mut reg) {
                    self.store.arena.set_reg(frame, i, &reg);
                }
            }
            for spi in 0..frame.slots().len() {
                if frame.slots()[spi].is_spilled() {
                    let mut reg = self.store.arena.reg(frame.slots()[spi].spill);
                    if edit(&mut reg) {
                        frame.slot_mut(spi).spill = self.store.arena.pack(&reg);
                    }
                }
            }
        }
    }
}

impl Walk {
    /// The same for interned registers.
    #[inline]
    pub(crate) fn set_name(&mut self, i: u8, name: PackedReg) {
        self.scratched_regs |= 1 << i;
        self.cur.frame_mut().set_name(i, name);
    }
}

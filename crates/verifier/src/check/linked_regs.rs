//! Scalars that are copies of one another: what a jump teaches of one holds for all.
//!
//! Kernel: `collect_linked_regs`, `sync_linked_regs` (6.18).

use super::patch::Patch;
use crate::env::Env;
use crate::state::arena::PackedReg;
use crate::state::history::{LinkedReg, LinkedRegs};
use crate::state::reg::{BPF_ADD_CONST, BPF_ADD_CONST32, Reg};
use crate::state::values::SCALAR;
use skep_domain::{AluOp, Scalar};

impl Env<'_> {
    /// Registers of frame `f` that may still be read: at the insn at hand, or at the call into the
    /// next frame.
    fn live_regs_in_frame(&self, f: usize) -> u16 {
        let at = match self.cur.frames.get(f + 1) {
            Some(callee) => callee.meta.callsite as u32,
            None => self.insn_idx,
        };
        self.aux.get(at as usize).map_or(!0, |aux| aux.live_regs)
    }

    /// Adds the live registers that share `id`; those that do not fit lose their id.
    pub(crate) fn collect_linked_regs(&mut self, id: u32, linked: &mut LinkedRegs) {
        let id = id & !BPF_ADD_CONST;
        for f in (0..self.cur.frames.len()).rev() {
            let frameno = f as u8;
            let live = self.live_regs_in_frame(f);
            for at in (0..10).filter(|at| live >> at & 1 == 1) {
                let reg = self.cur.frames[f].name(at);
                if self.arena.is(reg, SCALAR)
                    && reg.id & !BPF_ADD_CONST == id
                    && !linked.push(LinkedReg { frameno, is_reg: true, at })
                {
                    let alone = self.unlinked(reg);
                    self.cur.frames[f].refine_name(at, alone);
                }
            }
            for spi in 0..self.cur.frames[f].slots().len() {
                let slot = self.cur.frames[f].slots()[spi];
                if slot.is_spilled()
                    && slot.spill.id & !BPF_ADD_CONST == id
                    && self.arena.is(slot.spill, SCALAR)
                    && !linked.push(LinkedReg { frameno, is_reg: false, at: spi as u8 })
                {
                    let alone = self.unlinked(slot.spill);
                    self.cur.frames[f].slot_mut(spi).spill = alone;
                }
            }
        }
    }

    fn unlinked(&mut self, reg: PackedReg) -> PackedReg {
        let alone = self.arena.reg(reg).unlinked();
        self.arena.pack(&alone)
    }

    /// What is known of the register at `known` holds for all linked ones.
    pub(crate) fn sync_linked_regs(
        &self,
        patch: &mut Patch,
        known: LinkedReg,
        linked: &LinkedRegs,
    ) {
        let from = patch.get(self, known);
        for place in linked.iter().filter(|&p| p != known) {
            let reg = patch.get(self, place);
            if !reg.is_scalar() || reg.id & !BPF_ADD_CONST != from.id & !BPF_ADD_CONST {
                continue;
            }
            let (consts, from_consts) = (reg.id & BPF_ADD_CONST, from.id & BPF_ADD_CONST);
            if consts != 0 && from_consts != 0 && consts != from_consts {
                continue;
            }
            if (consts == 0 && from_consts == 0) || reg.off == from.off {
                patch.set(place, from);
            } else {
                patch.set(place, shifted(&from, &reg));
            }
        }
    }
}

/// `from` plus the difference of the constants, with the identity of `reg`.
fn shifted(from: &Reg, reg: &Reg) -> Reg {
    let delta = i64::from(reg.off) - i64::from(from.off);
    let wide = (reg.id | from.id) & BPF_ADD_CONST32 == 0;
    let mut sum = Reg { off: reg.off, id: reg.id, ..*from };
    skep_domain::alu(AluOp::Add, wide, &mut sum.val, &Scalar::constant(delta as u64));
    sum
}

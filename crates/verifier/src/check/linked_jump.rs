//! Conditional jumps on scalars that have copies: what the jump implies for an operand also holds
//! for all registers linked with it, on both branches.
//!
//! This is the fast path, which works on interned names, for operands whose comparison is in the
//! cache; `jmp` has the general one.

use super::linked_regs::Linked;
use crate::env::{Env, Walk};
use crate::explore::next::Next;
use crate::rejection::{Check, unsupported};
use crate::state::arena::PackedReg;
use crate::state::history::{Access, LinkedReg};
use crate::state::transfers::Results;
use skep_insn::Insn;
use smallvec::SmallVec;

/// Walks the jump; `names` are the interned operands on the taken branch and on the other.
pub(super) fn follow(
    env: &mut Env<'_>,
    insn: Insn,
    names: Results,
    linked: &Linked,
) -> Check<Next> {
    record(env, insn, linked)?;
    let operands = operands_of(&env.walk, insn);
    let places = operands.iter().map(|&(place, _)| place).chain(linked.iter());
    let before: SmallVec<[(LinkedReg, PackedReg); 8]> =
        places.map(|place| (place, env.walk.name_at(place))).collect();
    if env.store.current_marks.is_some() {
        env.mark_linked(insn, linked);
    }
    learn(env, &operands, [names[0], names[1]], linked);
    let goto = target(env, insn);
    env.push_stack(goto, env.walk.insn_idx, false)?;
    for &(place, name) in &before {
        env.walk.set_name_at(place, name);
    }
    learn(env, &operands, [names[2], names[3]], linked);
    env.tell_branch_state();
    Ok(Next::Insn(env.walk.insn_idx + 1))
}

/// Records for backtracking that what this jump bounds together is precise together.
#[inline]
pub(super) fn record(env: &mut Env<'_>, insn: Insn, linked: &Linked) -> Check {
    if env.facts.rules().linked_are_precise {
        if linked.has_more_than_recorded() {
            mark_all(env, linked)?;
        }
        env.walk.push_jmp_history(Access::None, linked.recorded);
    }
    // The precision of one operand and of its linked registers affects the other operand.
    join_operands(&mut env.walk, insn);
    Ok(())
}

/// Where the history cannot keep which registers are precise together, all are at once: sooner than
/// on a kernel, but never too late.
#[cold]
fn mark_all(env: &mut Env<'_>, linked: &Linked) -> Check {
    let frameno = env.walk.cur.curframe() as u8;
    for place in linked.iter() {
        if !place.is_reg || place.frameno != frameno {
            return unsupported("more linked registers than the history keeps, on this kernel");
        }
        env.mark_chain_precision(place.at)?;
    }
    Ok(())
}

/// The compared registers, dst first, with their interned values.
fn operands_of(walk: &Walk, insn: Insn) -> SmallVec<[(LinkedReg, PackedReg); 2]> {
    let frameno = walk.cur.curframe() as u8;
    let regs = [insn.dst, insn.src];
    let used = if insn.is_src_reg() { 2 } else { 1 };
    let place = |at| LinkedReg { frameno, is_reg: true, at };
    regs[..used].iter().map(|&at| (place(at), walk.name_at(place(at)))).collect()
}

/// Gives the operands their new values and updates the registers linked with them, starting with
/// those of the last operand.
fn learn(env: &mut Env<'_>, operands: &[(LinkedReg, PackedReg)], vals: [u32; 2], linked: &Linked) {
    for (&(place, name), val) in operands.iter().zip(vals) {
        env.walk.set_name_at(place, PackedReg { val, ..name });
    }
    for &(known, _) in operands.iter().rev() {
        let from = env.walk.name_at(known);
        if from.id == 0 {
            continue;
        }
        for place in linked.iter().filter(|&place| place != known) {
            let reg = env.walk.name_at(place);
            if let Some(name) = env.linked_to(from, reg) {
                env.walk.set_name_at(place, name);
            }
        }
    }
}

impl Walk {
    /// The register or spilled register at `place`.
    pub(crate) fn name_at(&self, place: LinkedReg) -> PackedReg {
        let frame = &self.cur.frames[place.frameno as usize];
        if place.is_reg {
            return frame.name(place.at);
        }
        frame.slot(place.at as usize).map_or(PackedReg::NOT_INIT, |slot| slot.spill)
    }

    /// Sets the register at `place`, whose value is unchanged but whose bounds are not.
    fn set_name_at(&mut self, place: LinkedReg, name: PackedReg) {
        if self.name_at(place) == name {
            return;
        }
        let frame = &mut self.cur.frames[place.frameno as usize];
        if place.is_reg {
            frame.refine_name(place.at, name);
        } else {
            frame.slot_mut(place.at as usize).spill = name;
        }
    }
}

#[inline]
pub(crate) fn target(env: &Env<'_>, insn: Insn) -> u32 {
    (i64::from(env.walk.insn_idx) + i64::from(insn.off) + 1) as u32
}

/// From here on, if one operand has to be precise, so has the other.
#[inline]
pub(crate) fn join_operands(walk: &mut Walk, insn: Insn) {
    if insn.is_src_reg() {
        walk.frame_mut().chains.join(1 << insn.dst | 1 << insn.src);
    }
}

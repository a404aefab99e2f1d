//! Masks of pointer arithmetic: what a mispredicted branch may not do with it.
//!
//! A CPU that mispredicts a branch adds numbers to pointers that the branch excludes. Programs
//! without CAP_PERFMON therefore get a mask before each addition or subtraction of a pointer and
//! a register: a number that exceeds the insn's *reach* becomes 0. The mask is a constant of the
//! insn, which gives three rules:
//!
//! 1. The reach must be computable: the pointer is of a kind whose span is known, the sign of the
//!    number is known, and the pointer is inside the span before and after the move.
//! 2. All paths through the insn need the same mask.
//! 3. The walk continues on a speculative path on which the number was masked to 0. Where such a
//!    path fails, a barrier takes the mask's place.
//!
//! Found by loading programs without CAP_PERFMON on 6.18; `tests/refusals/privileges.md` has a
//! program for each refusal.

use crate::env::{Env, Facts, Found};
use crate::insn_aux::{InsnFlags, Mask, Towards};
use crate::rejection::{Check, InsnFault, Regno, reject};
use crate::state::reg::Reg;
use crate::state::reg_type::Base;
use skep_insn::Insn;
use skep_insn::code::BPF_ADD;
use skep_uapi::limits::MAX_BPF_STACK_BYTES;
use std::ops::Range;

/// A pointer and the number by which an insn moves it.
#[derive(Clone, Copy)]
pub(crate) struct Move<'a> {
    pub(crate) insn: Insn,
    pub(crate) ptr: &'a Reg,
    pub(crate) by: &'a Reg,
    /// Otherwise the number is in `dst`, and the insn an addition.
    pub(crate) ptr_in_dst: bool,
}

/// Why an insn cannot be masked.
#[derive(Clone, Copy)]
enum Unmaskable {
    UnknownSign,
    Kind,
    OutsideSpan,
    PathsDiffer,
}

/// A mask whose reach is known only after the move.
pub(crate) struct Unfinished {
    towards: Towards,
    /// Of the pointer before the move.
    position: i64,
}

/// Whether the insn is executed as it is: on behalf of a privileged program, with a constant in
/// the insn, or after a barrier.
#[inline(always)]
fn needs_no_mask(env: &Env<'_>, insn: Insn) -> bool {
    env.facts.bypass_spec_v1 || !insn.is_src_reg() || env.aux().has(InsnFlags::NOSPEC)
}

/// Records that the insn computes with numbers alone.
#[inline(always)]
pub(crate) fn is_for_numbers(env: &mut Env<'_>, insn: Insn) -> Check {
    if needs_no_mask(env, insn) {
        return Ok(());
    }
    is_for_numbers_on_all_paths(env, insn)
}

#[cold]
fn is_for_numbers_on_all_paths(env: &mut Env<'_>, insn: Insn) -> Check {
    if agree(env, Mask::Nothing) {
        return Ok(());
    }
    refuse(insn, [insn.dst, insn.src], Unmaskable::PathsDiffer)
}

/// Records the mask of this path; false if another path recorded a different one.
fn agree(env: &mut Env<'_>, mask: Mask) -> bool {
    let aux = env.aux_mut();
    let agrees = !matches!(aux.found, Found::Mask(other) if other != mask);
    if agrees {
        aux.found = Found::Mask(mask);
    }
    agrees
}

impl Move<'_> {
    /// Before the move: applies the rules to the pointer as it is, and forks the speculative path.
    /// `None` if there will be no mask.
    #[inline(always)]
    pub(crate) fn begin(&self, env: &mut Env<'_>) -> Check<Option<Unfinished>> {
        if needs_no_mask(env, self.insn) {
            return Ok(None);
        }
        self.begin_masked(env)
    }

    #[cold]
    fn begin_masked(&self, env: &mut Env<'_>) -> Check<Option<Unfinished>> {
        let by_constant = self.by.val.is_const();
        let mut unfinished = None;
        if !env.walk.cur.meta.speculative {
            let Some(towards) = self.towards() else {
                return self.refuse(Unmaskable::UnknownSign);
            };
            let position = self.position(env.facts, self.ptr, towards)?;
            unfinished = Some(Unfinished { towards, position });
            env.learned.moves_by_variable |= !by_constant;
        }
        if !by_constant {
            self.fork_masked_to_zero(env)?;
        }
        Ok(unfinished)
    }

    /// After the move: the reach is how far the pointer's extreme has moved.
    #[cold]
    pub(crate) fn finish(&self, env: &mut Env<'_>, begun: &Unfinished, moved: &Reg) -> Check {
        let towards = begun.towards;
        let position = self.position(env.facts, moved, towards)?;
        let reach = begun.position.abs_diff(position) as u32;
        let (by_constant, ptr_in_dst) = (self.by.val.is_const(), self.ptr_in_dst);
        if agree(env, Mask::Number { towards, by_constant, ptr_in_dst, reach }) {
            return Ok(());
        }
        self.refuse(Unmaskable::PathsDiffer)
    }

    /// `None` if the number may have either sign.
    fn towards(&self) -> Option<Towards> {
        let by = &self.by.val;
        let negative = by.smin < 0;
        if !by.is_const() && negative != (by.smax < 0) {
            return None;
        }
        let adds = self.insn.op() == BPF_ADD;
        Some(if adds == negative { Towards::Start } else { Towards::End })
    }

    /// The position that is nearest to that end of the object, which must be inside the span.
    fn position(&self, facts: &Facts<'_>, ptr: &Reg, towards: Towards) -> Check<i64> {
        let Some(span) = span(facts, ptr, towards) else {
            return self.refuse(Unmaskable::Kind);
        };
        let extreme = match towards {
            Towards::Start => ptr.val.smin,
            Towards::End => ptr.val.umax as i64,
        };
        let position = extreme.saturating_add(i64::from(ptr.off));
        if !span.contains(&position) {
            return self.refuse(Unmaskable::OutsideSpan);
        }
        Ok(position)
    }

    /// Pushes the path on which the pointer did not move.
    fn fork_masked_to_zero(&self, env: &mut Env<'_>) -> Check {
        let dst = env.reg(self.insn.dst);
        let mut stays = *self.ptr;
        if self.ptr_in_dst {
            // The kernel has dropped the 32-bit bounds by then; the speculative path shows it.
            stays.val.mark_unbounded32();
        }
        env.set_reg(self.insn.dst, stays);
        env.push_stack(env.walk.insn_idx + 1, env.walk.insn_idx, true)?;
        env.set_reg(self.insn.dst, dst);
        Ok(())
    }

    fn refuse<T>(&self, why: Unmaskable) -> Check<T> {
        let (dst, src) = (self.insn.dst, self.insn.src);
        refuse(self.insn, if self.ptr_in_dst { [dst, src] } else { [src, dst] }, why)
    }
}

/// The positions of a pointer that can be masked, by kind of pointer; `None` for other kinds.
/// Positions in the stack count from the frame pointer.
fn span(facts: &Facts<'_>, ptr: &Reg, towards: Towards) -> Option<Range<i64>> {
    let stack_bytes = i64::from(MAX_BPF_STACK_BYTES);
    match (ptr.ty.base, towards) {
        (Base::Stack, Towards::Start) => Some(-stack_bytes..1),
        // Nothing moves up from the lowest byte.
        (Base::Stack, Towards::End) => Some(1 - stack_bytes..1),
        (Base::MapValue, _) => {
            let map = ptr.map().and_then(|m| facts.maps.get(m as usize));
            Some(0..map.map_or(0, |m| i64::from(m.def.value_size)))
        }
        _ => None,
    }
}

/// The `regnos` of the pointer and of the number.
fn refuse<T>(insn: Insn, regnos: [u8; 2], why: Unmaskable) -> Check<T> {
    let err = "pointer arithmetic with it prohibited for !root";
    let op = if insn.op() == BPF_ADD { "add" } else { "sub" };
    let [ptr_reg, off_reg] = regnos.map(Regno);
    let dst = Regno(insn.dst);
    match why {
        Unmaskable::UnknownSign => reject!(EACCES, InsnFault::MixedSigns { off_reg, err }),
        Unmaskable::Kind => reject!(EACCES, InsnFault::UnsanitizableType { ptr_reg, err }),
        Unmaskable::PathsDiffer => reject!(EACCES, InsnFault::PathsDiffer { dst, op, err }),
        Unmaskable::OutsideSpan => reject!(EACCES, InsnFault::BeyondLimit { dst, op, err }),
    }
}

/// A program that gets masks may not even compute a pointer outside its object.
#[inline(always)]
pub(crate) fn result_must_be_inside(env: &mut Env<'_>, regno: u8) -> Check {
    if env.facts.bypass_spec_v1 {
        return Ok(());
    }
    masked_must_be_inside(env, regno)
}

#[cold]
fn masked_must_be_inside(env: &mut Env<'_>, regno: u8) -> Check {
    let reg = env.reg(regno);
    if reg.ty.is(Base::Stack) {
        return stack_position_must_be_inside(&reg, Regno(regno));
    }
    if !reg.ty.is(Base::MapValue) {
        return Ok(());
    }
    if let Err(stop) = super::mem::check_map_access(env, regno, reg.off, 1) {
        env.trace.refused(&stop.into_refused()?);
        reject!(EACCES, InsnFault::MapValueOutOfRange { regno: Regno(regno) });
    }
    Ok(())
}

fn stack_position_must_be_inside(reg: &Reg, regno: Regno) -> Check {
    let var_off = reg.val.var_off;
    if !reg.val.is_const() {
        let off = reg.off.wrapping_add(var_off.value as i32);
        reject!(EACCES, InsnFault::VariableStack { regno, var_off, off });
    }
    let off = i64::from(reg.off) + var_off.value as i64;
    if !(-i64::from(MAX_BPF_STACK_BYTES)..0).contains(&off) {
        reject!(EACCES, InsnFault::StackOutOfRange { regno, off });
    }
    Ok(())
}

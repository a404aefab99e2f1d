//! Spills and fills of whole scalars in the own stack, by interned name: the fast path.
//!
//! [`spill`] and [`fill`] do exactly what `check_store_reg` and `check_load` do, for insns whose
//! own form has been checked before; in all other cases they change nothing and leave the insn to
//! them.

use super::stack_bounds::grow_stack_state;
use crate::check::mem::access::AccessType;
use crate::env::{Env, Form, Found};
use crate::state::history::{Access, LinkedRegs};
use crate::state::reg::BPF_ADD_CONST;
use crate::state::reg_type::{Base, RegType};
use crate::state::stack::{Slot, SlotType, spi_of};
use crate::state::values::{CONST, SANE_SCALAR, SCALAR};
use skep_insn::Insn;
use skep_insn::code::*;
use skep_uapi::limits::MAX_BPF_STACK_BYTES;

pub(super) const FRAME_POINTER: u8 = 10;

/// The slot that the insn accesses as a whole, if `pointer` is the frame pointer and was a stack
/// pointer at every visit.
#[inline]
fn slot_of(env: &Env<'_>, insn: Insn, pointer: u8) -> Option<usize> {
    let off = i32::from(insn.off);
    let is_slot = off % 8 == 0 && (-(MAX_BPF_STACK_BYTES as i32)..0).contains(&off);
    let is_plain = insn.mode() == BPF_MEM && insn.size_bytes() == 8;
    let is_known = pointer == FRAME_POINTER
        && env.aux().found == Found::PtrType(RegType::of(Base::Stack))
        && env.store.reads.is_none();
    (is_slot && is_plain && is_known).then(|| spi_of(off))
}

/// `*(u64 *)(r10 + off) = src`; true if it was walked.
pub(crate) fn spill(env: &mut Env<'_>, insn: Insn) -> bool {
    let Some(spi) = slot_of(env, insn, insn.dst) else { return false };
    let rules = env.facts.rules();
    let is_plain = env.facts.bypass_spec_v4
        && env.facts.bpf_capable
        && rules.any_number_spilled
        && rules.spills_share_ids;
    let frame = env.walk.frame();
    let is_object = frame.slot(spi).is_some_and(|slot| slot.types[0] == SlotType::Dynptr);
    let before = frame.name(insn.src);
    let is_scalar = env.store.arena.is(before, SCALAR);
    if !is_plain || is_object || !is_scalar || env.aux().form != Form::Good {
        return false;
    }
    let off = i32::from(insn.off);
    let frameno = env.walk.cur.curframe();
    grow_stack_state(env, frameno, -off, AccessType::Write);
    let mut name = before;
    if name.id & BPF_ADD_CONST != 0 {
        name = env.store.unlinked(name);
    }
    if name.id == 0 && !env.store.arena.is(name, CONST) {
        name.id = env.store.new_id();
    }
    env.mark_stack_write(frameno, 1 << spi);
    env.walk.scratched_regs |= 1 << insn.src | 1 << FRAME_POINTER;
    env.walk.cur.frame_mut().refine_name(insn.src, name);
    env.walk.cur.frame_mut().set_slot(spi, Slot { types: [SlotType::Spill; 8], spill: name });
    note_access(env, spi, off);
    true
}

/// `dst = *(u64 *)(r10 + off)`; true if it was walked.
pub(crate) fn fill(env: &mut Env<'_>, insn: Insn) -> bool {
    let Some(spi) = slot_of(env, insn, insn.src) else { return false };
    let Some(&Slot { types, spill }) = env.walk.frame().slot(spi) else { return false };
    if insn.dst >= FRAME_POINTER
        || types != [SlotType::Spill; 8]
        || !env.store.arena.is(spill, SANE_SCALAR)
        || env.facts.rules().single_ids_forgotten
    {
        return false;
    }
    let frameno = env.walk.cur.curframe();
    env.mark_stack_read(frameno, 1 << spi);
    env.walk.scratched_regs |= 1 << FRAME_POINTER;
    env.walk.set_name(insn.dst, spill);
    note_access(env, spi, i32::from(insn.off));
    true
}

#[inline]
fn note_access(env: &mut Env<'_>, spi: usize, off: i32) {
    let frameno = env.walk.cur.curframe();
    env.check_fastcall_stack_contract(frameno, off);
    env.walk.mark_stack_slot_scratched(spi);
    env.walk.push_jmp_history(Access::stack(frameno, off), LinkedRegs::default());
}

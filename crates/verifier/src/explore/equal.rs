//! Whether a verified state covers the current one.
//!
//! Registers are compared by interned name first; if the names are equal, only ids remain to be
//! compared.
//!
//! Kernel: `states_equal`, `func_states_equal`, `regsafe`, `stacksafe`, `refsafe` (6.18).

use super::idmap::IdMap;
use crate::insn_aux::InsnAux;
use crate::state::arena::{Arena, PackedFrame, PackedReg, PageIds};
use crate::state::checkpoint::{Checkpoint, Hints, Marks, Mismatch};
use crate::state::frame::PAGE_SLOTS;
use crate::state::frame::{Frame, frame_insn_idx};
use crate::state::history::LinkedReg;
use crate::state::ids::FrameId;
use crate::state::reference::RefKind;
use crate::state::refs::RefState;
use crate::state::reg::{BPF_ADD_CONST, Extra, Reg};
use crate::state::reg_type::Base;
use crate::state::stack::{Slot, SlotType};
use crate::state::values::{REFERS, SCALAR, is_constant};
use crate::state::verifier_state::VerifierState;
use skep_domain::Scalar;
use skep_uapi::Behaviours;
use smallvec::SmallVec;
use std::num::NonZeroU32;

/// How closely the states must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exactness {
    /// Anything that did not matter to the old state may differ.
    Covered,
    /// Equal except for the numbering of ids: to find infinite loops.
    Same,
    /// Every value must be within the old range, precise or not, because precision marks in loops
    /// are incomplete.
    RangeWithin,
}

/// A scalar and its id.
#[derive(Clone, Copy)]
struct ScalarReg<'a> {
    reg: &'a Reg,
    id: u32,
}

/// A comparison of two states.
pub(crate) struct Compare<'a> {
    pub(crate) arena: &'a Arena,
    pub(crate) idmap: &'a mut IdMap,
    pub(crate) old: &'a Checkpoint,
    pub(crate) cur: &'a VerifierState,
    pub(crate) aux: &'a [InsnAux],
    pub(crate) exact: Exactness,
    /// All scalars count as precise: programs without `CAP_BPF`.
    pub(crate) all_precise: bool,
    pub(crate) allow_uninit_stack: bool,
    pub(crate) moves_by_variable: bool,
    /// What the kernel compares, and how.
    pub(crate) rules: &'a Behaviours,
    /// Where earlier comparisons with the old state failed; updated if this one fails.
    pub(crate) hints: Hints,
    /// Why the comparison failed, if it did.
    pub(crate) mismatch: Mismatch,
}

impl Compare<'_> {
    /// Whether the old state covers the current one.
    pub(crate) fn states_equal(&mut self) -> bool {
        let (old, cur) = (self.old, self.cur);
        let n = old.state.frames.len();
        if n != cur.frames.len()
            || self.is_apart()
            || (old.state.meta.speculative && !cur.meta.speculative)
            || old.state.meta.in_sleepable != cur.meta.in_sleepable
            || !self.holds_the_same()
        {
            return false;
        }
        for i in 0..n {
            let id = old.state.frames[i];
            let (fold, fcur) = (self.arena.frame(id), &cur.frames[i]);
            let meta = self.arena.meta(id);
            if meta.callsite != fcur.meta.callsite || meta.callback_depth > fcur.meta.callback_depth
            {
                return false;
            }
            let at = frame_insn_idx(i, n, old.state.meta.insn_idx, |f| {
                self.arena.meta(old.state.frames[f]).callsite
            });
            let marks = old.precise[i];
            let mut live = (self.aux[at as usize].live_regs | self.never_dead()) & 0x7ff;
            while live != 0 {
                let r = live.trailing_zeros() as usize;
                live &= live - 1;
                let precise = marks.regs >> r & 1 == 1;
                if !self.regsafe(fold.regs[r], precise, fcur.names()[r]) {
                    let last_precise = i + 1 == n && (precise || self.all_precise);
                    self.learn_from_reg(i, r, last_precise, fold.regs[r]);
                    return false;
                }
            }
            if !self.stacksafe(i, id, marks, fcur) {
                return false;
            }
        }
        !self.rules.packet_distances_compared || self.distances_are_kept()
    }

    /// Registers that are compared even if they are dead.
    #[inline(always)]
    fn never_dead(&self) -> u16 {
        if self.rules.dead_registers_ignored { 0 } else { !0 }
    }

    /// Whether packet pointers of one id are all as far from the old ones: the states are equal
    /// otherwise.
    #[cold]
    fn distances_are_kept(&self) -> bool {
        let mut moved: SmallVec<[(u32, i64); 4]> = SmallVec::new();
        let mut keeps = |old: PackedReg, cur: PackedReg| {
            let (o, c) = (self.arena.reg(old), self.arena.reg(cur));
            if !o.ty.is_packet() || o.ty != c.ty || o.id == 0 {
                return true;
            }
            let start = |reg: &Reg| reg.val.smin.wrapping_add(reg.off.into());
            let by = start(&c).wrapping_sub(start(&o));
            match moved.iter().find(|&&(of, _)| of == o.id) {
                Some(&(_, before)) => before == by,
                None => {
                    moved.push((o.id, by));
                    true
                }
            }
        };
        let n = self.old.state.frames.len();
        (0..n).all(|i| {
            let (fold, fcur) = (self.arena.frame(self.old.state.frames[i]), &self.cur.frames[i]);
            let at = frame_insn_idx(i, n, self.old.state.meta.insn_idx, |f| {
                self.arena.meta(self.old.state.frames[f]).callsite
            });
            let live = self.aux[at as usize].live_regs | self.never_dead();
            let regs = (0..11).filter(|r| live >> r & 1 == 1);
            let mut regs = regs.map(|r| (fold.regs[r], fcur.names()[r]));
            let slots = (0..fold.pages()).flat_map(|page| self.arena.page_slots(fold, page));
            let mut slots = slots.zip(fcur.slots()).filter(|(old, cur)| {
                old.types[7] == SlotType::Spill && cur.types[7] == SlotType::Spill
            });
            regs.all(|(old, cur)| keeps(old, cur))
                && slots.all(|(old, cur)| keeps(old.spill, cur.spill))
        })
    }

    /// Records a failed comparison: a precise constant, which covers only itself, or else the
    /// register's place.
    fn learn_from_reg(&mut self, frame: usize, r: usize, last_precise: bool, old: PackedReg) {
        let constant = NonZeroU32::new(old.val).filter(|name| is_constant(name.get()));
        if let Some(name) = constant.filter(|_| last_precise) {
            self.hints.constant = Some((r as u8, name));
            self.mismatch = Mismatch::Constant;
        } else {
            let place = LinkedReg { frameno: frame as u8, is_reg: true, at: r as u8 };
            self.hints.place = Some(place);
            self.mismatch = Mismatch::Place;
        }
    }

    /// Whether the states differ at the place where an earlier comparison failed. Ids can only add
    /// differences, so a place can be compared alone.
    #[inline(always)] // A call per compared checkpoint costs 1 % of `stress_backtrack`.
    fn is_apart(&mut self) -> bool {
        let (old, cur) = (self.old, self.cur);
        let Some(place) = self.hints.place else { return false };
        let (i, at) = (place.frameno as usize, place.at as usize);
        let (Some(&id), Some(fcur)) = (old.state.frames.get(i), cur.frames.get(i)) else {
            return false;
        };
        let marks = old.precise[i];
        let safe = if place.is_reg {
            let old = self.arena.frame(id).regs[at];
            self.regsafe(old, marks.regs >> at & 1 == 1, fcur.names()[at])
        } else {
            match self.arena.frame_slot(id, at).copied() {
                Some(old) => self.slot_covered(at, &old, marks, fcur),
                None => true,
            }
        };
        if safe {
            self.idmap.undo();
        } else {
            self.mismatch = Mismatch::Place;
        }
        !safe
    }

    /// Whether both states hold the same references; most hold none.
    #[inline]
    fn holds_the_same(&mut self) -> bool {
        match &self.old.state.refs {
            None => self.cur.refs.is_nothing(),
            Some(old) => self.refsafe(old, &self.cur.refs),
        }
    }

    fn refsafe(&mut self, old: &RefState, cur: &RefState) -> bool {
        old.acquired.len() == cur.acquired.len()
            && old.active_locks == cur.active_locks
            && old.active_preempt_locks == cur.active_preempt_locks
            && old.active_rcu_locks == cur.active_rcu_locks
            && self.idmap.check_ids(old.active_irq_id, cur.active_irq_id)
            && self.idmap.check_ids(old.active_lock_id, cur.active_lock_id)
            && old.active_lock_home == cur.active_lock_home
            && (self.rules.objects_are_paired || old.acquired == cur.acquired)
            && old.acquired.iter().zip(cur.acquired.iter()).all(|(o, c)| {
                self.idmap.check_ids(o.id, c.id)
                    && o.kind == c.kind
                    && (matches!(o.kind, RefKind::Ptr | RefKind::Irq) || o.home == c.home)
            })
    }

    fn regs_exact(&mut self, old: PackedReg, cur: PackedReg) -> bool {
        let (mut a, mut b) = (None, None);
        let (o, c) = (self.arena.view(old.val, &mut a), self.arena.view(cur.val, &mut b));
        let same = old.val == cur.val
            || (o.ty == c.ty && o.off == c.off && o.extra == c.extra && o.val == c.val);
        same && self.arena.range(old) == self.arena.range(cur)
            && self.idmap.check_ids(self.arena.id(old), self.arena.id(cur))
            && self.idmap.check_ids(o.ref_obj_id, c.ref_obj_id)
    }

    /// Whether imprecise scalars cover every scalar.
    #[inline]
    fn skips_imprecise(&self) -> bool {
        self.exact == Exactness::Covered && !self.all_precise && !self.moves_by_variable
    }

    #[inline(always)] // As for `is_apart`.
    fn regsafe(&mut self, old: PackedReg, precise: bool, cur: PackedReg) -> bool {
        if old == cur && self.is_covered_by_itself(old) && !self.moves_by_variable {
            return true;
        }
        if !precise
            && self.skips_imprecise()
            && self.arena.is(old, SCALAR)
            && self.arena.is(cur, SCALAR)
        {
            return true;
        }
        if old.val != cur.val && is_constant(old.val) && is_constant(cur.val) {
            return false;
        }
        self.regsafe_by_value(old, precise, cur)
    }

    fn regsafe_by_value(&mut self, old: PackedReg, precise: bool, cur: PackedReg) -> bool {
        if self.exact == Exactness::Same {
            return self.regs_exact(old, cur);
        }
        let (mut a, mut b) = (None, None);
        let (o, c) = (self.arena.view(old.val, &mut a), self.arena.view(cur.val, &mut b));
        if o.ty.base == Base::NotInit && self.exact == Exactness::Covered {
            return true;
        }
        if o.ty != c.ty {
            return self.rules.unwritten_covers && o.ty.base == Base::NotInit;
        }
        match o.ty.base {
            Base::Scalar => self.scalar_safe(
                ScalarReg { reg: o, id: old.id },
                precise,
                ScalarReg { reg: c, id: cur.id },
            ),
            Base::MapKey | Base::MapValue | Base::Mem | Base::Buf | Base::TpBuffer => {
                o.extra == c.extra
                    && self.offset_within(o, c)
                    && self.idmap.check_ids(old.id, cur.id)
                    && self.idmap.check_ids(o.ref_obj_id, c.ref_obj_id)
            }
            Base::Packet | Base::PacketMeta => {
                self.packet_range_safe(old, cur)
                    && self.offset_within(o, c)
                    && self.idmap.check_ids(self.arena.id(old), self.arena.id(cur))
            }
            Base::Arena => true,
            _ if !self.rules.objects_are_paired => old == cur,
            _ => self.regs_exact(old, cur),
        }
    }

    fn scalar_safe(&mut self, old: ScalarReg<'_>, precise: bool, cur: ScalarReg<'_>) -> bool {
        let (ScalarReg { reg: o, id: oid }, ScalarReg { reg: c, id: cid }) = (old, cur);
        if self.moves_by_variable {
            // Everything before the id, also what a pointer found to be NULL has left.
            let same = o.off == c.off && o.extra == c.extra && o.val == c.val;
            return same && self.sums_alike(oid, cid);
        }
        if !precise && !self.all_precise && self.exact == Exactness::Covered {
            return true;
        }
        if oid == 0 && !self.rules.plain_covers_linked {
            return cid & BPF_ADD_CONST == 0
                && value_within(&o.val, &c.val)
                && self.idmap.check_scalar_ids(0, cid);
        }
        if oid == 0 {
            // The old state relied on no relation; an additional one only narrows the current
            // state.
            return value_within(&o.val, &c.val);
        }
        if oid & BPF_ADD_CONST != cid & BPF_ADD_CONST
            || (oid & BPF_ADD_CONST != 0 && o.off != c.off)
        {
            return false;
        }
        if self.rules.sum_ids_are_own {
            return value_within(&o.val, &c.val) && self.idmap.check_scalar_ids(oid, cid);
        }
        // The flag is not part of the id: {X, X+1} does not match {Y, Z+1}.
        value_within(&o.val, &c.val)
            && self.idmap.check_scalar_ids(oid & !BPF_ADD_CONST, cid & !BPF_ADD_CONST)
    }

    /// Whether the current id implies the old one, on kernels where a value covers only itself: a
    /// plain scalar covers a linked sum; a sum covers only sums of the same base.
    fn sums_alike(&mut self, old: u32, cur: u32) -> bool {
        let base = |id: u32| id & !BPF_ADD_CONST;
        if old == 0 {
            return true;
        }
        if old == base(old) {
            return self.idmap.check_scalar_ids(old, cur);
        }
        cur != base(cur)
            && self.idmap.check_scalar_ids(old, cur)
            && self.idmap.check_scalar_ids(base(old), base(cur))
    }

    /// Whether the old pointer's offset range includes the current one's.
    #[inline]
    fn offset_within(&self, old: &Reg, cur: &Reg) -> bool {
        if old.off == cur.off {
            return value_within(&old.val, &cur.val);
        }
        self.rules.offsets_are_bounds && value_within(&old.whole_offset(), &cur.whole_offset())
    }

    /// Whether the old pointer's packet range is not larger than the current one's.
    #[inline]
    fn packet_range_safe(&self, old: PackedReg, cur: PackedReg) -> bool {
        let (o, c) = (self.arena.range(old), self.arena.range(cur));
        match o < 0 || c < 0 {
            true => o == c,
            false => o <= c,
        }
    }

    fn stacksafe(&mut self, i: usize, id: FrameId, marks: Marks, cur: &Frame) -> bool {
        let arena = self.arena;
        let old = arena.frame(id);
        for page in 0..old.pages() {
            let first = page * PAGE_SLOTS;
            let is_unused = self.exact == Exactness::Covered && arena.is_blank(old, page);
            if is_unused || self.page_covered(old, page, marks, cur) {
                continue;
            }
            for (spi, o) in (first..).zip(arena.page_slots(old, page)) {
                if !self.slot_covered(spi, o, marks, cur) {
                    let place = LinkedReg { frameno: i as u8, is_reg: false, at: spi as u8 };
                    self.hints.place = Some(place);
                    self.mismatch = Mismatch::Place;
                    return false;
                }
            }
        }
        true
    }

    /// Whether both states share the page and its contents need no comparison.
    #[inline]
    fn page_covered(&self, old: &PackedFrame, page: usize, marks: Marks, cur: &Frame) -> bool {
        let ids = self.arena.same_page(old, cur, page);
        let marked = marks.stack >> (page * PAGE_SLOTS) & 0xff;
        let most = match self.skips_imprecise() && marked == 0 {
            true => PageIds::Scalars,
            false => PageIds::None,
        };
        !self.moves_by_variable && ids.is_some_and(|ids| ids <= most)
    }

    fn slot_covered(&mut self, spi: usize, o: &Slot, marks: Marks, cur: &Frame) -> bool {
        let c = cur.slot(spi);
        let precise = marks.stack >> spi & 1 == 1;
        if let Some(c) = c.filter(|c| c.word() == o.word()) {
            let scalars = || {
                let spills = o.is_spilled() && self.arena.is(o.spill, SCALAR);
                spills && self.arena.is(c.spill, SCALAR)
            };
            if (c.spill == o.spill && self.is_covered_by_itself(o.spill))
                || (!precise && self.skips_imprecise() && scalars())
            {
                return true;
            }
        }
        let must_be_alike = match self.exact {
            Exactness::Covered => false,
            Exactness::RangeWithin => !self.rules.loops_compare_numbers,
            Exactness::Same => true,
        };
        if must_be_alike && c.is_none_or(|c| c.types != o.types) && !self.differs_where_dead(o, c) {
            return false;
        }
        let unused = Slot::default();
        self.slot_safe(o, c.unwrap_or(&unused), c.is_some(), precise)
    }

    /// Whether the bytes of the slots only differ where the old state's are dead, on kernels that
    /// ignore those.
    fn differs_where_dead(&self, old: &Slot, cur: Option<&Slot>) -> bool {
        let cur = cur.map_or([SlotType::Invalid; 8], |cur| cur.types);
        self.rules.dead_stack_ignored
            && old.types.iter().zip(cur).all(|(&o, c)| o.is_nothing() || o == c)
    }

    /// Whether a register covers an equal one regardless of ids.
    #[inline]
    fn is_covered_by_itself(&self, reg: PackedReg) -> bool {
        !self.rules.equal_ids_are_paired || self.arena.has_no_id(reg) && !self.arena.is(reg, REFERS)
    }

    fn slot_safe(&mut self, old: &Slot, cur: &Slot, allocated: bool, precise: bool) -> bool {
        let ignored =
            |t: SlotType| t.is_nothing() || (self.allow_uninit_stack && t == SlotType::Misc);
        let Some(first) = old.types.iter().position(|&t| !ignored(t)) else { return true };
        if !allocated {
            return false;
        }
        if let (Some(o), Some(c)) = (self.scalar_of(old), self.scalar_of(cur)) {
            return self.regsafe(o, precise && old.is_full_spill(), c);
        }
        let covered = |(&o, &c): (&SlotType, &SlotType)| {
            o == c || (o == SlotType::Misc && c == SlotType::Zero) || ignored(o)
        };
        if self.rules.dead_forgotten_at_once
            && let (Some(o), Some(c)) = (self.low_scalar_of(old), self.low_scalar_of(cur))
        {
            return old.types[..4].iter().zip(&cur.types[..4]).all(covered)
                && self.regsafe(o, precise, c);
        }
        if !old.types.iter().zip(&cur.types).skip(first).all(covered) {
            return false;
        }
        if ignored(old.types[7]) || old.types[7] != cur.types[7] {
            return true;
        }
        self.spilled_safe(old, cur, precise)
    }

    fn spilled_safe(&mut self, old: &Slot, cur: &Slot, precise: bool) -> bool {
        let (o, c) = (self.arena.val(old.spill.val), self.arena.val(cur.spill.val));
        match old.types[7] {
            SlotType::Spill => self.regsafe(old.spill, precise, cur.spill),
            SlotType::Dynptr => {
                o.extra == c.extra && self.idmap.check_ids(o.ref_obj_id, c.ref_obj_id)
            }
            SlotType::Iter => {
                let same = match (o.extra, c.extra) {
                    (
                        Extra::Iter { btf_id: a, active: x, .. },
                        Extra::Iter { btf_id: b, active: y, .. },
                    ) if o.ty == c.ty || !self.rules.iterator_sections_compared => a == b && x == y,
                    _ => false,
                };
                same && self.idmap.check_ids(o.ref_obj_id, c.ref_obj_id)
            }
            SlotType::IrqFlag => {
                o.extra == c.extra && self.idmap.check_ids(o.ref_obj_id, c.ref_obj_id)
            }
            SlotType::Misc | SlotType::Zero => true,
            SlotType::Invalid | SlotType::Forgotten => true,
        }
    }

    /// The 32-bit scalar that a load of the slot's low half yields.
    fn low_scalar_of(&self, slot: &Slot) -> Option<PackedReg> {
        let low = &slot.types[4..];
        let is_spill = low.iter().all(|&t| t == SlotType::Spill);
        if is_spill && self.arena.is(slot.spill, SCALAR) {
            return Some(slot.spill);
        }
        low.iter().all(|&t| self.may_hold_anything(t)).then_some(PackedReg::UNKNOWN)
    }

    /// The 64-bit scalar that a load of the whole slot yields, if it is one.
    fn scalar_of(&self, slot: &Slot) -> Option<PackedReg> {
        if slot.is_full_spill() && self.arena.is(slot.spill, SCALAR) {
            return Some(slot.spill);
        }
        let misc = |&t: &SlotType| self.may_hold_anything(t);
        slot.types.iter().all(misc).then_some(PackedReg::UNKNOWN)
    }

    /// Whether a load of the byte yields any number.
    fn may_hold_anything(&self, of: SlotType) -> bool {
        self.rules.data_matches_numbers
            && (of == SlotType::Misc || (of.is_nothing() && self.allow_uninit_stack))
    }
}

/// Whether `old` includes all possible values of `cur`.
pub(crate) fn value_within(old: &Scalar, cur: &Scalar) -> bool {
    old.umin <= cur.umin
        && old.umax >= cur.umax
        && old.smin <= cur.smin
        && old.smax >= cur.smax
        && old.u32_min <= cur.u32_min
        && old.u32_max >= cur.u32_max
        && old.s32_min <= cur.s32_min
        && old.s32_max >= cur.s32_max
        && old.var_off.contains(cur.var_off)
        && old.covers_wrapped(cur)
}

/// Whether the current frames of both have equal registers, ids included.
///
/// Kernel: `states_maybe_looping` (6.18).
pub(crate) fn states_maybe_looping(arena: &Arena, old: &Checkpoint, cur: &VerifierState) -> bool {
    old.state.frames.len() == cur.frames.len()
        && old.state.frames.last().is_some_and(|&f| arena.frame(f).regs == *cur.frame().names())
}

//! Dynptrs: two stack slots that only the kernel reads and writes, and what is invalidated with
//! them.
//!
//! Every dynptr has its own id; slices of it carry that id, so that they are invalidated when the
//! dynptr is overwritten. A dynptr to a ring buffer record is a reference; its clones share it.
//!
//! # Invariants
//! 1. `Dynptr` fills both slots of a dynptr or none; both hold a register `ConstDynptr` of the same
//!    kind and id.
//!
//! Kernel: `process_dynptr_func`, `mark_stack_slots_dynptr`, `unmark_stack_slots_dynptr`,
//! `destroy_if_dynptr_stack_slot` (6.18).

use super::slots::{NoSlots, Slots};
use crate::HoleKind;
use crate::check::call::refs::{acquire_reference, release_reference};
use crate::env::Env;
use crate::log::reg_text::dynptr_str;
use crate::rejection::{Check, KfuncFault, Stop, reject};
use crate::state::reg::{DynptrKind, Extra, Reg};
use crate::state::reg_type::{Base, RegType, TypeFlag};
use crate::state::stack::{BPF_REG_SIZE, SlotType};
use smallvec::SmallVec;

/// Number of slots of a dynptr.
pub(crate) const BPF_DYNPTR_NR_SLOTS: usize = 2;

/// Type flags for the kinds of dynptrs.
const KINDS: [(TypeFlag, DynptrKind); 5] = [
    (TypeFlag::DYNPTR_TYPE_LOCAL, DynptrKind::Local),
    (TypeFlag::DYNPTR_TYPE_RINGBUF, DynptrKind::Ringbuf),
    (TypeFlag::DYNPTR_TYPE_SKB, DynptrKind::Skb),
    (TypeFlag::DYNPTR_TYPE_XDP, DynptrKind::Xdp),
    (TypeFlag::DYNPTR_TYPE_SKB_META, DynptrKind::SkbMeta),
];

/// What a helper or kfunc requires of a dynptr argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DynptrArg {
    pub(crate) regno: u8,
    /// `MEM_UNINIT`: the call initializes it; `MEM_RDONLY`: the call does not change it;
    /// `DYNPTR_TYPE_*`: its kind.
    pub(crate) flags: TypeFlag,
    /// For a clone, the reference of the original; otherwise 0.
    pub(crate) clone_ref_obj_id: u32,
}

impl DynptrKind {
    /// The kind for these type flags. Kernel: `arg_to_dynptr_type`.
    pub(crate) fn of_flags(flags: TypeFlag) -> DynptrKind {
        let row = KINDS.iter().find(|row| flags.contains(row.0));
        row.map_or(DynptrKind::Invalid, |row| row.1)
    }
    /// The flag that names the kind. Kernel: `get_dynptr_type_flag`.
    pub(crate) fn flag(self) -> TypeFlag {
        KINDS.iter().find(|row| row.1 == self).map_or(TypeFlag::empty(), |row| row.0)
    }
    /// Whether a dynptr of this kind is a reference.
    pub(crate) fn is_refcounted(self) -> bool {
        self == DynptrKind::Ringbuf
    }
}

/// The register of a dynptr of that kind.
fn dynptr_reg(kind: DynptrKind, id: u32, first_slot: bool) -> Reg {
    Reg {
        id,
        extra: Extra::Dynptr { kind, first_slot },
        ..Reg::pointer(RegType::of(Base::ConstDynptr))
    }
}

fn kind_of(reg: &Reg) -> (DynptrKind, bool) {
    match reg.extra {
        Extra::Dynptr { kind, first_slot } => (kind, first_slot),
        _ => (DynptrKind::Invalid, false),
    }
}

impl Env<'_> {
    /// Checks the dynptr argument in R`arg.regno`, and creates the dynptr if the call does.
    pub(crate) fn process_dynptr_func(&mut self, arg: DynptrArg) -> Check {
        let DynptrArg { regno, flags, .. } = arg;
        let reg = self.reg(regno);
        let nth = regno - 1;
        let on_stack = reg.ty.is(Base::Stack);
        if !on_stack && !reg.ty.is(Base::ConstDynptr) {
            reject!(EINVAL, KfuncFault::NotDynptr { nth });
        }
        if flags.contains(TypeFlag::MEM_UNINIT) {
            if !on_stack && !self.facts.rules().given_dynptrs_kept {
                // The kernel looks for it on the stack, and finds nothing to change.
                return Ok(());
            }
            if !self.is_dynptr_reg_valid_uninit(&reg) {
                reject!(EINVAL, KfuncFault::DynptrInUse);
            }
            self.write_object(regno, BPF_DYNPTR_NR_SLOTS as i32 * BPF_REG_SIZE)?;
            return self.mark_stack_slots_dynptr(&reg, arg);
        }
        if !on_stack && !flags.contains(TypeFlag::MEM_RDONLY) {
            reject!(EINVAL, KfuncFault::ConstDynptr);
        }
        if !self.is_dynptr_reg_valid_init(&reg) {
            reject!(EINVAL, KfuncFault::DynptrUninit { nth });
        }
        let wanted = DynptrKind::of_flags(flags);
        if wanted != DynptrKind::Invalid && self.dynptr_at(&reg)?.0 != wanted {
            let name = dynptr_str(wanted);
            reject!(EINVAL, KfuncFault::DynptrKind { name, nth });
        }
        if on_stack && self.facts.rules().dynptr_uses_read {
            let at = self.dynptr_slots(&reg).map_err(NoSlots::stop)?;
            self.mark_slots_read(at);
        }
        Ok(())
    }

    fn dynptr_slots(&mut self, reg: &Reg) -> Result<Slots, NoSlots> {
        self.slots_of(reg, "dynptr", BPF_DYNPTR_NR_SLOTS)
    }

    fn is_dynptr_reg_valid_uninit(&mut self, reg: &Reg) -> bool {
        // The access that follows refuses or allocates stack that is not allocated yet.
        if !reg.ty.is(Base::Stack) {
            return false;
        }
        match self.dynptr_slots(reg) {
            Ok(at) => {
                self.facts.rules().dynptrs_overwritten
                    || self.walk.slots_at(at).all(|slot| !slot.types.contains(&SlotType::Dynptr))
            }
            Err(why) => matches!(why, NoSlots::OutOfRange),
        }
    }

    fn is_dynptr_reg_valid_init(&mut self, reg: &Reg) -> bool {
        if reg.ty.is(Base::ConstDynptr) {
            return true;
        }
        let Ok(at) = self.dynptr_slots(reg) else { return false };
        let (_, first_slot) = kind_of(&self.spilled(at.frameno, at.spi));
        first_slot && self.walk.slots_at(at).all(|slot| slot.types == [SlotType::Dynptr; 8])
    }

    /// Kind, id and reference of the initialized dynptr that `reg` is or points to.
    ///
    /// Kernel: `dynptr_get_type`, `dynptr_id`, `dynptr_ref_obj_id`.
    pub(crate) fn dynptr_at(&mut self, reg: &Reg) -> Check<(DynptrKind, u32, u32)> {
        if reg.ty.is(Base::ConstDynptr) {
            return Ok((kind_of(reg).0, reg.id, reg.ref_obj_id));
        }
        let at = self.dynptr_slots(reg).map_err(NoSlots::stop)?;
        let slot = self.spilled(at.frameno, at.spi);
        Ok((kind_of(&slot).0, slot.id, slot.ref_obj_id))
    }

    fn mark_stack_slots_dynptr(&mut self, reg: &Reg, arg: DynptrArg) -> Check {
        let at = self.dynptr_slots(reg).map_err(NoSlots::stop)?;
        // The two slots may belong to two different dynptrs.
        for spi in at.iter() {
            self.destroy_if_dynptr_stack_slot(at.frameno, spi)?;
        }
        let kind = DynptrKind::of_flags(arg.flags);
        if kind == DynptrKind::Invalid {
            reject!(EINVAL, KfuncFault::NoDynptrKind);
        }
        let id = self.store.new_id();
        let mut ref_obj_id = 0;
        if kind.is_refcounted() {
            ref_obj_id = match arg.clone_ref_obj_id {
                0 => acquire_reference(self),
                id => id,
            };
        }
        self.walk.top_had_id |= at.frameno == 0 && at.iter().any(|spi| spi == 0);
        self.write_slots(at, SlotType::Dynptr, |i| Reg {
            ref_obj_id,
            ..dynptr_reg(kind, id, i == 0)
        });
        Ok(())
    }

    /// Releases the dynptr that `reg` points to: invalidates it, its clones and their slices.
    pub(crate) fn unmark_stack_slots_dynptr(&mut self, reg: &Reg) -> Check {
        let at = self.dynptr_slots(reg).map_err(NoSlots::stop)?;
        let slot = self.spilled(at.frameno, at.spi);
        if !kind_of(&slot).0.is_refcounted() {
            self.clear_slots(at);
            return Ok(());
        }
        let ref_obj_id = slot.ref_obj_id;
        release_reference(self, ref_obj_id);
        for (frameno, spi) in self.holders_of(ref_obj_id) {
            let ends_slices = self.facts.rules().slices_end_with_dynptr;
            let id = self.spilled(frameno, spi).id;
            // The kernel only looks for clones in that frame.
            let is_seen = frameno == at.frameno || ends_slices;
            if is_seen || self.goes_by(HoleKind::DynptrClones) {
                self.clear_slots(Slots { frameno, spi, ..at });
            }
            if ends_slices || self.goes_by(HoleKind::RecordSlice) {
                self.end_slices(id, true);
            }
        }
        Ok(())
    }

    /// The dynptrs that hold a reference: their frames and first slots.
    fn holders_of(&self, ref_obj_id: u32) -> SmallVec<[(u32, usize); 4]> {
        let mut found = SmallVec::new();
        for frameno in 0..self.walk.cur.frames.len() as u32 {
            for spi in 1..self.walk.cur.frames[frameno as usize].slots().len() {
                if self.walk.slot(frameno, spi).types[0] != SlotType::Dynptr {
                    continue;
                }
                let holder = self.spilled(frameno, spi);
                if holder.ref_obj_id == ref_obj_id && kind_of(&holder).1 {
                    found.push((frameno, spi));
                }
            }
        }
        found
    }

    /// A write to slot `spi` of frame `frameno` destroys the dynptr there, and its slices.
    #[inline(always)]
    pub(crate) fn destroy_if_dynptr_stack_slot(&mut self, frameno: u32, spi: usize) -> Check {
        match self.walk.slot(frameno, spi).types[0] {
            SlotType::Dynptr => self.destroy_dynptr(frameno, spi),
            _ => Ok(()),
        }
    }

    #[cold]
    fn destroy_dynptr(&mut self, frameno: u32, spi: usize) -> Check {
        if !self.facts.rules().overwriting_ends_dynptrs {
            return Ok(());
        }
        let (kind, first_slot) = kind_of(&self.spilled(frameno, spi));
        let spi = if first_slot { spi } else { spi + 1 };
        if self.walk.cur.frames[frameno as usize].slot(spi).is_none() {
            return Err(Stop::bug("half of a dynptr at the end of the stack"));
        }
        let Reg { id, ref_obj_id, .. } = self.spilled(frameno, spi);
        let may_go =
            || self.facts.rules().clones_overwritten && self.holders_of(ref_obj_id).len() > 1;
        if kind.is_refcounted() && !may_go() {
            reject!(EINVAL, KfuncFault::DynptrReferenced);
        }
        self.clear_slots(Slots { frameno, spi, nr: BPF_DYNPTR_NR_SLOTS });
        if self.facts.rules().overwriting_ends_slices {
            self.end_slices(id, self.facts.rules().slices_end_with_dynptr);
        }
        Ok(())
    }

    /// Invalidates the slices of the dynptr with that id; `of_kfuncs`: those, too, which have the
    /// kind of the dynptr in their type.
    fn end_slices(&mut self, id: u32, of_kfuncs: bool) {
        let allow_ptr_leaks = self.facts.allow_ptr_leaks;
        self.for_each_reg(|reg| {
            let is_plain = reg.ty.without(TypeFlag::PTR_MAYBE_NULL).is(Base::Mem);
            let is_slice = is_plain || of_kfuncs && reg.ty.base == Base::Mem;
            let Extra::Mem { dynptr_id, .. } = reg.extra else { return false };
            if !is_slice || dynptr_id != id {
                return false;
            }
            *reg = if allow_ptr_leaks { Reg::unknown() } else { Reg::not_init() };
            true
        });
    }
}

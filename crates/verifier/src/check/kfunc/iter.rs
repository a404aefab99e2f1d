//! Open-coded iterators: their state on the stack, and the two outcomes of their next method.
//!
//! `bpf_iter_X_new` creates the state and acquires a reference, `bpf_iter_X_next` either returns an
//! element or is drained, `bpf_iter_X_destroy` releases the reference. Each call of next is walked
//! both ways; loops terminate because states at the call converge.
//!
//! Kernel: `process_iter_arg`, `process_iter_next_call`, `mark_stack_slots_iter` (6.18).

use super::meta::Meta;
use super::slots::{NoSlots, Slots};
use crate::check::call::refs::{acquire_reference, release_reference};
use crate::check::jmp::mark_ptr_not_null;
use crate::check::mem::btf_trust::in_rcu_cs;
use crate::env::Env;
use crate::rejection::{Check, KfuncFault, Stop, reject};
use crate::state::reg::{Extra, IterState, Reg};
use crate::state::reg_type::{Base, RegType, TypeFlag};
use crate::state::stack::{BPF_REG_SIZE, SlotType};
use skep_btf::{Kind, TypeId};
use skep_uapi::kfunc::KfuncFlags;

/// Why a pointer does not point to a usable iterator.
enum BadIter {
    NotInitialized,
    OutsideRcu,
}

/// The struct of an iterator.
#[derive(Clone, Copy)]
struct IterType {
    btf_id: u32,
    nr_slots: usize,
}

impl Env<'_> {
    /// Checks argument `nth` of the call, a pointer to an iterator.
    pub(super) fn process_iter_arg(&mut self, meta: &mut Meta<'_>, nth: usize) -> Check {
        let regno = nth as u8 + 1;
        let reg = self.reg(regno);
        if !reg.ty.is(Base::Stack) {
            reject!(EINVAL, KfuncFault::NotIterator { nth });
        }
        let Some(iter) = iter_type(meta, nth) else {
            reject!(EINVAL, KfuncFault::IteratorType { nth });
        };
        let name =
            self.facts.kernel_type_name(iter.btf_id).trim_start_matches("bpf_iter_").to_string();
        if meta.callee.has(KfuncFlags::ITER_NEW) {
            if !self.is_iter_reg_valid_uninit(&reg, iter) {
                reject!(EINVAL, KfuncFault::IteratorInUse { name: name.into(), nth });
            }
            self.write_object(regno, iter.nr_slots as i32 * BPF_REG_SIZE)?;
            return self.mark_stack_slots_iter(meta, &reg, iter);
        }
        match self.iter_reg_valid_init(&reg, iter) {
            Ok(()) => {}
            Err(BadIter::NotInitialized) => {
                reject!(EINVAL, KfuncFault::IteratorUninit { name: name.into(), nth })
            }
            Err(BadIter::OutsideRcu) => {
                reject!(EPROTO, KfuncFault::IteratorNeedsRcu { name: meta.callee.name.into() })
            }
        }
        let at = self.iter_slots(&reg, iter).map_err(NoSlots::stop)?;
        self.mark_slots_read(at);
        meta.iter = Some(at);
        meta.ref_obj_id = self.spilled(at.frameno, at.spi).ref_obj_id;
        if meta.callee.has(KfuncFlags::ITER_DESTROY) {
            release_reference(self, meta.ref_obj_id);
            self.clear_slots(at);
        }
        Ok(())
    }

    fn iter_slots(&mut self, reg: &Reg, iter: IterType) -> Result<Slots, NoSlots> {
        self.slots_of(reg, "iter", iter.nr_slots)
    }

    fn is_iter_reg_valid_uninit(&mut self, reg: &Reg, iter: IterType) -> bool {
        match self.iter_slots(reg, iter) {
            Err(NoSlots::OutOfRange) => true,
            Err(NoSlots::Misplaced(_)) => false,
            Ok(at) => self.walk.slots_at(at).all(|slot| !slot.types.contains(&SlotType::Iter)),
        }
    }

    fn iter_reg_valid_init(&mut self, reg: &Reg, iter: IterType) -> Result<(), BadIter> {
        let at = self.iter_slots(reg, iter).map_err(|_| BadIter::NotInitialized)?;
        for (i, spi) in at.iter().enumerate() {
            let slot = self.walk.slot(at.frameno, spi);
            let st = self.spilled(at.frameno, spi);
            if st.ty.has(TypeFlag::PTR_UNTRUSTED) {
                return Err(BadIter::OutsideRcu);
            }
            let same = matches!(st.extra, Extra::Iter { btf_id, .. } if btf_id == iter.btf_id);
            if (i == 0) != (st.ref_obj_id != 0) || !same || slot.types != [SlotType::Iter; 8] {
                return Err(BadIter::NotInitialized);
            }
        }
        Ok(())
    }

    fn mark_stack_slots_iter(&mut self, meta: &Meta<'_>, reg: &Reg, iter: IterType) -> Check {
        let at = self.iter_slots(reg, iter).map_err(NoSlots::stop)?;
        let id = acquire_reference(self);
        let mut ty = RegType::of(Base::Stack);
        if meta.callee.has(KfuncFlags::RCU_PROTECTED) {
            let trust = if in_rcu_cs(self) { TypeFlag::MEM_RCU } else { TypeFlag::PTR_UNTRUSTED };
            ty = ty.with(trust);
        }
        let extra = Extra::Iter { btf_id: iter.btf_id, active: IterState::Active, depth: 0 };
        self.write_slots(at, SlotType::Iter, |i| Reg {
            extra,
            ref_obj_id: if i == 0 { id } else { 0 },
            ..Reg::pointer(ty)
        });
        Ok(())
    }

    /// After a call of next: one branch has an element, the current path continues without one.
    pub(super) fn process_iter_next_call(&mut self, at: Slots) -> Check {
        let mut cur = self.spilled(at.frameno, at.spi);
        let Extra::Iter { btf_id, active, depth } = cur.extra else {
            return Err(Stop::bug("next of an iterator that is none"));
        };
        if active == IterState::Active {
            let idx = self.walk.insn_idx;
            let prev =
                self.walk.cur.meta.parent.and_then(|parent| self.find_prev_entry(parent, idx));
            cur.extra = Extra::Iter { btf_id, active, depth: depth + 1 };
            self.set_spilled(at.frameno, at.spi, &cur);
            let null = self.reg(0);
            let mut element = null;
            mark_ptr_not_null(self.facts, &mut element);
            self.set_reg(0, element);
            self.push_stack(idx + 1, idx, false)?;
            if let Some(prev) = prev {
                self.widen_imprecise_scalars(prev);
            }
        }
        cur.extra = Extra::Iter { btf_id, active: IterState::Drained, depth };
        self.set_spilled(at.frameno, at.spi, &cur);
        self.set_reg(0, Reg::constant(0));
        Ok(())
    }
}

/// The iterator struct that argument `nth` points to. Kernel: `btf_check_iter_arg`.
fn iter_type(meta: &Meta<'_>, nth: usize) -> Option<IterType> {
    let proto = meta.callee.proto;
    let btf = proto.btf();
    let ptr = btf.skip_modifiers(proto.params().nth(nth)?.ty);
    let t = btf.skip_modifiers(ptr.target_id());
    let ok =
        ptr.kind() == Kind::Ptr && t.kind() == Kind::Struct && t.name().starts_with("bpf_iter_");
    let TypeId(btf_id) = t.id();
    let size = t.stated_size().unwrap_or(0);
    ok.then_some(IterType { btf_id, nr_slots: (size / 8) as usize })
}

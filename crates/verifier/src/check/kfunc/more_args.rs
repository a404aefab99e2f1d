//! Rare kinds of kfunc arguments: sized memory, strings, work queues, resilient locks.
//!
//! Kernel: `check_kfunc_mem_size_reg`, `process_wq_func`, `check_css_task_iter_allowlist` (6.18).

use super::callee::Special;
use super::meta::{MapArg, Meta};
use crate::HoleKind;
use crate::check::call::arg_mem::{ArgMem, check_helper_mem_access};
use crate::check::call::lock::{LockCall, process_spin_lock};
use crate::check::jmp::mark_ptr_not_null;
use crate::check::mem::access::AccessType;
use crate::env::Env;
use crate::rejection::{Check, KfuncFault, Regno, reject, unsupported};
use crate::state::reference::RefKind;
use crate::state::reg::Extra;
use crate::state::reg_type::{Base, RegType, TypeFlag};
use skep_btf::FieldKind;
use skep_uapi::limits::BPF_MAX_VAR_SIZ;
use skep_uapi::{AttachType, ProgType};

impl Env<'_> {
    /// Checks the size in R`regno` and that the memory argument before it may be read and written.
    /// `takes_null`: the kfunc checks for NULL.
    pub(super) fn check_kfunc_mem_size_reg(&mut self, regno: u8, takes_null: bool) -> Check {
        let (name, saved) = (self.walk.cur.frame().name(regno - 1), self.reg(regno - 1));
        if saved.ty.may_be_null() {
            if !takes_null && self.reg(regno).val.umax > 0 {
                self.goes_through(HoleKind::NullMemory);
            }
            let mut reg = saved;
            mark_ptr_not_null(self.facts, &mut reg);
            self.store.arena.set_reg(self.walk.cur.frame_mut(), regno - 1, &reg);
        }
        let mut checked = self.check_size(regno, AccessType::Read);
        if checked.is_ok() {
            checked = self.check_size(regno, AccessType::Write);
        }
        if saved.ty.may_be_null() {
            self.walk.cur.frame_mut().set_name(regno - 1, name);
        }
        checked
    }

    fn check_size(&mut self, regno: u8, ty: AccessType) -> Check {
        let val = self.reg(regno).val;
        if val.smin < 0 {
            reject!(EACCES, KfuncFault::NegativeSize { regno: Regno(regno) });
        }
        if val.umax >= BPF_MAX_VAR_SIZ {
            reject!(EACCES, KfuncFault::UnboundedSize { regno: Regno(regno) });
        }
        let mem = ArgMem { regno: regno - 1, size: val.umax as i32, zero_size_allowed: true };
        check_helper_mem_access(self, mem, ty, None)?;
        self.mark_chain_precision(regno)
    }

    pub(super) fn check_const_str_arg(&mut self, nth: usize) -> Check {
        if !self.reg(nth as u8 + 1).ty.is(Base::MapValue) {
            reject!(EINVAL, KfuncFault::NotConstString { nth });
        }
        crate::check::call::format::check_const_str(self, nth as u8 + 1)
    }

    /// Checks a pointer to the work queue or task work of a map value.
    ///
    /// Kernel: `process_wq_func`, `process_task_work_func`, `check_map_field_pointer`.
    pub(super) fn check_map_field_arg(
        &self,
        meta: &mut Meta<'_>,
        nth: usize,
        kind: FieldKind,
    ) -> Check {
        let regno = nth as u8 + 1;
        let reg = self.reg(regno);
        if !reg.ty.is(Base::MapValue) {
            reject!(EINVAL, KfuncFault::NotMapValue { nth });
        }
        let Extra::Map { map, uid } = reg.extra else { return unsupported("value of no map") };
        let view = &self.facts.maps[map as usize];
        let (name, what) = (self.facts.map_name(map).to_string(), kind.name());
        let has_btf = self.facts.prog.btf.is_some() && view.def.btf_value_type_id != 0;
        let field = view.fields.iter().find(|f| f.kind == kind).map(|f| f.offset);
        let anywhere = kind == FieldKind::Workqueue && !self.facts.rules().workqueues_in_place;
        if !reg.val.is_const() && !anywhere {
            reject!(EINVAL, KfuncFault::HeadVariable { regno: Regno(regno), name: what });
        }
        if !has_btf {
            reject!(EINVAL, KfuncFault::FieldWithoutBtf { name: name.into(), what });
        }
        let Some(want) = field else {
            reject!(EINVAL, KfuncFault::MapWithoutField { name: name.into(), what });
        };
        let off = (reg.val.var_off.value as i64).wrapping_add(i64::from(reg.off));
        if i64::from(want) != off {
            reject!(EINVAL, KfuncFault::NotTheField { off, what, want });
        }
        meta.map = Some(MapArg { map, uid });
        Ok(())
    }

    pub(super) fn check_res_spin_lock_arg(&mut self, meta: &Meta<'_>, nth: usize) -> Check {
        let (takes, kind) = match meta.callee.special {
            Special::ResSpinLock => (true, RefKind::ResLock),
            Special::ResSpinUnlock => (false, RefKind::ResLock),
            Special::ResSpinLockIrqsave => (true, RefKind::ResLockIrq),
            Special::ResSpinUnlockIrqrestore => (false, RefKind::ResLockIrq),
            _ => return unsupported(format!("kfunc {}", meta.callee.name)),
        };
        let ty = self.reg(nth as u8 + 1).ty;
        if !ty.is(Base::MapValue) && ty != RegType::of(Base::BtfId).with(TypeFlag::MEM_ALLOC) {
            reject!(EINVAL, KfuncFault::NotMapValueOrObject { nth });
        }
        process_spin_lock(self, LockCall { takes, kind }, nth as u8 + 1)
    }

    pub(super) fn may_iterate_css_tasks(&self) -> bool {
        let iter = self.facts.prog.prog_type == ProgType::Tracing
            && self.facts.prog.attach_type() == Some(AttachType::TraceIter);
        self.facts.prog.prog_type == ProgType::Lsm || iter || self.walk.cur.meta.in_sleepable
    }
}

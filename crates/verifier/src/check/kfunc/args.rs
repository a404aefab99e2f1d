//! Arguments of a kfunc, checked one by one against its prototype.
//!
//! Kernel: `check_kfunc_args` (6.18).

use super::arg_kind::{KfArg, has_suffix, is_scalar_type, pointee, struct_of_base, type_str};
use super::callee::Special;
use super::ctx_type::kern_ctx_btf_id;
use super::dynptr::DynptrArg;
use super::meta::{ArgType, InitializedDynptr, MapArg, Meta};
use crate::HoleKind;
use crate::check::call::arg_mem::check_mem_reg;
use crate::check::call::arg_type::check_func_arg_reg_off;
use crate::check::mem::region::check_ptr_off_reg;
use crate::env::{Env, Facts};
use crate::rejection::{Check, KfuncFault, OtherRule, Regno, Stop, reject, unsupported};
use crate::state::reg::{DynptrKind, Extra, Reg};
use crate::state::reg_type::{Base, RegType, TypeFlag};
use skep_btf::{FieldKind, Kind, Param, Type, TypeId};
use skep_uapi::ProgType;
use skep_uapi::helper::ArgBase;
use skep_uapi::kfunc::KfuncFlags;
use std::num::NonZeroU32;

/// Registers available for arguments. Kernel: `MAX_BPF_FUNC_REG_ARGS`.
const ARGS_MAX: usize = 5;

impl Env<'_> {
    /// Checks all arguments and records in `meta` what they say.
    pub(super) fn check_kfunc_args(&mut self, meta: &mut Meta<'_>) -> Check {
        let params: Vec<Param<'_>> = meta.callee.proto.params().collect();
        if params.len() > ARGS_MAX {
            let (name, n) = (meta.callee.name, params.len());
            reject!(EINVAL, KfuncFault::TooManyArgs { name: name.into(), n, max: ARGS_MAX });
        }
        let mut nth = 0;
        while nth < params.len() {
            nth += self.check_kfunc_arg(meta, &params, nth)?;
        }
        if meta.callee.has(KfuncFlags::RELEASE) && meta.release_regno.is_none() {
            let name = meta.callee.name;
            reject!(EINVAL, KfuncFault::ReleaseUnreferenced { name: name.into() });
        }
        Ok(())
    }

    /// Checks argument `nth`; returns the number of arguments consumed.
    fn check_kfunc_arg(
        &mut self,
        meta: &mut Meta<'_>,
        params: &[Param<'_>],
        nth: usize,
    ) -> Check<usize> {
        let btf = meta.callee.proto.btf();
        let (param, regno) = (&params[nth], nth as u8 + 1);
        if has_suffix(param, "__prog") {
            if meta.arg_prog {
                reject!(EFAULT, KfuncFault::TwoAux);
            }
            meta.arg_prog = true;
            return Ok(1);
        }
        if has_suffix(param, "__ign") {
            return Ok(1);
        }
        let t = btf.skip_modifiers(param.ty);
        if is_scalar_type(t) {
            self.check_scalar_arg(meta, param, regno)?;
            return Ok(1);
        }
        if t.kind() != Kind::Ptr {
            reject!(EINVAL, KfuncFault::ArgKind { nth, ty: type_str(t) });
        }
        let reg = self.facts.as_used(self.reg(regno));
        let wants = meta.callee.wants_trusted_args || meta.callee.has(KfuncFlags::RCU);
        let maybe_null = reg.is_null() || reg.ty.may_be_null();
        let takes_null = has_suffix(param, "__nullable") || has_suffix(param, "__opt");
        if wants && maybe_null && !takes_null {
            reject!(EACCES, KfuncFault::MaybeNull { nth });
        }
        self.note_reference(meta, &reg, regno)?;
        let drops = matches!(meta.callee.special, Special::ObjDrop | Special::PercpuObjDrop);
        let releases = meta.callee.has(KfuncFlags::RELEASE) && nth == 0 && !drops;
        if releases && reg.ref_obj_id == 0 && self.facts.rules().references_checked_first {
            let name = meta.callee.name;
            reject!(EINVAL, KfuncFault::ReleaseUnreferenced { name: name.into() });
        }
        let kind = self.kfunc_ptr_arg_kind(meta, params, nth)?;
        if kind == KfArg::Null {
            let rules = self.facts.rules();
            if rules.null_to_kfuncs_is_precise || self.goes_by(HoleKind::NullArgument) {
                self.mark_chain_precision(regno)?;
            }
            return Ok(1);
        }
        if kind == KfArg::Map {
            self.facts.check_map_arg(meta, &reg, regno)?;
        }
        let trusted = matches!(kind, KfArg::Map | KfArg::AllocBtfId | KfArg::BtfId);
        let offset_first = self.facts.rules().offsets_checked_before_trust;
        if trusted && !offset_first {
            self.check_trust(meta, &reg, regno)?;
        }
        let released = meta.callee.has(KfuncFlags::RELEASE) && reg.ref_obj_id != 0;
        let whole = matches!(kind, KfArg::AllocBtfId | KfArg::BtfId)
            && wants
            && !self.facts.rules().inner_objects_passed;
        let release = released || whole;
        let base = if kind == KfArg::Dynptr { ArgBase::Dynptr } else { ArgBase::Dontcare };
        check_func_arg_reg_off(self, regno, base, release)?;
        if trusted && offset_first {
            self.check_trust(meta, &reg, regno)?;
        }
        self.check_pointer_arg(meta, params, nth, kind)?;
        Ok(if kind == KfArg::MemSize { 2 } else { 1 })
    }

    fn note_reference(&self, meta: &mut Meta<'_>, reg: &Reg, regno: u8) -> Check {
        if reg.ref_obj_id == 0 {
            return Ok(());
        }
        let releases = meta.callee.has(KfuncFlags::RELEASE);
        if releases && meta.ref_obj_id != 0 {
            return Err(Stop::bug("more than one argument that is released"));
        }
        meta.ref_obj_id = reg.ref_obj_id;
        if releases {
            meta.release_regno = Some(regno);
        }
        Ok(())
    }

    fn check_scalar_arg(&mut self, meta: &mut Meta<'_>, param: &Param<'_>, regno: u8) -> Check {
        let reg = self.reg(regno);
        if !reg.is_scalar() {
            reject!(EINVAL, KfuncFault::NotScalar { regno: Regno(regno) });
        }
        if has_suffix(param, "__k") {
            let Some(value) = reg.const_value() else {
                reject!(EINVAL, KfuncFault::NotConstant { regno: Regno(regno) });
            };
            self.mark_chain_precision(regno)?;
            meta.arg_constant = Some(value);
            return Ok(());
        }
        let is_size = match param.name {
            "rdonly_buf_size" => {
                meta.r0_rdonly = true;
                true
            }
            "rdwr_buf_size" => true,
            _ => false,
        };
        if is_size {
            if meta.r0_size.is_some() {
                reject!(EINVAL, KfuncFault::TwoBufSizes);
            }
            let Some(value) = reg.const_value() else {
                reject!(EINVAL, KfuncFault::BufSizeNotConst { regno: Regno(regno) });
            };
            let Some(size) = u32::try_from(value).ok().and_then(NonZeroU32::new) else {
                // Kernels differ, and few have a kfunc that shows it.
                return unsupported("a result of no bytes, or of more than 32 bits can say");
            };
            meta.r0_size = Some(size);
            self.mark_chain_precision(regno)?;
        }
        Ok(())
    }

    fn check_pointer_arg(
        &mut self,
        meta: &mut Meta<'_>,
        params: &[Param<'_>],
        nth: usize,
        kind: KfArg,
    ) -> Check {
        let regno = nth as u8 + 1;
        let btf = meta.callee.proto.btf();
        match kind {
            KfArg::Null => Ok(()),
            KfArg::Ctx => self.check_ctx_arg(meta, nth),
            KfArg::AllocBtfId => self.check_alloc_arg(meta, nth),
            KfArg::RefcountedKptr => self.check_refcounted_arg(meta, nth),
            KfArg::Dynptr => self.check_dynptr_arg(meta, &params[nth], regno),
            KfArg::Iter => {
                if meta.callee.special == Special::IterCssTaskNew && !self.may_iterate_css_tasks() {
                    reject!(EINVAL, KfuncFault::CssTaskIter);
                }
                self.process_iter_arg(meta, nth)
            }
            KfArg::IrqFlag => self.process_irq_flag(meta, nth),
            KfArg::ListHead | KfArg::RbRoot => self.check_graph_root_arg(meta, nth, kind),
            KfArg::ListNode | KfArg::RbNode => self.check_graph_node_arg(meta, nth, kind),
            KfArg::Map => {
                let map = struct_of_base(Base::ConstMapPtr).unwrap_or_default();
                match btf.find_by_name_kind(map, Kind::Struct) {
                    Some(id) => self.process_kf_arg_ptr_to_btf_id(meta, btf.ty(id), nth),
                    None => unsupported("kernel without struct bpf_map"),
                }
            }
            KfArg::BtfId => {
                self.process_kf_arg_ptr_to_btf_id(meta, pointee(btf, &params[nth]), nth)
            }
            KfArg::Mem => self.check_mem_arg(pointee(btf, &params[nth]), nth),
            KfArg::MemSize => self.check_mem_size_arg(meta, params, nth),
            KfArg::Callback => {
                let Extra::Subprog(subprogno) = self.reg(regno).extra else {
                    reject!(EINVAL, KfuncFault::NotFunc { nth });
                };
                meta.subprogno = subprogno;
                Ok(())
            }
            KfArg::ConstStr => self.check_const_str_arg(nth),
            KfArg::Workqueue => self.check_map_field_arg(meta, nth, FieldKind::Workqueue),
            KfArg::TaskWork => self.check_map_field_arg(meta, nth, FieldKind::TaskWork),
            KfArg::ResSpinLock => self.check_res_spin_lock_arg(meta, nth),
        }
    }

    fn check_ctx_arg(&self, meta: &mut Meta<'_>, nth: usize) -> Check {
        let ty = self.reg(nth as u8 + 1).ty;
        if !ty.is(Base::Ctx) {
            reject!(EINVAL, KfuncFault::NotCtx { nth, ty });
        }
        if meta.callee.special == Special::CastToKernCtx {
            match kern_ctx_btf_id(meta.callee.proto.btf(), self.facts.prog.prog_type) {
                Ok(id) => meta.ret_btf_id = id.0,
                Err(why) => {
                    reject!(EINVAL, KfuncFault::NoKernelCtx { text: why.to_string().into() });
                }
            }
        }
        Ok(())
    }

    fn check_alloc_arg(&self, meta: &mut Meta<'_>, nth: usize) -> Check {
        let reg = self.reg(nth as u8 + 1);
        let alloc = RegType::of(Base::BtfId).with(TypeFlag::MEM_ALLOC);
        if reg.ty == alloc {
            if meta.callee.special != Special::ObjDrop {
                reject!(EINVAL, KfuncFault::ForObjDrop { nth });
            }
        } else if reg.ty == alloc.with(TypeFlag::MEM_PERCPU) {
            if meta.callee.special != Special::PercpuObjDrop {
                reject!(EINVAL, KfuncFault::ForPercpuObjDrop { nth });
            }
        } else {
            reject!(EINVAL, KfuncFault::NotAllocated { nth });
        }
        if reg.ref_obj_id == 0 {
            reject!(EINVAL, KfuncFault::AllocatedUnreferenced);
        }
        meta.arg_type = object_type(&reg);
        if !self.facts.rules().drops_any_fields {
            self.facts.check_droppable(meta)?;
        }
        Ok(())
    }

    fn check_refcounted_arg(&mut self, meta: &mut Meta<'_>, nth: usize) -> Check {
        let reg = self.reg(nth as u8 + 1);
        if reg.ty.base != Base::BtfId || !reg.ty.has(TypeFlag::MEM_ALLOC) {
            reject!(EINVAL, KfuncFault::NoOwnership { nth });
        }
        let ended = reg.ty.has(TypeFlag::PTR_UNTRUSTED);
        if ended
            && (self.facts.rules().sections_end_borrowing || self.goes_by(HoleKind::EndedSection))
        {
            reject!(EINVAL, KfuncFault::NoOwnership { nth });
        }
        let moved = reg.off != 0 || reg.val.const_value() != Some(0);
        if moved
            && (self.facts.rules().acquires_whole_objects || self.goes_by(HoleKind::InnerReference))
        {
            check_ptr_off_reg(&reg, nth as u8 + 1, false)?;
        }
        meta.arg_owning_ref = !reg.ty.has(TypeFlag::NON_OWN_REF);
        if meta.arg_owning_ref && reg.ref_obj_id == 0 {
            let may_fail = self.facts.rules().acquiring_may_fail;
            meta.arg_owning_ref = !(may_fail || self.goes_by(HoleKind::RefcountedObject));
        }
        let fields = self.facts.fields_of(&reg);
        if fields.is_empty() {
            reject!(EFAULT, KfuncFault::NoRecord);
        }
        if !fields.iter().any(|f| f.kind == FieldKind::Refcount) {
            reject!(EINVAL, KfuncFault::NotRefcounted { nth });
        }
        meta.arg_type = object_type(&reg);
        Ok(())
    }

    fn check_dynptr_arg(&mut self, meta: &mut Meta<'_>, param: &Param<'_>, regno: u8) -> Check {
        let mut arg = DynptrArg { regno, flags: TypeFlag::empty(), clone_ref_obj_id: 0 };
        if self.reg(regno).ty.is(Base::ConstDynptr) {
            arg.flags |= TypeFlag::MEM_RDONLY;
        }
        if has_suffix(param, "__uninit") {
            arg.flags |= TypeFlag::MEM_UNINIT;
        }
        arg.flags |= match meta.callee.special {
            Special::DynptrFromSkb => TypeFlag::DYNPTR_TYPE_SKB,
            Special::DynptrFromXdp => TypeFlag::DYNPTR_TYPE_XDP,
            Special::DynptrFromSkbMeta => TypeFlag::DYNPTR_TYPE_SKB_META,
            Special::DynptrClone if arg.flags.contains(TypeFlag::MEM_UNINIT) => {
                let Some(parent) = meta.dynptr else {
                    return Err(Stop::bug("clone of no dynptr"));
                };
                arg.clone_ref_obj_id = parent.ref_obj_id;
                parent.kind.flag()
            }
            _ => TypeFlag::empty(),
        };
        self.process_dynptr_func(arg)?;
        if !arg.flags.contains(TypeFlag::MEM_UNINIT) {
            let reg = self.reg(regno);
            let (kind, id, ref_obj_id) = self.dynptr_at(&reg)?;
            debug_assert_ne!(kind, DynptrKind::Invalid);
            meta.dynptr = Some(InitializedDynptr { kind, id, ref_obj_id });
        }
        Ok(())
    }

    fn check_mem_arg(&mut self, to: Type<'_>, nth: usize) -> Check {
        let Ok(size) = to.btf().size_of(to.id()) else {
            let (kind, name) = (type_str(to), to.name());
            reject!(EINVAL, KfuncFault::ArgSize { nth, kind, name: name.into() });
        };
        check_mem_reg(self, nth as u8 + 1, size)
    }

    fn check_mem_size_arg(
        &mut self,
        meta: &mut Meta<'_>,
        params: &[Param<'_>],
        nth: usize,
    ) -> Check {
        let (regno, size_regno) = (nth as u8 + 1, nth as u8 + 2);
        // Since 7.0 `__nullable` also applies to the buffer.
        let slice = matches!(meta.callee.special, Special::DynptrSlice | Special::DynptrSliceRdwr);
        let [opt, nullable] = ["__opt", "__nullable"].map(|it| has_suffix(&params[nth], it));
        let optional = self.reg(regno).is_null() && (opt || slice && nullable);
        if self.facts.rules().constant_sizes_checked_first {
            self.check_const_size(params, nth + 1)?;
        }
        if !optional && let Err(stop) = self.check_kfunc_mem_size_reg(size_regno, opt || nullable) {
            return Err(stop.led_to(KfuncFault::MemLenPair { nth, len: nth + 1 }));
        }
        if let Some(value) = self.check_const_size(params, nth + 1)? {
            meta.arg_constant = Some(value);
            let rules = self.facts.rules();
            if optional && (rules.slice_sizes_precise || self.goes_by(HoleKind::SliceSize)) {
                self.mark_chain_precision(size_regno)?;
            }
        }
        Ok(())
    }
}

impl Env<'_> {
    /// The size in argument `nth`, if it must be a constant.
    fn check_const_size(&self, params: &[Param<'_>], nth: usize) -> Check<Option<u64>> {
        if !self.is_const_mem_size(params, nth) {
            return Ok(None);
        }
        let regno = nth as u8 + 1;
        match self.reg(regno).const_value() {
            Some(value) => Ok(Some(value)),
            None => reject!(EINVAL, KfuncFault::NotConstant { regno: Regno(regno) }),
        }
    }
}

impl Facts<'_> {
    /// A map argument after a field of a map value: both must belong to the same map.
    ///
    /// Linux 6.18.44 dereferences NULL if the other map has no special fields (`bpf_wq_init`), and
    /// takes what it keeps of other pointers (a type, a size) for a map: such programs get no
    /// verdict, and are never loaded.
    fn check_map_arg(&self, meta: &mut Meta<'_>, reg: &Reg, regno: u8) -> Check {
        let Extra::Map { map, uid } = reg.extra else {
            let kept = !matches!(reg.extra, Extra::None | Extra::Frame(_) | Extra::Range(0));
            if meta.map.is_some() && kept {
                return unsupported("a field of a map value with what is not a map");
            }
            // The kernel's own `struct bpf_map`; memory is refused by its trust.
            if reg.ty.base == Base::BtfId || reg.mem_size() != 0 {
                return Ok(());
            }
            reject!(EINVAL, KfuncFault::NotMap { regno: Regno(regno) });
        };
        if meta.map.is_some() && self.maps[map as usize].fields.is_empty() {
            return unsupported("a field of a map value with a map that has no special fields");
        }
        if let Some(first) = meta.map
            && self.map_has_async_field(map)
            && (first.map != map || first.uid != uid)
        {
            let has_work =
                self.maps[map as usize].fields.iter().any(|f| f.kind == FieldKind::TaskWork);
            let (what, a, b) = if has_work { ("bpf_task_work", 2, 3) } else { ("workqueue", 1, 2) };
            let from = first.uid;
            reject!(
                EINVAL,
                KfuncFault::FieldOfOtherMap { what, a: Regno(a), from, b: Regno(b), uid }
            );
        }
        meta.map = Some(MapArg { map, uid });
        Ok(())
    }
}

impl Facts<'_> {
    /// Programs that may run in an NMI may only drop objects whose fields can be freed there. Only
    /// pointer fields have been tested on a kernel.
    fn check_droppable(&self, meta: &Meta<'_>) -> Check {
        let is_tracing = matches!(
            self.prog.prog_type,
            ProgType::Tracing
                | ProgType::Tracepoint
                | ProgType::Kprobe
                | ProgType::PerfEvent
                | ProgType::RawTracepoint
                | ProgType::RawTracepointWritable
        );
        let object = meta.arg_type.filter(|object| object.in_prog && is_tracing);
        let fields = object.and_then(|object| self.struct_metas?.get(&TypeId(object.id)));
        let Some(fields) = fields.filter(|fields| !fields.is_empty()) else { return Ok(()) };
        if fields.iter().all(|field| field.kind == FieldKind::SpinLock) {
            return Ok(());
        }
        if !fields.iter().any(|field| field.kind == FieldKind::KptrRef) {
            let kinds: Vec<_> = fields.iter().map(|field| field.kind).collect();
            return unsupported(format!("dropping objects with {kinds:?} in tracing programs"));
        }
        reject!(EINVAL, OtherRule::DropInNmi { name: "bpf_obj_drop_impl" });
    }
}

fn object_type(reg: &Reg) -> Option<ArgType> {
    match reg.extra {
        Extra::Btf { id, in_prog } => Some(ArgType { id, in_prog }),
        _ => None,
    }
}

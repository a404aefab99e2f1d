//! What a kfunc returns.
//!
//! Kernel: the return type part of `check_kfunc_call`, `check_special_kfunc` (6.18).

use super::arg_kind::{is_scalar_type, type_str};
use super::callee::Special;
use super::graph::graph_node;
use super::meta::Meta;
use crate::check::call::refs::acquire_reference;
use crate::env::Env;
use crate::rejection::{Check, KfuncFault, Stop, reject};
use crate::state::reg::{Extra, Reg};
use crate::state::reg_type::{Base, RegType, TypeFlag};
use skep_btf::{Kind, Type, TypeId};
use skep_uapi::kfunc::KfuncFlags;
use skep_uapi::may_write_packet;
use std::num::NonZeroU32;

/// Largest per-CPU object. Kernel: `BPF_GLOBAL_PERCPU_MA_MAX_SIZE`.
const PERCPU_OBJ_SIZE_MAX: u32 = 512;

/// A pointer to an object of a BTF type.
fn btf_ptr(flags: TypeFlag, id: u32, in_prog: bool) -> Reg {
    Reg { extra: Extra::Btf { id, in_prog }, ..Reg::pointer(RegType::of(Base::BtfId).with(flags)) }
}

fn mem(flags: TypeFlag, size: u32) -> Reg {
    Reg {
        extra: Extra::Mem { size, dynptr_id: 0 },
        ..Reg::pointer(RegType::of(Base::Mem).with(flags))
    }
}

impl Env<'_> {
    /// Sets R0 to what the kfunc returns. R1 to R5 become unreadable.
    pub(super) fn set_kfunc_return(&mut self, meta: &Meta<'_>) -> Check {
        let btf = meta.callee.proto.btf();
        let t = btf.skip_modifiers(meta.callee.proto.target_id());
        let acquires = meta.callee.has(KfuncFlags::ACQUIRE);
        let to = btf.skip_modifiers(t.target_id());
        let is_struct_ptr = t.kind() == Kind::Ptr && to.kind().is_composite();
        if acquires && !is_struct_ptr && !meta.callee.special.returns_object() {
            reject!(EINVAL, KfuncFault::AcquiresNoObject);
        }
        if is_scalar_type(t) {
            let special = meta.callee.special;
            let is_lock = matches!(special, Special::ResSpinLock | Special::ResSpinLockIrqsave);
            self.set_reg(0, if is_lock { Reg::constant(0) } else { Reg::unknown() });
            return Ok(());
        }
        if t.kind() == Kind::Ptr {
            return self.set_pointer_return(meta, to);
        }
        Ok(())
    }

    fn set_pointer_return(&mut self, meta: &Meta<'_>, to: Type<'_>) -> Check {
        let mut r0 = match self.special_return(meta, to)? {
            Some(reg) => reg,
            None => self.plain_return(meta, to)?,
        };
        if meta.may_return_null() {
            r0.ty = r0.ty.with(TypeFlag::PTR_MAYBE_NULL);
            r0.id = self.store.new_id();
        }
        let is_node =
            to.kind() == Kind::Struct && matches!(to.name(), "bpf_rb_node" | "bpf_list_node");
        if meta.callee.has(KfuncFlags::ACQUIRE) {
            let id = acquire_reference(self);
            if meta.may_return_null() {
                r0.id = id;
            }
            r0.ref_obj_id = id;
        } else if is_node {
            self.ref_set_non_owning(&mut r0)?;
        }
        if r0.id == 0 && !r0.ty.may_be_null() && self.facts.may_point_to_spin_lock(&r0) {
            r0.id = self.store.new_id();
        }
        self.set_reg(0, r0);
        Ok(())
    }

    fn plain_return(&self, meta: &Meta<'_>, to: Type<'_>) -> Check<Reg> {
        let rcu = meta.callee.has(KfuncFlags::RCU_PROTECTED);
        if to.kind() == Kind::Void {
            return Ok(Reg::unknown());
        }
        if to.kind() != Kind::Struct {
            let (size, rdonly) = match (meta.r0_size, to.btf().size_of(to.id())) {
                (None, Ok(size)) => (size, true),
                (size, _) => (size.map_or(0, NonZeroU32::get), meta.r0_rdonly),
            };
            if size == 0 {
                let (name, kind, to) = (meta.callee.name, type_str(to), to.name());
                reject!(
                    EINVAL,
                    KfuncFault::ResultPointer { name: name.into(), kind, to: to.into() }
                );
            }
            let mut flags = TypeFlag::empty();
            flags.set(TypeFlag::MEM_RDONLY, rdonly);
            flags.set(TypeFlag::MEM_RCU, rcu);
            return Ok(Reg { ref_obj_id: meta.ref_obj_id, ..mem(flags, size) });
        }
        let mut flags = TypeFlag::empty();
        if meta.callee.special == Special::GetKmemCache {
            flags |= TypeFlag::PTR_UNTRUSTED;
        } else if rcu {
            flags |= TypeFlag::MEM_RCU;
        }
        if let Some(at) = meta.iter.filter(|_| meta.callee.has(KfuncFlags::ITER_NEXT)) {
            let in_rcu = self.spilled(at.frameno, at.spi).ty.has(TypeFlag::MEM_RCU);
            flags |= if in_rcu { TypeFlag::MEM_RCU } else { TypeFlag::PTR_TRUSTED };
        } else if flags.is_empty() && self.facts.rules().kfunc_results_trusted {
            flags |= TypeFlag::PTR_TRUSTED;
        }
        Ok(btf_ptr(flags, to.id().0, false))
    }

    /// Kfuncs whose result does not follow from their prototype.
    fn special_return(&mut self, meta: &Meta<'_>, to: Type<'_>) -> Check<Option<Reg>> {
        let constant = meta.arg_constant.unwrap_or(0);
        let name = if to.kind() == Kind::Struct { to.name() } else { "" };
        Ok(Some(match meta.callee.special {
            Special::ObjNew | Special::PercpuObjNew => self.new_object(meta, constant)?,
            Special::RefcountAcquire => match meta.arg_type {
                Some(arg) => btf_ptr(TypeFlag::MEM_ALLOC, arg.id, arg.in_prog),
                None => return Err(Stop::bug("refcount_acquire of nothing")),
            },
            _ if name == "bpf_list_node" || name == "bpf_rb_node" => match &meta.graph_root {
                Some(root) => graph_node(root),
                None => return Err(Stop::bug("node of no list or tree")),
            },
            Special::CastToKernCtx => btf_ptr(TypeFlag::PTR_TRUSTED, meta.ret_btf_id, false),
            Special::RdonlyCast => self.rdonly_cast(meta, constant)?,
            Special::DynptrSlice | Special::DynptrSliceRdwr => self.slice(meta, constant)?,
            _ => return Ok(None),
        }))
    }

    fn new_object(&mut self, meta: &Meta<'_>, local_type_id: u64) -> Check<Reg> {
        let Ok(id) = u32::try_from(local_type_id) else {
            reject!(EINVAL, KfuncFault::TypeIdRange);
        };
        // The kernel only loads the program's BTF if func info or line info refers to it.
        let has_rows =
            !self.facts.prog.func_info.is_empty() || !self.facts.prog.line_info.is_empty();
        let Some(btf) = self.facts.prog.btf.clone().filter(|_| has_rows) else {
            reject!(EINVAL, KfuncFault::NewWithoutBtf);
        };
        let Some(t) = btf.get(TypeId(id)).filter(|t| t.kind() == Kind::Struct) else {
            reject!(EINVAL, KfuncFault::NewNotStruct);
        };
        let mut flags = TypeFlag::MEM_ALLOC;
        if meta.callee.special == Special::PercpuObjNew {
            let size = t.stated_size().unwrap_or(0);
            if size > PERCPU_OBJ_SIZE_MAX {
                reject!(EINVAL, KfuncFault::NewTooLarge { size, max: PERCPU_OBJ_SIZE_MAX });
            }
            if !self.is_scalar_struct(t, 0) {
                reject!(EINVAL, KfuncFault::NewNotScalars);
            }
            if self.facts.struct_metas.is_some_and(|metas| metas.contains_key(&TypeId(id))) {
                reject!(EINVAL, KfuncFault::NewSpecialFields);
            }
            flags |= TypeFlag::MEM_PERCPU;
        }
        self.aux_mut().make_local_type(id);
        Ok(btf_ptr(flags, id, true))
    }

    fn rdonly_cast(&self, meta: &Meta<'_>, type_id: u64) -> Check<Reg> {
        let id = TypeId(type_id as u32);
        let Some(t) = meta.callee.proto.btf().get(id) else {
            let id = type_id as i64;
            reject!(EINVAL, KfuncFault::CastUnknownType { id });
        };
        if t.kind().is_composite() {
            return Ok(btf_ptr(TypeFlag::PTR_UNTRUSTED, id.0, false));
        }
        if t.kind() == Kind::Void && self.facts.rules().casts_to_void {
            return Ok(mem(TypeFlag::MEM_RDONLY | TypeFlag::PTR_UNTRUSTED, 0));
        }
        reject!(EINVAL, KfuncFault::CastNotStruct)
    }

    fn slice(&mut self, meta: &Meta<'_>, size: u64) -> Check<Reg> {
        let Some(dynptr) = meta.dynptr else {
            return Err(Stop::bug("slice of no dynptr"));
        };
        let mut flags = dynptr.kind.flag();
        if meta.callee.special == Special::DynptrSlice {
            flags |= TypeFlag::MEM_RDONLY;
        } else if !may_write_packet(self.facts.prog.prog_type) {
            reject!(EINVAL, KfuncFault::PacketReadOnly);
        } else {
            self.learned.seen_direct_write = true;
        }
        let extra = Extra::Mem { size: size as u32, dynptr_id: dynptr.id };
        Ok(Reg { extra, ..mem(flags, 0) })
    }
}

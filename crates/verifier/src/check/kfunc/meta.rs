//! What the checks of a kfunc call's arguments collect about the call.
//!
//! Kernel: `struct bpf_kfunc_call_arg_meta` (6.18).

use super::callee::Callee;
use super::slots::Slots;
use crate::state::reg::DynptrKind;
use skep_btf::SpecialField;
use std::num::NonZeroU32;

/// A map argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MapArg {
    /// Index in `Facts::maps`.
    pub(super) map: u32,
    /// Distinguishes two lookups of an inner map.
    pub(super) uid: u32,
}

/// An initialized dynptr argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct InitializedDynptr {
    pub(super) kind: DynptrKind,
    pub(super) id: u32,
    pub(super) ref_obj_id: u32,
}

/// A type, in the kernel's BTF or in the program's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ArgType {
    pub(super) id: u32,
    pub(super) in_prog: bool,
}

/// What the arguments checked so far say.
#[derive(Clone, Debug)]
pub(super) struct Meta<'a> {
    pub(super) callee: Callee<'a>,
    /// Reference held by an argument.
    pub(super) ref_obj_id: u32,
    /// Argument register that the call releases.
    pub(super) release_regno: Option<u8>,
    /// Callback.
    pub(super) subprogno: u32,
    /// Size of the returned memory, if an argument says it.
    pub(super) r0_size: Option<NonZeroU32>,
    pub(super) r0_rdonly: bool,
    /// Type returned by `bpf_cast_to_kern_ctx`.
    pub(super) ret_btf_id: u32,
    /// Constant argument.
    pub(super) arg_constant: Option<u64>,
    /// Type of the object argument.
    pub(super) arg_type: Option<ArgType>,
    /// `bpf_refcount_acquire` of an object that the program owns, which cannot fail.
    pub(super) arg_owning_ref: bool,
    /// An argument is the program itself.
    pub(super) arg_prog: bool,
    /// List head or rb root argument.
    pub(super) graph_root: Option<SpecialField>,
    pub(super) dynptr: Option<InitializedDynptr>,
    pub(super) iter: Option<Slots>,
    pub(super) map: Option<MapArg>,
}

impl<'a> Meta<'a> {
    pub(super) fn new(callee: Callee<'a>) -> Meta<'a> {
        Meta {
            callee,
            ref_obj_id: 0,
            release_regno: None,
            subprogno: 0,
            r0_size: None,
            r0_rdonly: false,
            ret_btf_id: 0,
            arg_constant: None,
            arg_type: None,
            arg_owning_ref: false,
            arg_prog: false,
            graph_root: None,
            dynptr: None,
            iter: None,
            map: None,
        }
    }

    /// `bpf_task_release#1234`, as messages name the kfunc.
    pub(super) fn name(&self) -> String {
        format!("{}#{}", self.callee.name, self.callee.id)
    }

    /// The result may be NULL. Kernel: `is_kfunc_ret_null`.
    pub(super) fn may_return_null(&self) -> bool {
        use super::callee::Special;
        use skep_uapi::kfunc::KfuncFlags;
        self.callee.has(KfuncFlags::RET_NULL)
            && !(self.callee.special == Special::RefcountAcquire && self.arg_owning_ref)
    }
}

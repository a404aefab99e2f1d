//! What the checks of a call's arguments collect about the call.
//!
//! Kernel: `struct bpf_call_arg_meta` (6.18).

use crate::check::mem::kptr::Pointee;
use crate::check::mem::stack_range::RawRange;
use crate::state::reg::Reg;
use skep_btf::SpecialField;
use skep_uapi::helper::{ArgBase, HelperId, HelperProto};

/// A map argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MapArg {
    /// Index in `Facts::maps`.
    pub(crate) map: u32,
    /// Distinguishes two lookups of an inner map.
    pub(crate) uid: u32,
}

/// What the arguments checked so far say.
#[derive(Clone, Debug)]
pub(crate) struct CallMeta {
    pub(crate) func: HelperId,
    pub(crate) proto: &'static HelperProto,
    pub(crate) map: Option<MapArg>,
    /// The current memory argument is only written.
    pub(crate) raw_mode: bool,
    /// Stack that the helper fills.
    pub(crate) raw: Option<RawRange>,
    /// Argument register that the call releases.
    pub(crate) release_regno: Option<u8>,
    pub(crate) ref_obj_id: u32,
    /// Size of the memory that the call returns.
    pub(crate) mem_size: u32,
    /// Largest value of the current size argument.
    pub(crate) msize_max: u64,
    /// Per-CPU variable that the call returns a pointer to.
    pub(crate) percpu: Option<Reg>,
    /// Callback.
    pub(crate) subprogno: u32,
    pub(crate) dynptr_id: u32,
    /// Key of an array map, if it is a known constant.
    pub(crate) const_map_key: Option<u64>,
    /// Field that `bpf_kptr_xchg` changes, and what it points to.
    pub(crate) kptr_field: Option<(SpecialField, Pointee)>,
    /// The call changes packet data.
    pub(crate) changes_data: bool,
}

impl CallMeta {
    pub(crate) fn new(proto: &'static HelperProto) -> CallMeta {
        CallMeta {
            func: proto.id,
            proto,
            map: None,
            raw_mode: false,
            raw: None,
            release_regno: None,
            ref_obj_id: 0,
            mem_size: 0,
            msize_max: 0,
            percpu: None,
            subprogno: 0,
            dynptr_id: 0,
            const_map_key: None,
            kptr_field: None,
            changes_data: false,
        }
    }

    /// `bpf_map_lookup_elem#1`, as messages name the helper.
    pub(crate) fn name(&self) -> String {
        format!("{}#{}", self.func.name(), self.func.number())
    }
}

/// The register of the first argument of that kind.
pub(crate) fn arg_register(proto: &HelperProto, base: ArgBase) -> Option<u8> {
    proto.args.iter().position(|a| a.base == base).map(|i| i as u8 + 1)
}

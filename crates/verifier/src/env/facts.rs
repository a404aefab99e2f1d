//! Facts about a program that are fixed before its walk.

use crate::Config;
use crate::callees::Callable;
use crate::env::writable::Writable;
use crate::passes::stack_use::StackUse;
use crate::passes::subprogs::Subprogs;
use crate::state::reg::{Extra, Reg};
use crate::state::reg_type::{Base, TypeFlag};
use skep_btf::{FieldKind, SpecialField, TypeId};
use skep_insn::Insn;
use skep_insn::code::{BPF_PSEUDO_MAP_FD, BPF_PSEUDO_MAP_VALUE};
use skep_program::{AttachTarget, MapDef, Program};
use skep_uapi::Insns;
use skep_uapi::{Behaviours, MapType};

/// The program, the configuration, and the results of the passes. The walk only reads them.
pub(crate) struct Facts<'a> {
    pub(crate) prog: &'a Program,
    pub(crate) config: &'a Config,
    /// The program's insns; a pass may have replaced jumps that it decided.
    pub(crate) insns: Vec<Insn>,
    /// Ordered by first insn.
    pub(crate) subprogs: Vec<Subprog>,
    /// Maps of the program, then the templates of their inner maps.
    pub(crate) maps: Vec<MapView<'a>>,
    /// Whether there are too many maps to be certain about all: nothing may be verified.
    pub(crate) maps_unknown: bool,
    /// Special fields of the structs that the program may allocate, by id in its BTF; none if they
    /// are malformed, because such a BTF cannot be loaded.
    pub(crate) struct_metas: Option<&'a rustc_hash::FxHashMap<TypeId, Vec<SpecialField>>>,
    /// Subprog that runs when an exception is thrown, if the program declares one.
    pub(crate) exception_cb: Option<u32>,
    /// Helpers and kfuncs that the program may call.
    pub(crate) callable: Callable<'a>,
    /// Fields of a kernel struct to which the program may store.
    pub(crate) writable: Writable,
    /// Whether the kernel's BTF says which pointer fields are trusted; otherwise all are assumed
    /// valid.
    pub(crate) fields_have_trust: bool,
    /// Which stack slots may be read later, on kernels that compute this before the walk.
    pub(crate) stack_use: StackUse,
    /// Where subprogs begin and end, for the passes.
    pub(crate) layout: Subprogs,
    pub(crate) test_state_freq: bool,
    pub(crate) test_reg_invariants: bool,
    pub(crate) strict_alignment: bool,
    pub(crate) bpf_capable: bool,
    /// Whether all numbers are precise: no precision is tracked.
    pub(crate) all_precise: bool,
    pub(crate) allow_ptr_leaks: bool,
    pub(crate) allow_uninit_stack: bool,
    pub(crate) bypass_spec_v1: bool,
    pub(crate) bypass_spec_v4: bool,
    /// Whether known bugs of the kernel's verifier are fixed.
    pub(crate) sound: bool,
}

/// One function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subprog {
    /// First insn.
    pub(crate) start: u32,
    pub(crate) name: String,
    pub(crate) has_tail_call: bool,
    pub(crate) has_ld_abs: bool,
    pub(crate) is_global: bool,
    pub(crate) is_exception_cb: bool,
    pub(crate) changes_pkt_data: bool,
    pub(crate) might_sleep: bool,
    pub(crate) might_throw: bool,
}

/// A map, and the index of its inner template.
#[derive(Clone, Debug)]
pub(crate) struct MapView<'a> {
    pub(crate) def: &'a MapDef,
    /// Special fields of the value, by offset.
    pub(crate) fields: Vec<SpecialField>,
    /// Index in `Facts::maps` of the template of the inner maps.
    pub(crate) inner: Option<u32>,
}

impl<'a> Facts<'a> {
    /// Rules that differ between kernels.
    #[inline]
    pub(crate) fn rules(&self) -> &'a Behaviours {
        &self.config.profile.behaviours
    }

    /// The insns that the kernel has, of those that not every kernel has.
    #[inline]
    pub(crate) fn insns_there(&self) -> Insns {
        self.config.profile.insns
    }

    /// The kernel's rule; always true if the walk must be sound.
    pub(crate) fn callbacks_are_loops(&self) -> bool {
        self.sound || self.rules().callbacks_are_loops
    }

    /// Whether the program replaces a function of another one.
    pub(crate) fn is_replacement(&self) -> bool {
        matches!(self.prog.attach, AttachTarget::Function(_))
    }

    /// Name of a map in messages. In the kernel, the template of an inner map has none.
    pub(crate) fn map_name(&self, map: u32) -> &'a str {
        let is_template = map as usize >= self.prog.maps.len();
        if is_template { "" } else { self.maps[map as usize].def.kernel_name() }
    }

    /// Whether the program uses an arena.
    pub(crate) fn has_arena(&self) -> bool {
        self.insns.iter().any(|i| {
            i.is_ld_imm64()
                && matches!(i.src, BPF_PSEUDO_MAP_FD | BPF_PSEUDO_MAP_VALUE)
                && self.maps.get(i.imm as usize).is_some_and(|m| m.def.map_type == MapType::Arena)
        })
    }

    /// Special fields of the object that a pointer points to.
    ///
    /// Kernel: `reg_btf_record` (6.18).
    pub(crate) fn fields_of(&self, reg: &Reg) -> &[SpecialField] {
        match (reg.ty.base, reg.map()) {
            (Base::MapValue, Some(map)) => &self.maps[map as usize].fields,
            (Base::BtfId, _) if reg.ty.has(TypeFlag::MEM_ALLOC) => match reg.extra {
                Extra::Btf { id, in_prog: true } => {
                    let known = self.struct_metas.and_then(|metas| metas.get(&TypeId(id)));
                    known.map_or(&[], Vec::as_slice)
                }
                _ => &[],
            },
            _ => &[],
        }
    }

    /// Kernel: `reg_may_point_to_spin_lock` (6.18).
    pub(crate) fn may_point_to_spin_lock(&self, reg: &Reg) -> bool {
        self.fields_of(reg)
            .iter()
            .any(|f| matches!(f.kind, FieldKind::SpinLock | FieldKind::ResSpinLock))
    }

    /// Whether values of the map hold a timer, a work queue or task work.
    pub(crate) fn map_has_async_field(&self, map: u32) -> bool {
        self.maps[map as usize].fields.iter().any(|f| {
            matches!(f.kind, FieldKind::Timer | FieldKind::Workqueue | FieldKind::TaskWork)
        })
    }

    /// The insn in the kernel's notation.
    pub(crate) fn write_insn(&self, out: &mut String, idx: u32) {
        let insns = &self.insns[idx as usize..];
        let _ = skep_insn::write_insn(out, insns, &self.callable, self.allow_ptr_leaks);
    }

    /// Index of the line info that covers the insn.
    pub(crate) fn find_line_info(&self, insn_idx: u32) -> Option<usize> {
        let lines = &self.prog.line_info;
        lines.partition_point(|l| l.insn_off.0 <= insn_idx).checked_sub(1)
    }

    /// Subprog that starts at `insn_idx`.
    pub(crate) fn find_subprog(&self, insn_idx: u32) -> Option<u32> {
        self.subprogs.binary_search_by_key(&insn_idx, |s| s.start).ok().map(|i| i as u32)
    }
}

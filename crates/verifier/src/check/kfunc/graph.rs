//! Lists and trees: roots, nodes, the lock that protects them, and ownership of nodes.
//!
//! A node that was inserted stays readable while the lock is held, but the program no longer owns
//! it.
//!
//! Kernel: `__process_kf_arg_ptr_to_graph_root`, `__process_kf_arg_ptr_to_graph_node`,
//! `check_reg_allocation_locked`, `ref_set_non_owning`, `ref_convert_owning_non_owning` (6.18).

use super::arg_kind::KfArg;
use super::callee::Special;
use super::meta::{ArgType, Meta};
use crate::check::call::refs::release_reference;
use crate::env::{Env, Facts};
use crate::rejection::{Check, KfuncFault, Regno, Stop, reject};
use crate::state::reference::{LockHome, RefKind};
use crate::state::reg::{Extra, Reg};
use crate::state::reg_type::{Base, RegType, TypeFlag};
use skep_btf::{FieldKind, SpecialField, TypeId};

/// The pointer that `bpf_list_pop_front` and similar kfuncs return: to the object that contains the
/// node.
///
/// Kernel: `mark_reg_graph_node`.
pub(super) fn graph_node(root: &SpecialField) -> Reg {
    Reg {
        off: root.node_offset.unwrap_or(0) as i32,
        extra: Extra::Btf { id: root.target.map_or(0, |t| t.0), in_prog: true },
        ..Reg::pointer(RegType::of(Base::BtfId).with(TypeFlag::MEM_ALLOC))
    }
}

impl Env<'_> {
    pub(super) fn check_graph_root_arg(
        &self,
        meta: &mut Meta<'_>,
        nth: usize,
        kind: KfArg,
    ) -> Check {
        let reg = self.reg(nth as u8 + 1);
        let is_object = reg.ty == RegType::of(Base::BtfId).with(TypeFlag::MEM_ALLOC);
        if !reg.ty.is(Base::MapValue) && !is_object {
            reject!(EINVAL, KfuncFault::HeadPlace { nth });
        }
        if is_object && reg.ref_obj_id == 0 {
            reject!(EINVAL, KfuncFault::AllocatedUnreferenced);
        }
        let kind = if kind == KfArg::ListHead { FieldKind::ListHead } else { FieldKind::RbRoot };
        let (name, regno) = (kind.name(), nth as u8 + 1);
        if !reg.val.is_const() {
            reject!(EINVAL, KfuncFault::HeadVariable { regno: Regno(regno), name });
        }
        let off = reg.off.wrapping_add(reg.val.var_off.value as i32) as u32;
        let Some(field) = self.facts.field_at(&reg, off, kind) else {
            reject!(EINVAL, KfuncFault::NoHead { name, off });
        };
        self.check_reg_allocation_locked(&reg, name)?;
        meta.graph_root = Some(field);
        Ok(())
    }

    /// Checks that the lock in the same object as the list or tree is held.
    fn check_reg_allocation_locked(&self, reg: &Reg, what: &str) -> Check {
        let home = match reg.map() {
            Some(map) => LockHome::Map(map),
            None => LockHome::Btf(0),
        };
        let held = self.walk.cur.refs.active_locks > 0;
        let is_it = self
            .walk
            .cur
            .refs
            .acquired
            .iter()
            .any(|r| r.kind.is_lock() && r.id == reg.id && r.home == home);
        if held && is_it {
            return Ok(());
        }
        let lock = self
            .facts
            .fields_of(reg)
            .iter()
            .find(|f| f.kind == FieldKind::SpinLock)
            .map_or(-22, |f| i64::from(f.offset));
        let what = what.into();
        if held {
            reject!(EINVAL, KfuncFault::LockOfOther { lock, what });
        }
        reject!(EINVAL, KfuncFault::LockNotHeld { lock, what })
    }

    pub(super) fn check_graph_node_arg(
        &self,
        meta: &mut Meta<'_>,
        nth: usize,
        kind: KfArg,
    ) -> Check {
        let reg = self.reg(nth as u8 + 1);
        let (is_list, name) = (kind == KfArg::ListNode, meta.callee.name);
        if is_list || meta.callee.special == Special::RbtreeAdd {
            if reg.ty != RegType::of(Base::BtfId).with(TypeFlag::MEM_ALLOC) {
                reject!(EINVAL, KfuncFault::NotAllocated { nth });
            }
            if reg.ref_obj_id == 0 {
                reject!(EINVAL, KfuncFault::AllocatedUnreferenced);
            }
        } else {
            let non_owning = reg.ty.has(TypeFlag::NON_OWN_REF);
            if !non_owning && reg.ref_obj_id == 0 {
                reject!(EINVAL, KfuncFault::NodeOwnership { name: name.into() });
            }
            if self.in_rbtree_lock_required_cb() {
                reject!(EINVAL, KfuncFault::InRbtreeCb { name: name.into() });
            }
        }
        self.facts.check_node_field(meta, &reg, nth, is_list)
    }

    /// Whether this is the callback of `bpf_rbtree_add`, which runs with the lock held.
    pub(crate) fn in_rbtree_lock_required_cb(&self) -> bool {
        let meta = self.walk.frame().meta;
        if self.walk.cur.frames.len() < 2 || !meta.in_callback_fn {
            return false;
        }
        let call = self.facts.insns.get(meta.callsite as usize);
        let callee = call.and_then(|insn| self.facts.callable.kfuncs.get(insn));
        callee.is_some_and(|callee| callee.special == Special::RbtreeAdd)
    }

    /// Makes the pointer non-owning: it is valid only while the lock is held.
    pub(super) fn ref_set_non_owning(&self, reg: &mut Reg) -> Check {
        if self.walk.cur.refs.active_locks == 0 {
            return Err(Stop::bug("non-owning reference without lock"));
        }
        reg.ty = reg.ty.with(TypeFlag::NON_OWN_REF);
        if self.facts.fields_of(reg).iter().any(|f| f.kind == FieldKind::Refcount) {
            reg.ty = reg.ty.with(TypeFlag::MEM_RCU);
        }
        Ok(())
    }

    /// The node in R2 is inserted: its reference is given up, and pointers to it become non-owning.
    pub(super) fn give_node_away(&mut self, meta: &Meta<'_>) -> Check {
        let id = self.reg(2).ref_obj_id;
        let held = self.walk.cur.refs.acquired.iter().any(|r| r.kind == RefKind::Ptr && r.id == id);
        if !held {
            let name = meta.name();
            reject!(EINVAL, KfuncFault::NotConverted { name: name.into() });
        }
        let mut probe = self.reg(2);
        probe.ref_obj_id = 0;
        self.ref_set_non_owning(&mut probe)?;
        let added = probe.ty.flags & (TypeFlag::NON_OWN_REF | TypeFlag::MEM_RCU);
        self.for_each_reg(|reg| {
            let converts = reg.ref_obj_id == id;
            if converts {
                reg.ref_obj_id = 0;
                reg.ty = reg.ty.with(added);
            }
            converts
        });
        release_reference(self, id);
        Ok(())
    }
}

impl Facts<'_> {
    /// The special field of that kind at `off` in the object that `reg` points to.
    pub(super) fn field_at(&self, reg: &Reg, off: u32, kind: FieldKind) -> Option<SpecialField> {
        self.fields_of(reg).iter().find(|f| f.offset == off && f.kind == kind).cloned()
    }

    fn check_node_field(&self, meta: &mut Meta<'_>, reg: &Reg, nth: usize, is_list: bool) -> Check {
        let (head, node) = if is_list {
            (FieldKind::ListHead, FieldKind::ListNode)
        } else {
            (FieldKind::RbRoot, FieldKind::RbNode)
        };
        let (head_name, node_name, regno) = (head.name(), node.name(), nth as u8 + 1);
        if !reg.val.is_const() {
            reject!(EINVAL, KfuncFault::HeadVariable { regno: Regno(regno), name: node_name });
        }
        let off = reg.off.wrapping_add(reg.val.var_off.value as i32) as u32;
        if self.field_at(reg, off, node).is_none() {
            reject!(EINVAL, KfuncFault::NoHead { name: node_name, off });
        }
        let Some(root) = meta.graph_root.clone() else {
            return Err(Stop::bug("node without root"));
        };
        let held = root.target.map_or(0, |t| t.0);
        let want = root.node_offset.unwrap_or(0);
        let Extra::Btf { id, in_prog } = reg.extra else {
            return Err(Stop::bug("node in no object"));
        };
        let struct_name = |id: u32| {
            let btf = self.prog.btf.as_deref();
            btf.and_then(|b| b.get(TypeId(id))).map_or("", |t| t.name()).to_string()
        };
        if !in_prog || id != held {
            let (to, from) = (struct_name(held), struct_name(id));
            reject!(
                EINVAL,
                KfuncFault::NodeType {
                    head_name,
                    node_name,
                    want,
                    to: to.into(),
                    off,
                    from: from.into()
                }
            );
        }
        meta.arg_type = Some(ArgType { id, in_prog });
        if off != want {
            let to = struct_name(held);
            reject!(EINVAL, KfuncFault::NodeOffset { off, node_name, want, to: to.into() });
        }
        Ok(())
    }
}

//! Sections in which a path must not sleep, and the pointers that are good only inside of them.
//!
//! Kernel: `in_rcu_cs`, the section rules of `check_kfunc_call` (6.18).

use crate::env::Env;
use crate::state::refs::{LockHome, RefKind, Reference};
use crate::state::reg::Reg;

impl Env<'_> {
    /// Whether RCU pointers are valid here.
    pub(crate) fn in_rcu_cs(&self) -> bool {
        let refs = &self.cur.refs;
        refs.active_rcu_locks > 0 || refs.active_locks > 0 || !self.cur.meta.in_sleepable
    }

    pub(super) fn acquire_reference(&mut self) -> u32 {
        let id = self.new_id();
        let insn_idx = self.insn_idx;
        self.cur.refs.acquire(Reference { kind: RefKind::Ptr, id, insn_idx, home: LockHome::None });
        id
    }

    pub(super) fn release_reference(&mut self, ref_obj_id: u32) -> bool {
        if !self.cur.refs.release(ref_obj_id) {
            return false;
        }
        let dead = if self.allow_ptr_leaks { Reg::unknown() } else { Reg::not_init() };
        self.for_each_reg(|reg| {
            let dies = reg.ref_obj_id == ref_obj_id;
            if dies {
                *reg = dead;
            }
            dies
        });
        true
    }
}

//! Sections in which a path must not sleep, and pointers that are valid only inside them.
//!
//! Kernel: the section rules of `check_kfunc_call` (6.18).

use super::callee::Special;
use super::meta::Meta;
use crate::HoleKind;
use crate::check::mem::btf_trust::{in_rcu_cs, runs_under_rcu};
use crate::env::Env;
use crate::rejection::{Check, KfuncFault, reject};
use crate::state::reg_type::TypeFlag;
use skep_btf::Kind;
use skep_uapi::kfunc::KfuncFlags;

impl Env<'_> {
    /// Enters and leaves sections; refuses calls that are not allowed inside of one.
    pub(super) fn check_sections(&mut self, meta: &Meta<'_>) -> Check {
        self.check_rcu_section(meta)?;
        let (special, name) = (meta.callee.special, meta.callee.name);
        let sleeps = meta.callee.has(KfuncFlags::SLEEPABLE);
        let (disable, enable) =
            (special == Special::PreemptDisable, special == Special::PreemptEnable);
        if disable {
            self.walk.cur.refs.active_preempt_locks += 1;
        } else if self.walk.cur.refs.active_preempt_locks > 0 {
            if enable {
                self.walk.cur.refs.active_preempt_locks -= 1;
                if self.facts.rules().any_section_protects {
                    self.end_protection();
                }
            } else if sleeps {
                reject!(EACCES, KfuncFault::SleepsNonPreemptible { name: name.into() });
            }
        } else if enable {
            reject!(EINVAL, KfuncFault::PreemptUnmatched { name: name.into() });
        }
        if self.walk.cur.refs.active_irq_id != 0 && sleeps {
            reject!(EACCES, KfuncFault::SleepsIrqOff { name: name.into() });
        }
        let protected = meta.callee.has(KfuncFlags::RCU_PROTECTED);
        if protected && self.facts.rules().protected_called_in_rcu && !in_rcu_cs(self) {
            reject!(EACCES, KfuncFault::NeedsRcu { name: name.into() });
        }
        Ok(())
    }

    /// Whether the kernel's BTF tags the pointers that RCU protects.
    fn has_rcu_tags(&self) -> bool {
        let btf = self.facts.prog.kernel_btf.as_deref();
        btf.is_some_and(|btf| btf.find_by_name_kind("rcu", Kind::TypeTag).is_some())
    }

    fn check_rcu_section(&mut self, meta: &Meta<'_>) -> Check {
        let (special, name) = (meta.callee.special, meta.callee.name);
        let (lock, unlock) = (special == Special::RcuReadLock, special == Special::RcuReadUnlock);
        if (lock || unlock) && self.facts.rules().rcu_tags_needed && !self.has_rcu_tags() {
            reject!(EACCES, KfuncFault::NoRcuTags { name: name.into() });
        }
        if self.walk.cur.refs.active_rcu_locks == 0 {
            if lock {
                self.walk.cur.refs.active_rcu_locks = 1;
            } else if unlock {
                reject!(EINVAL, KfuncFault::RcuUnmatched { name: name.into() });
            }
            return Ok(());
        }
        if (lock || unlock) && self.in_rbtree_lock_required_cb() {
            reject!(EACCES, KfuncFault::RcuInRbtreeCb);
        }
        if lock && self.facts.rules().nested_rcu {
            self.walk.cur.refs.active_rcu_locks += 1;
            return Ok(());
        }
        if lock {
            reject!(EINVAL, KfuncFault::RcuNested { name: name.into() });
        }
        if unlock && self.walk.cur.refs.active_rcu_locks > 1 {
            self.walk.cur.refs.active_rcu_locks -= 1;
            return Ok(());
        }
        if unlock {
            self.walk.cur.refs.active_rcu_locks = 0;
            let rules = self.facts.rules();
            let stays = rules.rcu_outlives_section && runs_under_rcu(self)
                || rules.any_section_protects && in_rcu_cs(self);
            if !stays {
                self.end_rcu();
            }
            return Ok(());
        }
        if meta.callee.has(KfuncFlags::SLEEPABLE) {
            reject!(EACCES, KfuncFault::SleepsInRcu { name: name.into() });
        }
        Ok(())
    }

    /// Called when another section than one of RCU has ended, which protected what RCU does.
    pub(crate) fn end_protection(&mut self) {
        if !in_rcu_cs(self) {
            self.end_rcu();
        }
    }

    /// What RCU protected may be gone from here on.
    fn end_rcu(&mut self) {
        let mut gone = TypeFlag::MEM_RCU | TypeFlag::PTR_MAYBE_NULL;
        let mut borrowed = false;
        self.for_each_reg(|reg| {
            borrowed |= reg.ty.has(TypeFlag::MEM_RCU) && reg.ty.has(TypeFlag::NON_OWN_REF);
            false
        });
        if borrowed
            && (self.facts.rules().sections_end_borrowing || self.goes_by(HoleKind::EndedSection))
        {
            gone |= TypeFlag::NON_OWN_REF;
        }
        self.for_each_reg(|reg| {
            let rcu = reg.ty.has(TypeFlag::MEM_RCU);
            if rcu {
                reg.ty = reg.ty.without(gone).with(TypeFlag::PTR_UNTRUSTED);
            }
            rcu
        });
        self.end_rcu_iterators();
    }

    /// Invalidates iterators that were created in the section.
    fn end_rcu_iterators(&mut self) {
        use crate::state::stack::SlotType;
        for frameno in 0..self.walk.cur.frames.len() as u32 {
            for spi in 0..self.walk.cur.frames[frameno as usize].slots().len() {
                if self.walk.slot(frameno, spi).types[0] != SlotType::Iter {
                    continue;
                }
                let mut st = self.spilled(frameno, spi);
                if st.ty.has(TypeFlag::MEM_RCU) {
                    st.ty = st.ty.without(TypeFlag::MEM_RCU).with(TypeFlag::PTR_UNTRUSTED);
                    self.set_spilled(frameno, spi, &st);
                }
            }
        }
    }
}

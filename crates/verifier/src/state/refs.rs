//! Resources that the path has acquired and must release: references, locks, irq flags, critical
//! sections.
//!
//! Kernel: `struct bpf_reference_state` and the counters of `struct bpf_verifier_state` (6.18).

use super::ref_list::RefList;
use crate::state::reference::{LockHome, RefKind, Reference};

/// All references of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RefState {
    pub(crate) acquired: RefList,
    pub(crate) active_locks: u32,
    pub(crate) active_preempt_locks: u32,
    pub(crate) active_irq_id: u32,
    pub(crate) active_lock_id: u32,
    pub(crate) active_lock_home: LockHome,
    pub(crate) active_rcu_locks: u32,
}

/// The state of a path that has acquired nothing.
pub(crate) static NOTHING: RefState = RefState {
    acquired: RefList::new(),
    active_locks: 0,
    active_preempt_locks: 0,
    active_irq_id: 0,
    active_lock_id: 0,
    active_lock_home: LockHome::None,
    active_rcu_locks: 0,
};

/// What some kernels call a program, or a callback, that may not sleep.
pub(crate) const AWAKE: &str = "non-sleepable prog";

impl RefState {
    /// Whether nothing is held.
    #[inline]
    pub(crate) fn is_nothing(&self) -> bool {
        self.acquired.len() == 0
            && self.active_locks == 0
            && self.active_preempt_locks == 0
            && self.active_irq_id == 0
            && self.active_lock_id == 0
            && self.active_lock_home == LockHome::None
            && self.active_rcu_locks == 0
    }

    /// The section in which nothing may sleep, in the kernel's words.
    pub(crate) fn section(&self) -> Option<&'static str> {
        if self.active_rcu_locks > 0 {
            Some("rcu_read_lock region")
        } else if self.active_preempt_locks > 0 {
            Some("non-preemptible region")
        } else if self.active_irq_id != 0 {
            Some("IRQ-disabled region")
        } else {
            None
        }
    }

    /// Removes everything.
    pub(crate) fn forget_all(&mut self) {
        if !self.is_nothing() {
            *self = RefState::default();
        }
    }

    /// Adds a reference.
    pub(crate) fn acquire(&mut self, reference: Reference) {
        self.acquired.push(reference);
    }

    /// Releases a reference; false if it is not held.
    pub(crate) fn release(&mut self, id: u32) -> bool {
        match self.acquired.find_newest(|r| r.kind == RefKind::Ptr && r.id == id) {
            Some(i) => {
                self.remove_at(i);
                true
            }
            None => false,
        }
    }

    /// Removes entry `i`; the others keep their order.
    pub(crate) fn remove_at(&mut self, i: usize) {
        self.acquired.remove(i);
    }
}

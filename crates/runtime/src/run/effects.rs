//! `Effects`: what programs did besides returning a number.

use super::held::Held;
use super::tunnel::Tunnel;
use crate::recorded::Recorded;
use std::cell::{Cell, RefCell};

/// Copies of the words over which bit iterators of a run iterate, by number.
pub(crate) type Copies = Vec<Option<Vec<u64>>>;

/// Where to send a packet instead of up the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redirect {
    /// `bpf_redirect`, `bpf_redirect_peer`, `bpf_redirect_neigh`.
    Interface {
        /// Index of the interface.
        ifindex: u32,
        /// Flags of the call.
        flags: u64,
    },
    /// `bpf_redirect_map`.
    Map {
        /// Id of the map.
        map_id: u32,
        /// Index or key in it.
        key: u64,
        /// Flags of the call.
        flags: u64,
    },
}

/// What programs did besides returning a number.
#[derive(Default)]
pub(crate) struct Effects {
    pub(crate) redirect: RefCell<Option<Redirect>>,
    /// Interfaces to which clones of the packet were sent, and the packet at that time.
    pub(crate) clones: RefCell<Recorded<(u32, Vec<u8>)>>,
    /// The tunnel through which to send the packet.
    pub(crate) tunnel: RefCell<Option<Tunnel>>,
    /// Signals to be sent, and whether to one thread only.
    pub(crate) signals: RefCell<Recorded<(u32, bool)>>,
    /// What `bpf_set_retval` has set.
    pub(crate) retval: Cell<i32>,
    /// The words over which bit iterators iterate.
    pub(crate) bits: RefCell<Copies>,
    /// Locks, records and objects that the run must release.
    pub(crate) held: Held,
    /// The interpreted run must stop: it was interrupted while a helper waited.
    pub(crate) stopped: Cell<bool>,
    /// The compiled run was stopped since its callbacks were nested too deep.
    pub(crate) nested: Cell<bool>,
    /// Whether any of the lists is non-empty: clones, signals, bits, held resources.
    pub(crate) listed: Cell<bool>,
    /// A helper of ours panicked.
    pub(crate) failure: RefCell<Option<String>>,
}

impl Effects {
    /// Forgets the run before.
    #[inline]
    pub(crate) fn clear(&mut self) {
        *self.redirect.get_mut() = None;
        *self.tunnel.get_mut() = None;
        self.retval.set(0);
        if self.listed.get() {
            self.clear_lists();
        }
        *self.failure.get_mut() = None;
    }

    #[cold]
    fn clear_lists(&mut self) {
        self.listed.set(false);
        self.signals.get_mut().clear();
        self.clones.get_mut().clear();
        self.bits.get_mut().clear();
        self.held.clear();
    }

    /// The panic message of one of our helpers.
    #[inline]
    pub(crate) fn take_failure(&self) -> Option<String> {
        self.failure.borrow_mut().take()
    }
}

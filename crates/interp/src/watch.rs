//! Watchers, which observe every insn before it is executed: for checking the verifier, not for
//! programs.
//!
//! A watcher belongs to a thread, so callers that start runs need not know about it. Runs started
//! without one have no overhead.

use crate::{Host, Linked};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// The position of a run.
pub struct At<'a> {
    /// The program.
    pub program: &'a Arc<Linked>,
    /// Index of the insn in [`skep_verifier::Xlated::insns`].
    pub pc: usize,
    /// Registers 0 to 10 and `AX`, before the insn.
    pub regs: &'a [u64; 12],
    /// Memory.
    pub host: &'a dyn Host,
}

/// Observes runs.
pub trait Watch {
    /// A run begins, or a helper calls a callback.
    fn enters(&mut self);
    /// The run or callback ended normally; not called after a fault.
    fn leaves(&mut self, host: &dyn Host);
    /// Before an insn is executed.
    fn insn(&mut self, at: &At<'_>);
}

/// The watcher, as stored by runs.
pub(crate) type Watcher = Rc<RefCell<dyn Watch>>;

thread_local! {
    static WATCHER: RefCell<Option<Watcher>> = const { RefCell::new(None) };
}

/// Runs `work` with `watcher` observing the runs that this thread starts in it.
pub fn watched<T>(watcher: Rc<RefCell<dyn Watch>>, work: impl FnOnce() -> T) -> T {
    /// Removes the watcher, also on unwinding.
    struct Reset(Option<Watcher>);
    impl Drop for Reset {
        fn drop(&mut self) {
            WATCHER.set(self.0.take());
        }
    }
    let _reset = Reset(WATCHER.replace(Some(watcher)));
    work()
}

/// The current thread's watcher; none during thread exit, when programs may still run.
pub(crate) fn current() -> Option<Watcher> {
    WATCHER.try_with(|watcher| watcher.borrow().clone()).ok().flatten()
}

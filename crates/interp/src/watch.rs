//! Somebody who looks at every insn before it runs: for checks of the verifier, not for programs.
//!
//! A watcher belongs to a thread, so that whoever starts runs need not know of it. Runs that begin
//! while there is none pay nothing.

use crate::{Host, Linked};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// The place of a run.
pub struct At<'a> {
    /// The program.
    pub program: &'a Arc<Linked>,
    /// Index of the insn in [`skep_verifier::Xlated::insns`].
    pub pc: usize,
    /// Registers 0 to 10 and `AX`, as the insn will find them.
    pub regs: &'a [u64; 12],
    /// Memory.
    pub host: &'a dyn Host,
}

/// Looks at runs.
pub trait Watch {
    /// A run begins, or a helper calls a callback.
    fn enters(&mut self);
    /// It came to its end; nobody says so of what stops with a fault.
    fn leaves(&mut self, host: &dyn Host);
    /// An insn is about to run.
    fn insn(&mut self, at: &At<'_>);
}

/// The watcher, as runs hold it.
pub(crate) type Watcher = Rc<RefCell<dyn Watch>>;

thread_local! {
    static WATCHER: RefCell<Option<Watcher>> = const { RefCell::new(None) };
}

/// Does `work` with `watcher` looking at the runs that this thread begins meanwhile.
pub fn watched<T>(watcher: Rc<RefCell<dyn Watch>>, work: impl FnOnce() -> T) -> T {
    /// Takes the watcher away again, whatever happens.
    struct Reset(Option<Watcher>);
    impl Drop for Reset {
        fn drop(&mut self) {
            WATCHER.set(self.0.take());
        }
    }
    let _reset = Reset(WATCHER.replace(Some(watcher)));
    work()
}

/// That of this thread; one that is ending, which may run programs too, has none.
pub(crate) fn current() -> Option<Watcher> {
    WATCHER.try_with(|watcher| watcher.borrow().clone()).ok().flatten()
}

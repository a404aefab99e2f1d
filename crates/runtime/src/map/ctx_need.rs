//! `CtxNeed`: how many bytes of context a run may access, including everything it may tail call.
//!
//! Each program and each prog array has one, and knows its predecessors: for a program, the arrays
//! in which it was ever stored; for an array, the programs that refer to it. A number only grows,
//! and with it the numbers of all predecessors.
//!
//! # Invariants
//! 1. A run whose context is too short for what a program needs began before that was known.
//! 2. A program is stored in a slot only after all runs have ended that began before its need was
//!    propagated to all predecessors: the storing thread waits for that, one thread at a time
//!    ([`Needs`]).

use crate::Errno;
use skep_mem::epoch;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

/// Of one program or one prog array.
#[derive(Default)]
pub(crate) struct CtxNeed {
    bytes: AtomicUsize,
    callers: Mutex<Vec<Weak<CtxNeed>>>,
}

impl CtxNeed {
    pub(crate) fn new(bytes: usize) -> Arc<CtxNeed> {
        Arc::new(CtxNeed { bytes: AtomicUsize::new(bytes), callers: Mutex::default() })
    }

    /// Required length of a context; read during runs.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Acquire)
    }

    fn add_caller(&self, caller: &Arc<CtxNeed>) {
        let mut callers = self.callers();
        callers.retain(|known| known.strong_count() > 0);
        if !callers.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(caller))) {
            callers.push(Arc::downgrade(caller));
        }
    }

    fn callers(&self) -> MutexGuard<'_, Vec<Weak<CtxNeed>>> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to change the needs of a runtime's programs and arrays: whether runs that began before
/// the last change must be waited for.
#[derive(Default)]
pub(crate) struct Needs(Mutex<bool>);

impl Needs {
    /// A program that has not run refers to an array.
    ///
    /// # Errors
    ///
    /// `EBUSY`: the calling thread is in a run, and another one waits for runs.
    pub(crate) fn refer(&self, prog: &Arc<CtxNeed>, array: &CtxNeed) -> Result<(), Errno> {
        let _alone = self.lock()?;
        array.add_caller(prog);
        raise(prog, array.bytes());
        Ok(())
    }

    /// Prepares storing a program in an array, which is allowed once this has returned.
    ///
    /// # Errors
    ///
    /// `EBUSY`: runs must end first, and the calling thread is in one. `EPERM`: the host denies the
    /// barriers needed to detect that.
    pub(crate) fn put(&self, array: &Arc<CtxNeed>, prog: &CtxNeed) -> Result<(), Errno> {
        let mut unseen = self.lock()?;
        prog.add_caller(array);
        *unseen |= raise(array, prog.bytes());
        if *unseen {
            match epoch::wait_for_runs() {
                epoch::Waited::Ended => *unseen = false,
                epoch::Waited::InRun => return Err(Errno::EBUSY),
                epoch::Waited::Refused => return Err(Errno::EPERM),
            }
        }
        Ok(())
    }

    /// The holder may be waiting for the calling thread's run.
    fn lock(&self) -> Result<MutexGuard<'_, bool>, Errno> {
        if !epoch::is_in_run() {
            return Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner));
        }
        match self.0.try_lock() {
            Ok(unseen) => Ok(unseen),
            Err(TryLockError::Poisoned(unseen)) => Ok(unseen.into_inner()),
            Err(TryLockError::WouldBlock) => Err(Errno::EBUSY),
        }
    }
}

/// Whether it was less.
fn raise(need: &Arc<CtxNeed>, bytes: usize) -> bool {
    let mut raised = false;
    let mut left = vec![need.clone()];
    while let Some(need) = left.pop() {
        if need.bytes() >= bytes {
            continue;
        }
        raised = true;
        need.bytes.store(bytes, Ordering::Release);
        left.extend(need.callers().iter().filter_map(Weak::upgrade));
    }
    raised
}

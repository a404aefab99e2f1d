//! Timers of programs: `bpf_timer` in a map's value, callbacks on a thread of the runtime.
//!
//! The thread starts with the first timer and ends with the runtime. A timer's field contains its
//! number; deleting a value clears it, and with it the timer.
//!
//! # Invariants
//! 1. A timer keeps neither its map nor its program alive: a callback runs only if both exist and
//!    the field still contains the timer's number. The program is identified by itself, not by the
//!    callback's address, which may have been reused by another program.
//!
//! Kernel: `bpf_timer_init`, `bpf_timer_set_callback`, `bpf_timer_start`, `bpf_timer_cancel`
//! (6.18).

use crate::Errno;
use crate::map::Map;
use crate::map::prog_registry::{ProgRegistry, TailTarget};
use crate::run::Func;
use rustix::time::ClockId;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle, ThreadId};
use std::time::{Duration, Instant};

/// How long the thread sleeps without timers, before it checks whether its runtime still exists.
const IDLE: Duration = Duration::from_secs(3600);

/// Calls the functions of expired timers: implemented by a runtime.
pub(crate) trait Caller: Send + Sync {
    fn call(self: &Arc<Self>, due: &Due);
}

/// An expired timer, and what to call.
pub(crate) struct Due {
    /// The timer's field.
    pub(crate) addr: u64,
    /// The map that contains it.
    pub(crate) map: Arc<Map>,
    pub(crate) func: Func,
    /// The program that contains the function.
    pub(crate) program: Arc<dyn TailTarget>,
}

/// The timers of a runtime.
#[derive(Default)]
pub(crate) struct Timers {
    inner: Arc<Inner>,
    /// With the process to which it belongs: a child of `fork` has no such thread.
    thread: Mutex<Option<(u32, JoinHandle<()>)>>,
}

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    last_id: u64,
    /// By address of the field.
    timers: HashMap<u64, Timer>,
    /// Pending timers by expiry time, as in `Timer::deadline`.
    waiting: BTreeSet<(Instant, u64)>,
    /// The timer whose callback is running, and the thread.
    running: Option<(u64, ThreadId)>,
    ended: bool,
}

#[derive(Clone)]
struct Timer {
    id: u64,
    map: Weak<Map>,
    clock: ClockId,
    callback: Option<Callback>,
    deadline: Option<Instant>,
}

/// A function, and the program that contains it.
#[derive(Clone)]
struct Callback {
    func: Func,
    program: Weak<dyn TailTarget>,
}

impl Timers {
    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.lock()
    }

    /// Creates a timer for the field at `addr` in a value of `map`.
    pub(crate) fn init(&self, addr: u64, map: &Arc<Map>, clock: ClockId) -> Result<(), Errno> {
        let mut state = self.state();
        let (region, at) = map.kind().locate(addr, 16).ok_or(Errno::EINVAL)?;
        if region.u64(at).load(Relaxed) != 0 {
            return Err(Errno::EBUSY);
        }
        state.last_id += 1;
        let id = state.last_id;
        region.u64(at).store(id, Relaxed);
        let map = Arc::downgrade(map);
        state.set_deadline(addr, None);
        state.timers.insert(addr, Timer { id, map, clock, callback: None, deadline: None });
        Ok(())
    }

    /// The clock that the timer runs on.
    pub(crate) fn clock(&self, addr: u64) -> Result<ClockId, Errno> {
        self.state().timer(addr).map(|timer| timer.clock).ok_or(Errno::EINVAL)
    }

    /// Sets the timer's callback: a function of a program that is running now.
    pub(crate) fn set_callback(
        &self,
        addr: u64,
        func: Func,
        progs: &ProgRegistry,
    ) -> Result<(), Errno> {
        let program = progs.at(func.addr()).ok_or(Errno::EINVAL)?;
        let callback = Callback { func, program: Arc::downgrade(&program) };
        let mut state = self.state();
        state.timer(addr).ok_or(Errno::EINVAL)?.callback = Some(callback);
        Ok(())
    }

    /// Arms the timer to expire after `delay`; starts the thread if there is none.
    pub(crate) fn start<C: Caller + 'static>(
        &self,
        addr: u64,
        delay: Duration,
        caller: &Arc<C>,
    ) -> Result<(), Errno> {
        let deadline = Instant::now().checked_add(delay).ok_or(Errno::EINVAL)?;
        let mut state = self.state();
        state.timer(addr).filter(|timer| timer.callback.is_some()).ok_or(Errno::EINVAL)?;
        state.set_deadline(addr, Some(deadline));
        drop(state);
        self.inner.wake.notify_all();
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let here = std::process::id();
        if thread.as_ref().is_none_or(|(process, _)| *process != here) {
            let (inner, caller) = (self.inner.clone(), Arc::downgrade(caller));
            let spawned = thread::Builder::new()
                .name("skep-timers".to_owned())
                .spawn(move || expire_all(&inner, &caller));
            *thread = Some((here, spawned.map_err(|_| Errno::ENOMEM)?));
        }
        Ok(())
    }

    /// Cancels the timer; returns whether it was armed.
    pub(crate) fn cancel(&self, addr: u64) -> Result<bool, Errno> {
        let mut state = self.state();
        if state.running == Some((addr, thread::current().id())) {
            return Err(Errno::EDEADLK);
        }
        let timer = state.timer(addr).ok_or(Errno::EINVAL)?;
        timer.callback = None;
        Ok(state.set_deadline(addr, None))
    }

    /// Ends the thread.
    pub(crate) fn end(&self) {
        self.state().ended = true;
        self.inner.wake.notify_all();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The thread itself may hold the last reference to the runtime.
        if let Some((process, thread)) = thread
            && process == std::process::id()
            && thread.thread().id() != thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

impl Timer {
    /// What to call, if it still exists.
    fn due(&self, addr: u64) -> Option<Due> {
        let map = self.map.upgrade()?;
        let Callback { func, program } = self.callback.as_ref()?;
        Some(Due { addr, map, func: *func, program: program.upgrade()? })
    }
}

impl State {
    /// The timer whose field is at `addr`, if the field still belongs to it.
    fn timer(&mut self, addr: u64) -> Option<&mut Timer> {
        let timer = self.timers.get(&addr)?;
        let map = timer.map.upgrade();
        let id = map.and_then(|map| {
            let (region, at) = map.kind().locate(addr, 16)?;
            Some(region.u64(at).load(Relaxed))
        });
        if id != Some(timer.id) {
            self.set_deadline(addr, None);
            self.timers.remove(&addr);
            return None;
        }
        self.timers.get_mut(&addr)
    }

    /// Sets the expiry time of a timer; returns whether it was armed.
    fn set_deadline(&mut self, addr: u64, deadline: Option<Instant>) -> bool {
        let Some(timer) = self.timers.get_mut(&addr) else { return false };
        let old = std::mem::replace(&mut timer.deadline, deadline);
        if let Some(old) = old {
            self.waiting.remove(&(old, addr));
        }
        if let Some(new) = deadline {
            self.waiting.insert((new, addr));
        }
        old.is_some()
    }

    /// The timer that expires first, and when.
    fn first(&self) -> Option<(u64, Instant)> {
        self.waiting.first().map(|(deadline, addr)| (*addr, *deadline))
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the thread does.
fn expire_all<C: Caller>(inner: &Inner, caller: &Weak<C>) {
    let mut state = inner.lock();
    while !state.ended {
        let now = Instant::now();
        let wait = match state.first() {
            Some((addr, deadline)) if deadline <= now => {
                state.set_deadline(addr, None);
                let due = state.timer(addr).cloned();
                if let Some(timer) = due {
                    state.running = Some((addr, thread::current().id()));
                    drop(state);
                    if let Some(caller) = caller.upgrade()
                        && let Some(due) = timer.due(addr)
                    {
                        caller.call(&due);
                    }
                    state = inner.lock();
                    state.running = None;
                }
                continue;
            }
            Some((_, deadline)) => deadline - now,
            None => IDLE,
        };
        let waited = inner.wake.wait_timeout(state, wait);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

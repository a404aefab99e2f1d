//! Timers of programs: `bpf_timer` in a map's value, callbacks on a thread of the runtime.
//!
//! The thread starts with the first timer and ends with the runtime. A timer's field holds its
//! number; a value that is deleted loses it, and with it the timer.
//!
//! # Invariants
//! 1. A timer keeps neither its map nor its program: a callback runs only while both are there,
//!    and the field still holds the timer's number. The program is known by itself, not by the
//!    callback's address: where its code was, another program's may be.
//!
//! Kernel: `bpf_timer_init`, `bpf_timer_set_callback`, `bpf_timer_start`, `bpf_timer_cancel`
//! (6.18).

use crate::cpu::{self, Turn};
use crate::ctx::Ctx;
use crate::current::{self, Current};
use crate::helper::{self, Func};
use crate::map::Map;
use crate::map::prog_array::TailTarget;
use crate::runtime::Shared;
use crate::{Errno, epoch};
use rustix::time::ClockId;
use skep_uapi::ProgType;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle, ThreadId};
use std::time::{Duration, Instant};

/// How long the thread sleeps without timers, before it looks whether its runtime is there.
const IDLE: Duration = Duration::from_secs(3600);

/// The timers of a runtime.
#[derive(Default)]
pub(crate) struct Timers {
    inner: Arc<Inner>,
    /// With the process that it is of: a child of `fork` has none.
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
    /// By the address of the field.
    timers: HashMap<u64, Timer>,
    /// Those that wait, by when they expire; as in `Timer::deadline`.
    waiting: BTreeSet<(Instant, u64)>,
    /// The timer whose callback runs, and the thread.
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

/// A function, and the program that has it.
#[derive(Clone)]
struct Callback {
    func: Func,
    program: Weak<dyn TailTarget>,
}

impl Timers {
    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.lock()
    }

    /// Makes a timer of the field at `addr` in a value of `map`.
    pub(crate) fn init(&self, addr: u64, (map, clock): (&Arc<Map>, ClockId)) -> Result<(), Errno> {
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

    /// Which function the timer calls: one of a program that runs now.
    pub(crate) fn set_callback(&self, addr: u64, func: Func, shared: &Shared) -> Result<(), Errno> {
        let program = shared.registry.prog_at(func.addr()).ok_or(Errno::EINVAL)?;
        let callback = Callback { func, program: Arc::downgrade(&program) };
        let mut state = self.state();
        state.timer(addr).ok_or(Errno::EINVAL)?.callback = Some(callback);
        Ok(())
    }

    /// Lets the timer expire after `delay`; starts the thread if there is none.
    pub(crate) fn start(
        &self,
        addr: u64,
        delay: Duration,
        shared: &Arc<Shared>,
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
            let (inner, shared) = (self.inner.clone(), Arc::downgrade(shared));
            let spawned = thread::Builder::new()
                .name("skep-timers".to_owned())
                .spawn(move || expire_all(&inner, &shared));
            *thread = Some((here, spawned.map_err(|_| Errno::ENOMEM)?));
        }
        Ok(())
    }

    /// Stops the timer, which then calls nothing any more; whether it would have expired.
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
        // The last to let go of the runtime may be the thread itself.
        if let Some((process, thread)) = thread
            && process == std::process::id()
            && thread.thread().id() != thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

impl State {
    /// The timer whose field is at `addr`, if the field is still its own.
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

    /// When a timer expires from now on; whether it would have.
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
fn expire_all(inner: &Inner, shared: &Weak<Shared>) {
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
                    if let Some(shared) = shared.upgrade() {
                        call(&shared, addr, &timer);
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

/// Begins a run of the calling thread, which is in none; `None` where none is possible.
fn begin(shared: &Shared) -> Option<(epoch::Guard, Turn<'_>)> {
    let mut turns = 0;
    loop {
        let epoch = epoch::enter().ok()?;
        if let Some(turn) = shared.cpus.enter(false) {
            return Some((epoch, turn));
        }
        drop(epoch);
        cpu::wait(&mut turns);
    }
}

/// Calls a timer's function with its map, key and value.
fn call(shared: &Arc<Shared>, addr: u64, timer: &Timer) {
    let Some(map) = timer.map.upgrade() else { return };
    let Some(Callback { func, program }) = &timer.callback else { return };
    let Some(program) = program.upgrade() else { return };
    let Ok(mut ctx) = Ctx::raw(ProgType::Syscall, &[]) else { return };
    let Ok(()) = ctx.make_stack() else { return };
    let Some((_epoch, _turn)) = begin(shared) else { return };
    let Some((key, value)) = map.kind().entry_at(addr) else { return };
    let env = ctx.env.prepare(program.wants_fuel().then_some(u64::MAX));
    let current = Current::new((&ctx, shared, 0), Some(env));
    let args = [Arc::as_ptr(&map) as u64, key, value, 0, 0];
    // What goes wrong in a callback concerns no run that could be told.
    let _ = current::enter(&current, || program.call(*func, args, &current));
    current::enter(&current, helper::release_held);
}

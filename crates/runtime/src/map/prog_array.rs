//! `BPF_MAP_TYPE_PROG_ARRAY`: targets of tail calls.
//!
//! Machine code loads the words of the slots and jumps to them; calls with a constant index are
//! jumps in the code, which follow the slots (`poke::DirectCalls`). All programs in an array, and
//! those that refer to it, have the same owner (`prog_owner`), and contexts long enough for all of
//! them (`ctx_need`).
//!
//! # Invariants
//! 1. Slots change while `direct` is locked; previous contents are retired after that.
//!
//! Kernel: `prog_array_map_ops` (6.18).

#![allow(unsafe_code)]

use super::ctx_need::CtxNeed;
use super::kind::{MapKind, Resources, index, next_index};
use super::prog_owner::ProgOwner;
use super::prog_registry::{ProgRegistry, TailTarget};
use super::slots::Slots;
use crate::{Errno, Error};
use skep_mem::Region;
use skep_text::MachineCode;
use skep_text::poke::{self, DirectCalls};
use skep_uapi::MapShape;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

pub(crate) struct ProgArray {
    slots: Slots<dyn TailTarget>,
    progs: Arc<ProgRegistry>,
    owner: OnceLock<ProgOwner>,
    ctx_need: Arc<CtxNeed>,
    count: u32,
    direct: Mutex<DirectCalls>,
}

impl ProgArray {
    pub(super) fn new(
        shape: &MapShape,
        progs: &Arc<ProgRegistry>,
        resources: &Resources,
    ) -> Result<ProgArray, Error> {
        Ok(ProgArray {
            slots: Slots::new(shape.max_entries, &resources.budget)?,
            progs: progs.clone(),
            owner: OnceLock::new(),
            ctx_need: CtxNeed::new(0),
            count: shape.max_entries,
            direct: Mutex::default(),
        })
    }

    /// The program in a slot.
    pub(crate) fn target(&self, index: u32) -> Option<Arc<dyn TailTarget>> {
        self.slots.get(index)
    }

    /// Address and number of the words through which machine code jumps.
    pub(crate) fn words(&self) -> (u64, u32) {
        (self.slots.base(), self.count)
    }

    /// The word of a slot, 0 for one that does not exist.
    pub(crate) fn word(&self, index: u32) -> u64 {
        if index < self.count { self.slots.word(index) } else { 0 }
    }

    /// Sets `owner` if the array has none; otherwise returns the existing one, if different.
    fn claim(&self, owner: &ProgOwner) -> Result<(), &ProgOwner> {
        let ours = self.owner.get_or_init(|| owner.clone());
        if ours == owner { Ok(()) } else { Err(ours) }
    }

    /// Registers a program that refers to the array and has not run.
    pub(crate) fn refer(&self, prog: &dyn TailTarget) -> Result<(), Error> {
        self.claim(prog.owner()).map_err(|ours| {
            let its = prog.owner();
            let text = format!("{}: its programs are {ours}; this is {its}", Errno::EINVAL);
            Error::input(text).because(Errno::EINVAL)
        })?;
        let Some(need) = prog.ctx_need() else { return Ok(()) };
        let done = self.progs.needs.refer(need, &self.ctx_need);
        done.map_err(|errno| Error::input(errno.to_string()).because(errno))
    }

    /// Connects the calls of `code`, which has not run, through the maps selected by `is_mine`
    /// (this one), to the slots, until [`ProgArray::disconnect`].
    pub(crate) fn connect(
        &self,
        code: &MachineCode,
        is_mine: impl Fn(u32) -> bool,
    ) -> Result<(), poke::Error> {
        let held = |index| self.target(index).and_then(|held| held.tail_target());
        // SAFETY: the code is new, and disconnected when it is dropped, which is when no one runs
        // it. Slots hold compatible programs (`claim`), which are retired when replaced.
        unsafe { self.direct().add(code, is_mine, held) }
    }

    /// Removes the calls of a program that is being freed.
    pub(crate) fn disconnect(&self, code: &MachineCode) {
        self.direct().remove(code);
    }

    fn direct(&self) -> MutexGuard<'_, DirectCalls> {
        self.direct.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a program in a slot, as `update` does.
    pub(crate) fn store(&self, index: u32, prog: Arc<dyn TailTarget>) -> Result<(), Errno> {
        if index >= self.count {
            return Err(Errno::E2BIG);
        }
        self.claim(prog.owner()).map_err(|_| Errno::EINVAL)?;
        if let Some(need) = prog.ctx_need() {
            self.progs.needs.put(&self.ctx_need, need)?;
        }
        self.put(index, Some(prog)).map(drop)
    }

    /// Whether it belongs to the runtime with these programs.
    pub(crate) fn is_of(&self, progs: &Arc<ProgRegistry>) -> bool {
        Arc::ptr_eq(&self.progs, progs)
    }

    /// Sets or clears an existing slot; returns whether it was occupied.
    fn put(&self, index: u32, new: Option<Arc<dyn TailTarget>>) -> Result<bool, Errno> {
        let direct = self.direct();
        let held = self.target(index);
        if held.is_none() && new.is_none() {
            return Ok(false);
        }
        let holds_code = held.and_then(|held| held.tail_target()).is_some();
        let target = new.as_ref().and_then(|new| new.tail_target());
        // SAFETY: the slot holds `held`; `new` is compatible (`claim`), and retired when replaced.
        if let Err(why) = unsafe { direct.point(index, holds_code, target.as_ref()) } {
            drop(direct);
            // A thread may be executing it.
            new.into_iter().for_each(|new| self.slots.retire(new));
            return Err(match why {
                poke::Error::Barrier(_) => Errno::EPERM,
                poke::Error::Edit(_) => Errno::EFAULT,
            });
        }
        let old = self.slots.replace(index, new.map(|new| (new.clone(), new.tail_entry())));
        drop(direct);
        Ok(old.map(|old| self.slots.retire(old)).is_some())
    }

    /// Drops all programs, which may themselves refer to this map.
    pub(crate) fn clear(&self) {
        self.slots.clear();
    }
}

impl MapKind for ProgArray {
    /// `value` is the id of a program.
    fn update(&self, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        if flags != 0 {
            return Err(Errno::EINVAL);
        }
        if index(key) >= self.count {
            return Err(Errno::E2BIG);
        }
        let prog = self.progs.get(index(value)).ok_or(Errno::EBADF)?;
        self.store(index(key), prog)
    }

    fn delete(&self, key: &[u8]) -> Result<(), Errno> {
        if index(key) >= self.count {
            return Err(Errno::E2BIG);
        }
        if self.put(index(key), None)? { Ok(()) } else { Err(Errno::ENOENT) }
    }

    fn next_key(&self, key: Option<&[u8]>, next: &mut [u8]) -> Result<(), Errno> {
        next_index(key, self.count, next)
    }

    fn read(&self, key: &[u8]) -> Result<Vec<u8>, Errno> {
        let prog = self.slots.get(index(key)).ok_or(Errno::ENOENT)?;
        Ok(prog.id().to_ne_bytes().to_vec())
    }

    fn locate(&self, _addr: u64, _size: usize) -> Option<(&Region, usize)> {
        None
    }

    fn waits_for_runs(&self) -> bool {
        true
    }

    fn settle(&self) {
        self.slots.settle();
    }
}

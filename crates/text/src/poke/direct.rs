//! `DirectCalls`: tail calls with a constant index, as jumps that follow a prog array.
//!
//! # Invariants
//! 1. Each call of a live program goes to the contents of its slot, or is vacant if the slot is
//!    empty: both change under the lock around the `DirectCalls`.
//! 2. A jump is retargeted while its call is vacant, and seen by all threads before the call is
//!    enabled; or from one live program to another.
//! 3. The previous contents of a slot are retired after [`DirectCalls::point`] has returned: no
//!    thread can enter them any more, and those inside hold the epoch.
//!
//! The models compile this file too, with instrumented sites and barriers.
//!
//! Deliberately absent: a call through an address in memory for targets out of reach; all code is
//! within reach.

#![allow(unsafe_code)]

use super::{Batch, Error, Jump, MachineCode, Switch, TailCall, Target};
use rustc_hash::FxHashMap;

/// The direct calls through one prog array, by slot.
#[derive(Debug, Default)]
pub struct DirectCalls(FxHashMap<u32, Vec<Call>>);

#[derive(Debug)]
struct Call {
    /// The calling program, by the address of its code.
    caller: u64,
    vacant: Switch,
    jump: Jump,
}

impl DirectCalls {
    /// Adds the calls of a program that has not run, through the maps that `is_mine` picks;
    /// `target` is what a slot holds.
    ///
    /// # Errors
    ///
    /// See [`Error`]; none of the calls is added then.
    ///
    /// # Safety
    ///
    /// No thread runs the program before this returns, nor after it was removed. What `target`
    /// returns, the program may tail call, and it is what [`DirectCalls::point`] would be given: it
    /// exists until the slot has been pointed elsewhere and all runs of that time have ended.
    pub unsafe fn add(
        &mut self,
        code: &MachineCode,
        is_mine: impl Fn(u32) -> bool,
        target: impl Fn(u32) -> Option<Target>,
    ) -> Result<(), Error> {
        let caller = code.address();
        let mut batch = Batch::new();
        // SAFETY: calls are vacant, or go to the contents of their slot: the contracts of this
        // function and of `point` (invariants 1 to 3).
        let calls = unsafe { code.tail_calls() };
        for TailCall { map, index, vacant, jump } in calls {
            if !is_mine(map) {
                continue;
            }
            if let Some(target) = target(index) {
                batch.retarget(&jump, &target);
                batch.add_from(&vacant, true, false);
            }
            self.0.entry(index).or_default().push(Call { caller, vacant, jump });
        }
        // No thread has fetched the code.
        let set = batch.commit_nowait();
        if set.is_err() {
            self.remove(code);
        }
        set
    }

    /// Forgets the calls of a program, which goes.
    pub fn remove(&mut self, code: &MachineCode) {
        self.0.retain(|_, calls| {
            calls.retain(|call| call.caller != code.address());
            !calls.is_empty()
        });
    }

    /// Sends all calls through a slot, which holds something now if `held`, to `target`. When it
    /// returns no thread calls what the slot holds now, unless it fails: then all calls are as they
    /// were, but a thread may have entered `target`.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    ///
    /// # Safety
    ///
    /// `held` is true if the slot holds something. All programs that were added may tail call
    /// `target`, which exists until the slot has been pointed elsewhere and all runs of that time
    /// have ended.
    pub unsafe fn point(
        &self,
        index: u32,
        held: bool,
        target: Option<&Target>,
    ) -> Result<(), Error> {
        let Some(calls) = self.0.get(&index) else { return Ok(()) };
        let mut batch = Batch::new();
        let Some(target) = target else {
            calls.iter().for_each(|call| batch.add(&call.vacant, true));
            return batch.commit();
        };
        calls.iter().for_each(|call| batch.retarget(&call.jump, target));
        batch.commit()?;
        if held {
            return Ok(());
        }
        let mut batch = Batch::new();
        calls.iter().for_each(|call| batch.add_from(&call.vacant, true, false));
        batch.commit()
    }
}

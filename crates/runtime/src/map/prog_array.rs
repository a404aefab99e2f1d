//! `BPF_MAP_TYPE_PROG_ARRAY`: where a tail call goes.
//!
//! The words of the slots are what machine code loads and jumps to. All programs of one array have
//! the type of the first that was put there.
//!
//! Kernel: `prog_array_map_ops` (6.18).

use super::registry::Registry;
use super::slots::Slots;
use super::{MapKind, Setup, index, next_index};
use crate::current::Current;
use crate::memory::Region;
use crate::{Errno, Error};
use skep_interp::Linked;
use skep_uapi::{MapShape, ProgType};
use std::sync::{Arc, OnceLock};

/// A program that can be tail called.
pub(crate) trait TailTarget: Send + Sync {
    /// Number of the program in this process.
    fn id(&self) -> u32;
    fn prog_type(&self) -> ProgType;
    /// Where machine code jumps to; 0 if there is none.
    fn tail_entry(&self) -> u64;
    /// What the interpreter goes on with.
    fn linked(&self) -> &Arc<Linked>;
    /// Whether a function that it takes for a callback has this address.
    fn has_function(&self, addr: u64) -> bool;
    /// Whether its machine code counts fuel.
    fn wants_fuel(&self) -> bool;
    /// Calls one of its functions by the address, in the thread's current run.
    fn call(&self, addr: u64, args: [u64; 5], current: &Current<'_>) -> Result<u64, Error>;
}

pub(crate) struct ProgArray {
    slots: Slots<dyn TailTarget>,
    registry: Arc<Registry>,
    prog_type: OnceLock<ProgType>,
    count: u32,
}

impl ProgArray {
    pub(super) fn new(shape: &MapShape, setup: &Setup) -> Result<ProgArray, Error> {
        Ok(ProgArray {
            slots: Slots::new(shape.max_entries, &setup.budget)?,
            registry: setup.registry.clone(),
            prog_type: OnceLock::new(),
            count: shape.max_entries,
        })
    }

    /// The program in a slot.
    pub(crate) fn target(&self, index: u32) -> Option<Arc<dyn TailTarget>> {
        self.slots.get(index)
    }

    /// Address and number of the words that machine code jumps to.
    pub(crate) fn words(&self) -> (u64, u32) {
        (self.slots.base(), self.count)
    }

    /// The word of a slot, 0 for one that does not exist.
    pub(crate) fn word(&self, index: u32) -> u64 {
        if index < self.count { self.slots.word(index) } else { 0 }
    }

    /// Lets go of all programs: they may refer to this map themselves.
    pub(crate) fn clear(&self) {
        self.slots.clear();
    }
}

impl MapKind for ProgArray {
    fn lookup(&self, _key: &[u8]) -> u64 {
        0
    }

    /// `value` is the id of a program.
    fn update(&self, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        if flags != 0 {
            return Err(Errno::EINVAL);
        }
        if index(key) >= self.count {
            return Err(Errno::E2BIG);
        }
        let prog = self.registry.prog(index(value)).ok_or(Errno::EBADF)?;
        if *self.prog_type.get_or_init(|| prog.prog_type()) != prog.prog_type() {
            return Err(Errno::EINVAL);
        }
        let word = prog.tail_entry();
        self.slots.set(index(key), Some((prog, word)));
        Ok(())
    }

    fn delete(&self, key: &[u8]) -> Result<(), Errno> {
        self.slots.delete(index(key), self.count)
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

    fn as_prog_array(&self) -> Option<&ProgArray> {
        Some(self)
    }
}

//! `Text`: placed code, and the sites in it that may be changed while threads run it.
//!
//! The term is the kernel's (`text_poke`). A `Text` outlives its program, so that a site can be
//! checked for whether its code still exists.
//!
//! # Invariants
//! 1. Bytes of code that may be running are only written by [`TextLock::store`]: one atomic store
//!    of one byte, of two at a multiple of 2, or of four at a multiple of 4, where both the old and
//!    the new value are correct.
//! 2. Writing, freeing and allocating memory for code requires the [`TextLock`].

#![allow(unsafe_code)]

use crate::memory::{self, Memory};
use skep_jit::{RetargetSite, SwitchSite};
use skep_mem::{Mem, fork};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, Ordering};
use std::sync::{Arc, MutexGuard};

/// Flags of the sites of one program, on cache lines of their own.
#[repr(align(64))]
#[derive(Debug)]
pub(crate) struct FlagLine(pub(crate) [AtomicU8; 64]);

impl FlagLine {
    /// All flags off.
    pub(crate) fn off() -> FlagLine {
        FlagLine([const { AtomicU8::new(0) }; 64])
    }
}

/// The position of code, and whether it still exists.
#[derive(Debug)]
pub(crate) struct Text {
    /// The writable address of the code; null if it cannot be written.
    pub(crate) writable: *mut u8,
    pub(crate) executable: u64,
    pub(crate) len: u32,
    pub(crate) freed: AtomicBool,
    pub(crate) flags: Box<[FlagLine]>,
}

// SAFETY: the memory behind the pointer is only accessed under the text lock, while `freed` is not
// set.
unsafe impl Send for Text {}
// SAFETY: as above.
unsafe impl Sync for Text {}

impl Text {
    pub(crate) fn new(
        writable: *mut u8,
        executable: u64,
        len: u32,
        flags: Box<[FlagLine]>,
    ) -> Text {
        Text { writable, executable, len, freed: AtomicBool::new(false), flags }
    }

    pub(crate) fn is_freed(&self) -> bool {
        self.freed.load(Ordering::Acquire)
    }

    pub(crate) fn flag(&self, number: u32) -> Option<&AtomicU8> {
        let (line, at) = (number as usize / 64, number as usize % 64);
        self.flags.get(line).and_then(|line| line.0.get(at))
    }

    /// Address of a flag, for code.
    pub(crate) fn flag_address(flags: &[FlagLine], number: u32) -> u64 {
        let (line, at) = (number as usize / 64, number as usize % 64);
        flags.get(line).and_then(|line| line.0.get(at)).map_or(0, |flag| flag.as_ptr() as u64)
    }
}

/// A switch in placed code.
#[derive(Clone, Debug)]
pub struct Switch {
    pub(crate) text: Arc<Text>,
    pub(crate) site: SwitchSite,
}

/// A jump in placed code, whose target can be changed.
#[derive(Clone, Debug)]
pub struct Jump {
    pub(crate) text: Arc<Text>,
    pub(crate) site: RetargetSite,
}

/// A target for jumps.
#[derive(Clone, Debug)]
pub struct Target {
    pub(crate) text: Arc<Text>,
    pub(crate) off: u32,
}

/// A tail call with a constant index, in code that is in place.
#[derive(Clone, Debug)]
pub struct TailCall {
    /// The prog array, by `MapIdx`.
    pub map: u32,
    /// The slot in it.
    pub index: u32,
    /// Jumps over the call while the slot is empty.
    pub vacant: Switch,
    /// Jumps to the program in the slot.
    pub jump: Jump,
}

impl Switch {
    /// Whether its code no longer exists.
    pub fn is_freed(&self) -> bool {
        self.text.is_freed()
    }

    /// Its position in the code.
    pub fn site(&self) -> SwitchSite {
        self.site
    }
}

impl Jump {
    /// Whether its code no longer exists.
    pub fn is_freed(&self) -> bool {
        self.text.is_freed()
    }

    /// Its position in the code.
    pub fn site(&self) -> RetargetSite {
        self.site
    }
}

impl Target {
    /// Where it can be executed.
    pub fn address(&self) -> u64 {
        self.text.executable + u64::from(self.off)
    }

    /// Whether its code no longer exists.
    pub fn is_freed(&self) -> bool {
        self.text.is_freed()
    }
}

/// The right to write and free code. There is one per process, like the kernel's `text_mutex`.
pub struct TextLock {
    _memory: MutexGuard<'static, Memory>,
}

impl TextLock {
    /// Waits for the lock.
    pub fn take() -> TextLock {
        TextLock { _memory: memory::lock() }
    }

    /// The byte, half-word or word at a position; `None` if it is outside the code, or the code no
    /// longer exists or cannot be written.
    pub(crate) fn load(&self, text: &Text, place: Place) -> Option<u32> {
        let at = self.address(text, place)?;
        // SAFETY: `address` has checked that the position is in existing code, and aligned; all
        // writers use atomic stores while it may run.
        Some(unsafe {
            match place {
                Place::Byte(_) => u32::from(AtomicU8::from_ptr(at).load(Ordering::Relaxed)),
                Place::Half(_) => u32::from(AtomicU16::from_ptr(at.cast()).load(Ordering::Relaxed)),
                Place::Word(_) => AtomicU32::from_ptr(at.cast()).load(Ordering::Relaxed),
            }
        })
    }

    /// All bytes of the code; zeros if it no longer exists.
    pub(crate) fn bytes(&self, text: &Text) -> Vec<u8> {
        let mut bytes = vec![0; text.len as usize];
        if !fork::is_lost() && !text.is_freed() {
            // SAFETY: existing code is readable where it is executable; all writers use atomic
            // stores while it may run.
            unsafe { Mem::new(text.executable, bytes.len()) }.read(&mut bytes);
        }
        bytes
    }

    /// Writes a position that can be loaded under this lock.
    pub(crate) fn store(&self, text: &Text, place: Place, value: u32) {
        let Some(at) = self.address(text, place) else { return };
        // SAFETY: as in `load`; the position is a site's (invariant 1: the caller only passes those
        // created by `sites`), and whoever runs code is responsible for all states of its sites.
        unsafe {
            match place {
                Place::Byte(_) => AtomicU8::from_ptr(at).store(value as u8, Ordering::Release),
                Place::Half(_) => {
                    AtomicU16::from_ptr(at.cast()).store(value as u16, Ordering::Release);
                }
                Place::Word(_) => AtomicU32::from_ptr(at.cast()).store(value, Ordering::Release),
            }
        }
    }

    fn address(&self, text: &Text, place: Place) -> Option<*mut u8> {
        let (off, len) = match place {
            Place::Byte(off) => (off, 1),
            Place::Half(off) => (off, 2),
            Place::Word(off) => (off, 4),
        };
        let inside = off.checked_add(len).is_some_and(|end| end <= text.len);
        let aligned = (text.executable + u64::from(off)).is_multiple_of(u64::from(len));
        if fork::is_lost() || text.is_freed() || text.writable.is_null() || !inside || !aligned {
            return None;
        }
        // SAFETY: inside the range that starts at `writable`.
        Some(unsafe { text.writable.add(off as usize) })
    }
}

/// What one store writes, by its offset in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Byte(u32),
    Half(u32),
    Word(u32),
}

//! `Image`: the code of one program in memory.
//!
//! # Invariants
//! 1. A range belongs to one [`Image`], which writes it before any thread executes it; afterwards
//!    only patch sites change (see `text`).

#![allow(unsafe_code)]

use crate::memory::{self, Place, lock};
use crate::text::{FlagLine, Text, TextLock};
use rustix::io::Errno;
use skep_mem::fork;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Filler: `int3`.
const TRAP: u8 = 0xcc;

/// The code of a program in memory.
#[derive(Debug)]
pub(crate) struct Image {
    text: Arc<Text>,
    place: Place,
}

impl Image {
    /// Allocates a range, calls `place` to relocate the code, and writes it. The code may be
    /// patched or has `flags`.
    pub(crate) fn new(
        code: &mut [u8],
        flags: Box<[FlagLine]>,
        place: impl FnOnce(&mut [u8], u64),
    ) -> Result<Image, Errno> {
        let len = code.len() as u32;
        memory::reach()?;
        let mut memory = lock();
        let allocated = memory.take(code.len())?;
        let (pool, range) = (memory.pool(allocated.pool), &allocated.range);
        // SAFETY: the range is inside both mappings.
        let (writable, executable) =
            unsafe { (pool.writable.add(range.start), pool.executable.add(range.start)) };
        place(code, executable as u64);
        // SAFETY: the range is inside the writable mapping and owned by this image (invariant 1);
        // its address is not yet known elsewhere.
        unsafe {
            ptr::copy_nonoverlapping(code.as_ptr(), writable, code.len());
            ptr::write_bytes(writable.add(code.len()), TRAP, range.len() - code.len());
        }
        let text = Text::new(writable, executable as u64, len, flags);
        Ok(Image { text: Arc::new(text), place: allocated })
    }

    /// Where the code can be executed.
    pub(crate) fn address(&self) -> u64 {
        self.text.executable
    }

    pub(crate) fn text(&self) -> &Arc<Text> {
        &self.text
    }

    /// The code; zeros if the process has lost it.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let _no_writer = TextLock::take();
        let mut bytes = vec![0; self.text.len as usize];
        if fork::is_lost() {
            return bytes;
        }
        // SAFETY: the code is readable where it is executable; writers hold the lock.
        unsafe {
            let from = self.text.executable as *const u8;
            ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len());
        }
        bytes
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let mut memory = lock();
        self.text.freed.store(true, Ordering::Release);
        memory.give_back(self.place.clone());
    }
}

//! `Image`: the code of one program in memory.

use crate::memory::{self, Place, lock};
use crate::text::{FlagLine, Text, TextLock};
use rustix::io::Errno;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The code of a program in memory.
#[derive(Debug)]
pub(crate) struct Image {
    text: Arc<Text>,
    /// `None` while it is dropped.
    place: Option<Place>,
}

impl Image {
    /// Finds memory, calls `place` to relocate the code, and writes it. The code may be patched or
    /// has `flags`.
    pub(crate) fn new(
        code: &mut [u8],
        flags: Box<[FlagLine]>,
        place: &dyn Fn(&mut [u8], u64),
    ) -> Result<Image, Errno> {
        let len = code.len() as u32;
        memory::reach()?;
        let (place, at) = lock().put(code, place)?;
        let text = Text::new(at.writable, at.executable, len, flags);
        Ok(Image { text: Arc::new(text), place: Some(place) })
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
        TextLock::take().bytes(&self.text)
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let mut memory = lock();
        self.text.freed.store(true, Ordering::Release);
        if let Some(place) = self.place.take() {
            memory.free(place);
        }
    }
}

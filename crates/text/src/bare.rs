//! `BareCode`: bytes supplied by the caller, placed as code with sites in them: for tests and
//! measurements of patching itself.

#![allow(unsafe_code)]

use crate::error::Error;
use crate::image::Image;
use crate::memory::patching_is_refused;
use crate::text::{Jump, Switch, Target};
use skep_jit::{RetargetSite, SwitchSite};
use skep_mem::fork;

/// Machine code written by the caller, placed like a program's. Freed when dropped.
#[derive(Debug)]
pub struct BareCode {
    image: Image,
    len: u32,
}

impl BareCode {
    /// Places code. References relative to itself stay valid.
    ///
    /// # Errors
    ///
    /// The host denies memory for patchable code.
    pub fn new(code: &[u8]) -> Result<BareCode, Error> {
        if let Some((_, errno)) = patching_is_refused() {
            return Err(errno.into());
        }
        let len = u32::try_from(code.len()).map_err(|_| Error::too_long(code.len()))?;
        let image = Image::new(&mut code.to_vec(), Box::default(), &|_, _| {})?;
        Ok(BareCode { image, len })
    }

    /// Address at which `off` can be executed.
    pub fn address(&self, off: u32) -> u64 {
        self.image.address() + u64::from(off)
    }

    /// The switch whose first byte is at `off`; `None` unless there is a `test eax, imm32` or a
    /// `jmp rel32`.
    pub fn switch(&self, off: u32) -> Option<Switch> {
        let first = self.byte(off)?;
        let known = [SwitchSite::OFF, SwitchSite::ON].contains(&first);
        self.byte(off.checked_add(4)?)?;
        let site = SwitchSite::new(off);
        known.then(|| Switch { text: self.image.text().clone(), site })
    }

    /// The jump at `off`; `None` unless there is a `jmp rel32` with an aligned displacement.
    pub fn jump(&self, off: u32) -> Option<Jump> {
        let known = self.byte(off)? == 0xe9 && off % 4 == 3;
        self.byte(off.checked_add(4)?)?;
        known.then(|| Jump { text: self.image.text().clone(), site: RetargetSite::new(off) })
    }

    /// The insn at `off`, an even number, as a switch that jumps to the five bytes before it. It
    /// must have at least two bytes.
    pub fn insn_switch(&self, off: u32) -> Option<Switch> {
        let bytes = [self.byte(off)?, self.byte(off.checked_add(1)?)?];
        let is_even = off >= SwitchSite::FRONT_BYTES && off.is_multiple_of(2);
        let site = is_even.then(|| SwitchSite::of_insn(off, bytes))?;
        Some(Switch { text: self.image.text().clone(), site })
    }

    /// A jump target at `off`.
    pub fn target(&self, off: u32) -> Option<Target> {
        (off < self.len).then(|| Target { text: self.image.text().clone(), off })
    }

    /// Where the code can be written, unchecked.
    ///
    /// # Safety
    ///
    /// The caller must write inside the code, and is responsible for what threads then execute.
    pub unsafe fn writable(&self) -> *mut u8 {
        self.image.text().writable
    }

    fn byte(&self, off: u32) -> Option<u8> {
        let inside = off < self.len && !fork::is_lost();
        // SAFETY: a byte of the code, which lives as long as `self`; other threads may write it, as
        // whole bytes.
        inside.then(|| unsafe { std::ptr::read_volatile(self.address(off) as *const u8) })
    }
}

//! Patch sites: places that one atomic store may change while other threads run the code.
//!
//! This crate only reserves them; nothing here writes to code.
//!
//! # Invariants
//! 1. A switch site is `test eax, imm32` (`A9`), which its first byte turns into `jmp rel32`
//!    (`E9`): the immediate is the displacement of the jump. It stands where flags are not read
//!    before they are written.
//! 2. A retarget site is `jmp rel32` whose displacement is 4-byte aligned.

/// Place of `test eax, imm32` that may become a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchSite {
    off: u32,
}

impl SwitchSite {
    /// First byte while the switch is off.
    pub const OFF: u8 = 0xa9;
    /// First byte while it is on.
    pub const ON: u8 = 0xe9;

    pub(crate) fn new(off: u32) -> SwitchSite {
        SwitchSite { off }
    }

    /// Offset in the code of the byte that switches.
    pub fn off(self) -> u32 {
        self.off
    }
}

/// Place of a jump whose target may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetargetSite {
    off: u32,
}

impl RetargetSite {
    pub(crate) fn new(off: u32) -> RetargetSite {
        debug_assert_eq!((off + 1) % 4, 0);
        RetargetSite { off }
    }

    /// Offset in the code of the displacement, a multiple of 4.
    pub fn disp_off(self) -> u32 {
        self.off + 1
    }

    /// Offset in the code that the displacement counts from.
    pub fn next_off(self) -> u32 {
        self.off + 5
    }
}

//! Patch sites: places that one atomic store may change while other threads run the code.
//!
//! The emitter opens and closes them; `text` writes to them.
//!
//! # Invariants
//! 1. A switch site is `test eax, imm32` (`A9`), which its first byte turns into `jmp rel32`
//!    (`E9`): the immediate is the displacement of the jump. It stands where flags are not read
//!    before they are written.
//! 2. A retarget site is `jmp rel32` whose displacement is 4-byte aligned.
//! 3. In code that is not patched ([`crate::PokeMode::Flag`]) a switch is a byte in memory that the
//!    code tests before a conditional jump; `r11` and flags are lost.

/// A `test eax, imm32` that can be turned into a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchSite {
    off: u32,
    flag: Option<u32>,
}

impl SwitchSite {
    /// First byte while the switch is off.
    pub const OFF: u8 = 0xa9;
    /// First byte while it is on.
    pub const ON: u8 = 0xe9;

    /// A site that is patched.
    pub(crate) fn new(off: u32) -> SwitchSite {
        SwitchSite { off, flag: None }
    }

    /// A site that tests a flag.
    pub(crate) fn of_flag(off: u32, flag: u32) -> SwitchSite {
        SwitchSite { off, flag: Some(flag) }
    }

    /// Offset in the code of the byte that changes, or of the insns that test the flag.
    pub fn off(self) -> u32 {
        self.off
    }

    /// Number of the flag, if the site is not patched.
    pub fn flag(self) -> Option<u32> {
        self.flag
    }
}

/// A jump whose target can be changed.
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

    /// Offset in the code that the displacement is relative to.
    pub fn next_off(self) -> u32 {
        self.off + 5
    }
}

/// A tail call with a constant index, in code that is patched.
///
/// While the switch is on (the slot is empty), the call is skipped. Otherwise it counts, leaves its
/// frame and jumps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TailCallSite {
    /// The prog array, by `MapIdx`.
    pub map: u32,
    /// The slot in it.
    pub index: u32,
    /// Jumps over the call.
    pub vacant: SwitchSite,
    /// Jumps to the target.
    pub jump: RetargetSite,
}

/// A place in the code that is patched, or that tests a flag instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PatchSite {
    /// Offset in the code of its insn.
    pub off: u32,
    /// What it switches or retargets.
    pub kind: PatchKind,
}

/// The purpose of a patch site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PatchKind {
    /// Counts a run that begins.
    StatsEntry,
    /// Ends the time of a run that tail calls another program.
    StatsTailCall,
    /// Jumps over the tail call while the slot of the prog array (`MapIdx`, index) is empty.
    TailCallVacant(u32, u32),
    /// Jumps to the program in the slot.
    TailCallJump(u32, u32),
}

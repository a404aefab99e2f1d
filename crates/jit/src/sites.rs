//! Patch sites: places that one atomic store can change while other threads run the code.
//!
//! The emitter opens and closes them; `skep-text` writes to them.
//!
//! # Invariants
//! 1. A switch site is `test eax, imm32` (`A9`), which its first byte turns into `jmp rel32`
//!    (`E9`): the immediate is the displacement of the jump. It is placed where flags are dead.
//! 2. A switch may also be an insn of the program itself, so that nothing is added to the code: its
//!    first two bytes, at an even offset, are replaced by a `jmp rel8` to the five bytes before it,
//!    which are a `jmp rel32`. The insn must have at least two bytes, be position-independent, and
//!    not be a jump target in the program: the switch affects entries only. The target of the jump
//!    executes the insn and continues after it.
//! 3. A retarget site is `jmp rel32` whose displacement is 4-byte aligned.
//! 4. In code that is not patched ([`crate::PokeMode::Flag`]) a switch is a byte in memory that the
//!    code tests before a conditional jump; `r11` and flags are clobbered.

/// An insn that can be turned into a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchSite {
    off: u32,
    made: SwitchForm,
}

/// What a switch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SwitchForm {
    /// `test eax, imm32` or `jmp rel32`.
    Test,
    /// An insn of the program that starts with these bytes, or `jmp rel8`.
    Insn([u8; 2]),
    /// A flag, by number.
    Flag(u32),
}

impl SwitchSite {
    /// First byte while the switch is off.
    pub const OFF: u8 = 0xa9;
    /// First byte while it is on.
    pub const ON: u8 = 0xe9;
    /// Replaces an insn of the program while it is on: a jump to [`SwitchSite::FRONT_BYTES`] before
    /// it.
    pub const HOP: [u8; 2] = [0xeb, (-(2 + Self::FRONT_BYTES as i8)) as u8];
    /// Length of the jump before an insn that is a switch.
    pub const FRONT_BYTES: u32 = 5;

    /// A site that is patched.
    pub fn new(off: u32) -> SwitchSite {
        SwitchSite { off, made: SwitchForm::Test }
    }

    /// An insn of the program that starts with these bytes.
    pub fn of_insn(off: u32, bytes: [u8; 2]) -> SwitchSite {
        debug_assert_eq!(off % 2, 0);
        SwitchSite { off, made: SwitchForm::Insn(bytes) }
    }

    /// The same site at another offset.
    pub(crate) fn moved_to(self, off: u32) -> SwitchSite {
        SwitchSite { off, ..self }
    }

    /// A site that tests a flag.
    pub fn of_flag(off: u32, flag: u32) -> SwitchSite {
        SwitchSite { off, made: SwitchForm::Flag(flag) }
    }

    /// Whether it is an insn of the program, so that nothing is added to the code.
    pub fn is_insn(self) -> bool {
        matches!(self.made, SwitchForm::Insn(_))
    }

    /// What is there while it is off or on: a byte, two, or the flag.
    pub fn value(self, on: bool) -> u32 {
        match (self.made, on) {
            (SwitchForm::Test, false) => Self::OFF.into(),
            (SwitchForm::Test, true) => Self::ON.into(),
            (SwitchForm::Insn(bytes), false) => u16::from_le_bytes(bytes).into(),
            (SwitchForm::Insn(_), true) => u16::from_le_bytes(Self::HOP).into(),
            (SwitchForm::Flag(_), on) => on.into(),
        }
    }

    /// Offset in the code of the first byte that changes, or of the insns that test the flag.
    pub fn off(self) -> u32 {
        self.off
    }

    /// Number of the flag, if the site is not patched.
    pub fn flag(self) -> Option<u32> {
        match self.made {
            SwitchForm::Flag(flag) => Some(flag),
            SwitchForm::Test | SwitchForm::Insn(_) => None,
        }
    }
}

/// A jump whose target can be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetargetSite {
    off: u32,
}

impl RetargetSite {
    /// A jump whose displacement is at a multiple of 4.
    pub fn new(off: u32) -> RetargetSite {
        debug_assert_eq!((off + 1) % 4, 0);
        RetargetSite { off }
    }

    /// Offset in the code of the jump.
    pub(crate) fn off(self) -> u32 {
        self.off
    }

    /// Offset in the code of the displacement, a multiple of 4.
    pub fn disp_off(self) -> u32 {
        self.off + 1
    }

    /// Offset in the code to which the displacement is relative.
    pub fn next_off(self) -> u32 {
        self.off + 5
    }
}

/// A tail call with a constant index, in code that is patched.
///
/// While the switch is on (the slot is empty), the call is skipped. Otherwise it is counted, leaves
/// its frame and jumps.
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

//! The registers and slots being tracked back, and how the log prints them.

use crate::rejection::{CallFault, Stop};
use crate::state::history::JmpEntry;
use skep_uapi::errno;
use std::fmt;

/// The tracked registers and slots, by frame.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BacktrackState {
    /// Frame of the current insn.
    pub(crate) frame: usize,
    pub(crate) regs: [u16; 8],
    pub(crate) slots: [u64; 8],
}

impl BacktrackState {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        if self.frame == 0 {
            return self.regs[0] == 0 && self.slots[0] == 0;
        }
        self.regs[..=self.frame].iter().all(|&m| m == 0)
            && self.slots[..=self.frame].iter().all(|&m| m == 0)
    }
    #[inline]
    pub(crate) fn reset(&mut self) {
        *self = BacktrackState::default();
    }
    #[inline]
    pub(crate) fn set_frame_slot(&mut self, frame: usize, spi: usize) {
        self.slots[frame] |= 1 << spi;
    }
    #[inline]
    pub(crate) fn set_reg(&mut self, r: u8) {
        self.regs[self.frame] |= 1 << r;
    }
    #[inline]
    pub(super) fn clear_reg(&mut self, r: u8) {
        self.regs[self.frame] &= !(1 << r);
    }
    #[inline]
    pub(super) fn has_reg(&self, r: u8) -> bool {
        self.regs[self.frame] >> r & 1 == 1
    }
    #[inline]
    pub(super) fn enter_subprog(&mut self) -> Result<(), BacktrackError> {
        if self.frame == 7 {
            let frame = self.frame;
            return Err(BacktrackError::refuse(CallFault::CallbackFrame { to: "enter", frame }));
        }
        self.frame += 1;
        Ok(())
    }
    #[inline]
    pub(super) fn exit_subprog(&mut self) -> Result<(), BacktrackError> {
        if self.frame == 0 {
            let frame = self.frame;
            return Err(BacktrackError::refuse(CallFault::CallbackFrame { to: "exit", frame }));
        }
        self.frame -= 1;
        Ok(())
    }

    /// If one of the registers linked at this jump is tracked, all are.
    #[inline]
    pub(super) fn sync_linked(&mut self, entry: Option<&JmpEntry>) {
        let Some(entry) = entry.filter(|e| e.linked.len() > 0) else { return };
        let wanted = entry.linked.iter().any(|l| {
            let f = l.frameno as usize;
            if l.is_reg { self.regs[f] >> l.at & 1 == 1 } else { self.slots[f] >> l.at & 1 == 1 }
        });
        if wanted {
            for l in entry.linked.iter() {
                let f = l.frameno as usize;
                if l.is_reg {
                    self.regs[f] |= 1 << l.at;
                } else {
                    self.slots[f] |= 1 << l.at;
                }
            }
        }
    }
}

/// Why backtracking over an insn failed.
pub(crate) enum BacktrackError {
    /// The insn cannot be tracked back: everything must become precise (`-ENOTSUPP`).
    NotSupported,
    Stop(Stop),
}

impl BacktrackError {
    /// The kernel, too, finds that it does not know the way back.
    #[cold]
    pub(crate) fn refuse(kind: CallFault) -> BacktrackError {
        BacktrackError::Stop(Stop::refuse(errno::EFAULT, kind))
    }

    /// What the kernel does next is not modelled.
    #[cold]
    pub(crate) fn not_supported_yet(what: &str) -> BacktrackError {
        BacktrackError::Stop(Stop::unsupported(what))
    }

    pub(crate) fn bug(message: String) -> BacktrackError {
        BacktrackError::Stop(Stop::bug(format!("backtracking: {message}")))
    }
}

/// `r1,r2` for the bits of a mask.
pub(crate) struct RegMask(pub(crate) u16);

impl fmt::Display for RegMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sep = "";
        for r in bits(self.0.into()) {
            write!(f, "{sep}r{r}")?;
            sep = ",";
        }
        Ok(())
    }
}

/// Numbers of the bits that are set, lowest first.
pub(crate) fn bits(mask: u64) -> impl Iterator<Item = u32> {
    let without_lowest = |mask: &u64| Some(mask & (mask - 1)).filter(|&rest| rest != 0);
    std::iter::successors(Some(mask).filter(|&mask| mask != 0), without_lowest)
        .map(u64::trailing_zeros)
}

/// `-8,-16` for the bits of a mask.
pub(crate) struct SlotMask(pub(crate) u64);

impl fmt::Display for SlotMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sep = "";
        for spi in bits(self.0) {
            write!(f, "{sep}{}", -8 * (i64::from(spi) + 1))?;
            sep = ",";
        }
        Ok(())
    }
}

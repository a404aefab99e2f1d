//! The registers at the last checkpoint on which the value of each register depends.
//!
//! When a register is marked precise, the registers of the last checkpoint from which it was
//! computed must be marked too. The walk maintains these sets, so that most marks need no
//! backtracking through the history insn by insn. If a value went through anything other than
//! registers of one frame (the stack, a call, a pointer), the set says so and the history is used.
//!
//! # Invariants
//! 1. Without [`WALK`], `from[r]` is the set that backtracking from here for register r alone would
//!    track at the last checkpoint; for several registers it is the union.
//! 2. Bit r of `precise` says that backtracking for register r would set no new mark, at the last
//!    checkpoint or beyond.
//!
//! Kernel: no counterpart; it backtracks through the history (`__mark_chain_precision`, 6.18).

/// In a set: the history must be used.
pub(crate) const WALK: u16 = 1 << 15;

/// Sets of registers of a frame, by register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chains {
    from: [u16; 11],
    precise: u16,
}

impl Chains {
    /// No dependency is known.
    pub(crate) const LOST: Chains = Chains { from: [WALK; 11], precise: 0 };

    /// At a checkpoint: every register comes from itself.
    pub(crate) fn at_checkpoint() -> Chains {
        let mut from = [0; 11];
        for (r, set) in from.iter_mut().enumerate() {
            *set = 1 << r;
        }
        Chains { from, precise: 0 }
    }

    /// Register `r` was set in a way that is not tracked.
    #[inline]
    pub(crate) fn lose(&mut self, r: u8) {
        self.from[r as usize] = WALK;
        self.precise &= !(1 << r);
    }

    /// Register `r` was set to a value that depends on no register.
    #[inline]
    pub(crate) fn make(&mut self, r: u8) {
        self.from[r as usize] = 0;
        self.precise |= 1 << r;
    }

    /// Register `to` was copied from `from`.
    #[inline]
    pub(crate) fn copy(&mut self, to: u8, from: u8) {
        self.from[to as usize] = self.from[from as usize];
        self.precise = self.precise & !(1 << to) | (self.precise >> from & 1) << to;
    }

    /// Register `to` now also depends on `with`.
    #[inline]
    pub(crate) fn combine(&mut self, to: u8, with: u8) {
        self.from[to as usize] |= self.from[with as usize];
        self.precise &= !(1 << to) | (self.precise >> with & 1) << to;
    }

    /// From here on, if one of `regs` has to be precise, all have.
    pub(crate) fn join(&mut self, regs: u16) {
        let members = || (0..11).filter(|r| regs >> r & 1 == 1);
        let union = members().fold(0, |union, r| union | self.from[r]);
        for r in members() {
            self.from[r] = union;
        }
        if self.precise & regs != regs {
            self.precise &= !regs;
        }
    }

    /// The registers at the last checkpoint on which `regs` depend; `None` if the history has to be
    /// used.
    #[inline]
    pub(crate) fn follow(&self, mut regs: u16) -> Option<u16> {
        let mut from = 0;
        while regs != 0 {
            from |= self.from[regs.trailing_zeros() as usize];
            regs &= regs - 1;
        }
        (from & WALK == 0).then_some(from)
    }

    /// Whether backtracking for `r` would set no new mark.
    #[inline]
    pub(crate) fn is_precise(&self, r: u8) -> bool {
        self.precise >> r & 1 == 1
    }

    /// Everything on which `r` depends has been marked.
    #[inline]
    pub(crate) fn set_precise(&mut self, r: u8) {
        self.precise |= 1 << r;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_go_where_values_go() {
        let mut chains = Chains::at_checkpoint();
        chains.copy(1, 6);
        chains.combine(1, 7);
        assert_eq!(chains.follow(1 << 1), Some(1 << 6 | 1 << 7));
        chains.make(6);
        assert_eq!(chains.follow(1 << 6), Some(0));
        assert!(chains.is_precise(6) && !chains.is_precise(1));
        chains.join(1 << 1 | 1 << 8);
        assert_eq!(chains.follow(1 << 8), Some(1 << 6 | 1 << 7 | 1 << 8));
        chains.lose(7);
        assert_eq!(chains.follow(1 << 7 | 1 << 8), None);
    }

    #[test]
    fn a_value_is_precise_as_long_as_all_that_went_into_it_is() {
        let mut chains = Chains::at_checkpoint();
        chains.set_precise(1);
        chains.copy(2, 1);
        assert!(chains.is_precise(2));
        chains.combine(2, 3);
        assert!(!chains.is_precise(2));
        chains.set_precise(2);
        chains.join(1 << 1 | 1 << 2);
        assert!(chains.is_precise(1));
        chains.join(1 << 1 | 1 << 4);
        assert!(!chains.is_precise(1));
    }
}

//! `Cost`: what was spent at an insn.

/// What was spent at an insn on one call path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Times it was walked.
    pub insns: u32,
    /// States kept before it.
    pub states: u32,
    /// Paths that ended before it, because a kept state covers them.
    pub covered: u32,
    /// Comparisons with a kept state that did not cover the path.
    pub apart: u32,
}

/// A cost, and what it was spent at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CostAt {
    /// Number of the call path.
    pub path: usize,
    /// The insn.
    pub insn_idx: usize,
    /// What was spent there.
    pub cost: Cost,
}

impl Cost {
    /// An insn that was walked once.
    pub(super) const WALKED: Cost = Cost { insns: 1, states: 0, covered: 0, apart: 0 };
}

impl std::ops::AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        self.insns += other.insns;
        self.states += other.states;
        self.covered += other.covered;
        self.apart += other.apart;
    }
}

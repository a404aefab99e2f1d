//! `PcMap`: from insns to machine code and back.
//!
//! # Invariants
//! 1. Offsets do not descend; insns that were fused into others have no code.

/// Where the code of each insn is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PcMap {
    /// Offset of the code of each insn, then the end of the last.
    pub(crate) offs: Vec<u32>,
}

impl PcMap {
    /// Offsets in the code at which the code of insn `idx` starts and ends.
    pub fn code_of(&self, idx: usize) -> Option<(u32, u32)> {
        Some((*self.offs.get(idx)?, *self.offs.get(idx + 1)?))
    }

    /// The insn that the code at `off` was made from; `None` before the first (thunks) and behind
    /// the last.
    pub fn insn_at(&self, off: u32) -> Option<usize> {
        let after = self.offs.partition_point(|start| *start <= off);
        (after < self.offs.len()).then_some(after).and_then(|after| after.checked_sub(1))
    }

    /// Number of insns.
    pub fn len(&self) -> usize {
        self.offs.len().saturating_sub(1)
    }

    /// Whether there are no insns.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways() {
        let map = PcMap { offs: vec![4, 9, 9, 12] };
        assert_eq!(map.code_of(0), Some((4, 9)));
        assert_eq!(map.code_of(1), Some((9, 9)));
        assert_eq!(map.code_of(3), None);
        let found: Vec<_> = [3, 4, 8, 9, 11, 12].map(|off| map.insn_at(off)).into();
        assert_eq!(found, [None, Some(0), Some(0), Some(2), Some(2), None]);
    }
}

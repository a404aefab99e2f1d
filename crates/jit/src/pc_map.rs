//! `PcMap`: maps insns to machine code and back.
//!
//! # Invariants
//! 1. Offsets are non-decreasing except where `ends` says so; insns that were fused into others
//!    have no code.
//! 2. `code_of` attributes the code of an unrolled loop to its first insn.

/// The position of the code of each insn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PcMap {
    /// Offset of the code of each insn, then the end of the last.
    pub(crate) offs: Vec<u32>,
    /// Insns whose code is not followed by that of the next, and its end, in order.
    pub(crate) ends: Vec<(u32, u32)>,
    /// Offset and insn of each piece of code; more than one for insns in unrolled loops.
    pub(crate) spans: Vec<(u32, u32)>,
}

impl PcMap {
    /// Offsets in the code at which the code of insn `idx` starts and ends.
    pub fn code_of(&self, idx: usize) -> Option<(u32, u32)> {
        let end = self.ends.binary_search_by_key(&(idx as u32), |(insn, _)| *insn);
        let end = end.ok().map_or(self.offs.get(idx + 1), |at| Some(&self.ends[at].1));
        Some((*self.offs.get(idx)?, *end?))
    }

    /// The insn from which the code at `off` was compiled; `None` before the first (thunks) and
    /// after the last.
    pub fn insn_at(&self, off: u32) -> Option<usize> {
        let after = self.spans.partition_point(|(start, _)| *start <= off);
        let inside = self.offs.last().is_some_and(|end| off < *end);
        let span = self.spans.get(after.checked_sub(1)?).filter(|_| inside)?;
        Some(span.1 as usize)
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
        let spans = vec![(4, 0), (9, 1), (9, 2)];
        let map = PcMap { offs: vec![4, 9, 9, 12], ends: Vec::new(), spans };
        assert_eq!(map.code_of(0), Some((4, 9)));
        assert_eq!(map.code_of(1), Some((9, 9)));
        assert_eq!(map.code_of(3), None);
        let found: Vec<_> = [3, 4, 8, 9, 11, 12].map(|off| map.insn_at(off)).into();
        assert_eq!(found, [None, Some(0), Some(0), Some(2), Some(2), None]);
    }
}

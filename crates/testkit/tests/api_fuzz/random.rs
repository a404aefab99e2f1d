//! Random numbers, the same for the same seed.

use skep_testkit::rng::Rng;

/// Random arguments of operations.
pub(super) struct Random(Rng);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(Rng::new(seed))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0.word()
    }

    /// A number below `end`; 0 if `end` is 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0.below(end.max(1) as u64) as usize
    }

    pub(super) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(super) fn of<T: Clone>(&mut self, all: &[T]) -> Option<T> {
        all.get(self.below(all.len())).cloned()
    }

    /// Small numbers, powers of two and their neighbours, and any.
    pub(super) fn number(&mut self) -> u64 {
        let power = 1u64 << self.below(64);
        match self.below(8) {
            0..4 => self.below(20) as u64,
            4 => power,
            5 => power.wrapping_sub(1),
            6 => power.wrapping_add(1),
            _ => self.next(),
        }
    }

    pub(super) fn bytes(&mut self, len: usize) -> Vec<u8> {
        let small = self.one_in(2);
        (0..len).map(|_| if small { self.below(3) as u8 } else { self.next() as u8 }).collect()
    }
}

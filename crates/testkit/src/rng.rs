//! `Rng`: random numbers for tests, the same for the same seed, so that failures are reproducible.
//!
//! Tests of lower crates include this file as a module.

/// xorshift64.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Similar seeds give unrelated sequences.
    pub fn new(seed: u64) -> Rng {
        let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..4 {
            rng.word();
        }
        rng
    }

    /// Any 64-bit number except 0.
    pub fn word(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: u64) -> u64 {
        (self.word() >> 11) % n
    }

    /// True with this probability in percent.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of `items`, which must not be empty.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    /// One of `items`, each with a probability in proportion to its weight; none if all weigh
    /// nothing.
    pub fn weighted<T: Copy>(&mut self, items: &[(u64, T)]) -> Option<T> {
        let sum: u64 = items.iter().map(|(weight, _)| weight).sum();
        let mut left = if sum == 0 { return None } else { self.below(sum) };
        let chosen = items.iter().find(|(weight, _)| {
            let is_here = left < *weight;
            left = left.saturating_sub(*weight);
            is_here
        });
        chosen.map(|(_, item)| *item)
    }
}

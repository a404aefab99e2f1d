//! `Hits`: words in which it is counted what runs, for each CPU its own.
//!
//! # Invariants
//! 1. No two runs that go on write the words of one CPU: loads and stores do, without an atomic
//!    addition.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Words are on lines of the cache of their own, as far as that goes.
const WORDS_A_LINE: usize = 16;

/// Words of one program.
#[derive(Debug)]
pub struct Hits {
    words: Box<[AtomicU64]>,
    /// Of each CPU.
    used: usize,
    stride: usize,
}

impl Hits {
    /// So many words for each CPU, all 0; `None` if there is no memory for them.
    pub fn new(cpus: u32, used: usize) -> Option<Hits> {
        let stride = used.max(1).checked_next_multiple_of(WORDS_A_LINE)?;
        let count = stride.checked_mul(cpus as usize)?;
        let mut words = Vec::new();
        words.try_reserve_exact(count).ok()?;
        words.resize_with(count, AtomicU64::default);
        Some(Hits { words: words.into(), used, stride })
    }

    /// For programs that the interpreter runs: of each insn how often it ran, then of each how
    /// often it jumped.
    pub fn of_insns(cpus: u32, insns: usize) -> Option<Hits> {
        Hits::new(cpus, insns.checked_mul(2)?)
    }

    /// The address of the first word.
    pub fn address(&self) -> u64 {
        self.words.as_ptr() as u64
    }

    /// Bytes from the words of one CPU to those of the next.
    pub fn stride_bytes(&self) -> usize {
        8 * self.stride
    }

    /// Each word, summed over CPUs.
    pub fn sums(&self) -> Vec<u64> {
        let of_cpus = |word: usize| self.words.iter().skip(word).step_by(self.stride);
        let sum = |word| of_cpus(word).map(|word| word.load(Relaxed)).sum();
        (0..self.used).map(sum).collect()
    }

    /// An insn is about to run.
    pub(crate) fn runs(&self, cpu: u32, pc: usize) {
        self.add(cpu, pc);
    }

    /// An insn jumps by a condition.
    pub(crate) fn jumps(&self, cpu: u32, pc: usize) {
        self.add(cpu, self.used / 2 + pc);
    }

    fn add(&self, cpu: u32, word: usize) {
        if let Some(word) = self.words.get(cpu as usize * self.stride + word) {
            word.store(word.load(Relaxed).wrapping_add(1), Relaxed);
        }
    }
}

//! `Hits`: execution counters, separate for each CPU.
//!
//! # Invariants
//! 1. No two concurrent runs write the counters of the same CPU, so plain loads and stores suffice.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Counters are on separate cache lines, as far as possible.
const WORDS_A_LINE: usize = 16;

/// The counters of one program.
#[derive(Debug)]
pub struct Hits {
    words: Box<[AtomicU64]>,
    /// Of each CPU.
    used: usize,
    stride: usize,
}

impl Hits {
    /// This many words for each CPU, all 0; `None` if there is no memory for them.
    pub fn new(cpus: u32, used: usize) -> Option<Hits> {
        let stride = used.max(1).checked_next_multiple_of(WORDS_A_LINE)?;
        let count = stride.checked_mul(cpus as usize)?;
        let mut words = Vec::new();
        words.try_reserve_exact(count).ok()?;
        words.resize_with(count, AtomicU64::default);
        Some(Hits { words: words.into(), used, stride })
    }

    /// For programs run by the interpreter: how often each insn was executed, then how often each
    /// was a taken jump.
    pub fn of_insns(cpus: u32, insns: usize) -> Option<Hits> {
        Hits::new(cpus, insns.checked_mul(2)?)
    }

    /// The address of the first word.
    pub fn address(&self) -> u64 {
        self.words.as_ptr() as u64
    }

    /// Bytes between the counters of consecutive CPUs.
    pub fn stride_bytes(&self) -> usize {
        8 * self.stride
    }

    /// Each word, summed over CPUs.
    pub fn sums(&self) -> Vec<u64> {
        let of_cpus = |word: usize| self.words.iter().skip(word).step_by(self.stride);
        let sum = |word| of_cpus(word).map(|word| word.load(Relaxed)).sum();
        (0..self.used).map(sum).collect()
    }

    /// Before an insn is executed.
    pub(crate) fn runs(&self, cpu: u32, pc: usize) {
        self.add(cpu, pc);
    }

    /// A conditional jump is taken.
    pub(crate) fn jumps(&self, cpu: u32, pc: usize) {
        self.add(cpu, self.used / 2 + pc);
    }

    fn add(&self, cpu: u32, word: usize) {
        if let Some(word) = self.words.get(cpu as usize * self.stride + word) {
            word.store(word.load(Relaxed).wrapping_add(1), Relaxed);
        }
    }
}

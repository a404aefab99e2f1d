//! The results of a batch of rounds.

/// Rounds per batch, each of which may record a word.
pub(super) const NOTES: usize = 4096;
/// Bytes of memory per round, if each has its own.
pub(super) const STRIDE: usize = 256;

/// Results of a batch of rounds.
pub(super) struct Batch<'a> {
    /// Number of its first round.
    pub(super) first: u64,
    /// Words recorded by the threads, by round.
    pub(super) notes: [&'a [u64]; 2],
    /// What they returned.
    pub(super) sums: [u32; 2],
    /// The shared memory.
    pub(super) words: &'a [u64],
    /// The previous value of its first word.
    pub(super) before: u64,
}

impl Batch<'_> {
    pub(super) fn sum_of_notes(&self) -> u64 {
        self.notes
            .iter()
            .flat_map(|notes| notes.iter())
            .fold(0, |sum, note| sum.wrapping_add(*note))
    }

    /// Number of rounds for which the condition on round number, x and y holds.
    pub(super) fn rounds(&self, is: impl Fn(u64, u64, u64) -> bool) -> u64 {
        let rounds = self.words.chunks_exact(STRIDE / 8).take(NOTES).zip(self.first..);
        rounds.filter(|(words, n)| is(*n, words[0], words[16])).count() as u64
    }

    /// Number of rounds for which the condition on round number, x and a thread's recorded word
    /// holds.
    pub(super) fn noted(&self, thread: usize, is: impl Fn(u64, u64, u64) -> bool) -> u64 {
        let rounds = self.words.chunks_exact(STRIDE / 8).zip(self.first..).zip(self.notes[thread]);
        rounds.filter(|((words, n), note)| is(*n, words[0], **note)).count() as u64
    }
}

//! The statistics of a verification, with the names used in the kernel's log and by veristat.

/// Counters of one verification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifierStats {
    /// Insns processed, counting repeated visits (`processed N insns`).
    pub insns_processed: u32,
    /// Limit on `insns_processed`.
    pub insns_limit: u32,
    /// Most checkpoints seen at one insn.
    pub max_states_per_insn: u32,
    /// Checkpoints saved.
    pub total_states: u32,
    /// Most checkpoints kept at one time.
    pub peak_states: u32,
    /// Largest number of pending branches: an upper bound, at most a quarter (and 16) too high.
    pub waiting_max: u32,
    /// Longest walk of read marks; 0 since 6.18.
    pub mark_read: u32,
    /// Stack bytes of all subprogs, summed as veristat does.
    pub stack_depth_bytes: u32,
    /// Most bytes allocated at one time.
    pub mem_peak: MemBytes,
    /// Bytes in use when verification ended.
    pub mem_final: MemBytes,
    /// How often the fast paths of `Tuning` were taken.
    pub fast_paths: FastPaths,
}

/// Bytes by purpose; the same in every run of the same program.
///
/// Every arena, table and stack of the verifier counts everything it has allocated. Their peaks add
/// up, because none of them returns memory before verification ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemBytes {
    /// Registers, and saved frames.
    pub frames: u64,
    /// Pages of stack slots.
    pub stack: u64,
    /// Checkpoints and pending branches, without their frames.
    pub checkpoints: u64,
    /// Jump history.
    pub history: u64,
    /// Maps of ids.
    pub idmap: u64,
    /// Memoised results of operations.
    pub transfers: u64,
    /// Tables with a row per insn, including live stack slots.
    pub insns: u64,
    /// The log.
    pub log: u64,
}

impl MemBytes {
    /// Names and bytes of all parts.
    pub fn parts(&self) -> [(&'static str, u64); 8] {
        [
            ("frames", self.frames),
            ("stack", self.stack),
            ("checkpoints", self.checkpoints),
            ("history", self.history),
            ("idmap", self.idmap),
            ("transfers", self.transfers),
            ("insns", self.insns),
            ("log", self.log),
        ]
    }

    /// The sum of all parts.
    pub fn total(&self) -> u64 {
        self.parts().iter().map(|(_, bytes)| bytes).sum()
    }
}

/// How often each fast path of `Tuning` was taken, and how often it could have been.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FastPaths {
    /// The id map was cleared before a comparison.
    pub idmap_resets: u64,
    /// ... by bumping its generation counter.
    pub idmap_resets_counter: u64,
    /// A state was saved.
    pub states_saved: u64,
    /// ... in recycled arena memory.
    pub states_recycled: u64,
    /// A register was found to need precision.
    pub backtracks: u64,
    /// ... and was already precise, so that backtracking was not needed.
    pub backtracks_skipped: u64,
    /// Insns walked backwards.
    pub backtracked_insns: u64,
}

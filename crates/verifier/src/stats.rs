//! What a verification cost, under the names of the kernel's log and of veristat.

/// Counters of one verification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifierStats {
    /// Insns walked, each as often as it was walked (`processed N insns`).
    pub insns_processed: u32,
    /// Limit of `insns_processed`.
    pub insns_limit: u32,
    /// Most checkpoints seen at one insn.
    pub max_states_per_insn: u32,
    /// Checkpoints made.
    pub total_states: u32,
    /// Most checkpoints kept at one time.
    pub peak_states: u32,
    /// Longest walk of read marks; 0 since 6.18.
    pub mark_read: u32,
    /// Stack bytes of all subprogs together, as veristat adds them up.
    pub stack_depth_bytes: u32,
    /// Most bytes allocated at one time.
    pub mem_peak: MemBytes,
    /// Bytes in use when the walk ended.
    pub mem_final: MemBytes,
    /// How often the faster ways of `Tuning` ran.
    pub fast_paths: FastPaths,
}

/// Bytes by what they are for; the same in every run of the same program.
///
/// Every arena, table and stack of the walk is counted with all that it has allocated. Their peaks
/// add up: none of them gives memory back before the walk ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemBytes {
    /// Registers, and frames at rest.
    pub frames: u64,
    /// Pages of stack slots.
    pub stack: u64,
    /// Checkpoints and branches that wait, without their frames.
    pub checkpoints: u64,
    /// Jump history.
    pub history: u64,
    /// Maps of ids.
    pub idmap: u64,
    /// Results of operations that are looked up.
    pub transfers: u64,
    /// Tables with a row for each insn, among them the stack slots that are live.
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

    /// All parts together.
    pub fn total(&self) -> u64 {
        self.parts().iter().map(|(_, bytes)| bytes).sum()
    }
}

/// How often each faster way of `Tuning` ran, and how often it could have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FastPaths {
    /// The map of ids was emptied before a comparison.
    pub idmap_resets: u64,
    /// ... by its counter.
    pub idmap_resets_counter: u64,
    /// A state was saved.
    pub states_saved: u64,
    /// ... in a place of the arena that another had left.
    pub states_recycled: u64,
    /// A register was found to matter.
    pub backtracks: u64,
    /// ... and was known to be precise, so that nothing was walked.
    pub backtracks_skipped: u64,
    /// Insns walked backwards.
    pub backtracked_insns: u64,
}

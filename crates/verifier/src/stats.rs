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
    /// Peak bytes of registers, frames, stack slots.
    pub mem_peak_bytes: [usize; 3],
    /// How often the faster ways of `Tuning` ran.
    pub fast_paths: FastPaths,
}

/// How often each faster way of `Tuning` ran, and how often it could have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FastPaths {
    /// The map of ids was emptied.
    pub idmap_resets: u64,
    /// ... by its counter.
    pub idmap_resets_counter: u64,
    /// A state was saved.
    pub states_saved: u64,
    /// ... in a place that another had left.
    pub states_recycled: u64,
    /// A register was found to matter.
    pub backtracks: u64,
    /// ... and was known to be precise, so that nothing was walked.
    pub backtracks_skipped: u64,
    /// A register or slot was found precise in a checkpoint and was looked for no further.
    pub backtracks_ended: u64,
}

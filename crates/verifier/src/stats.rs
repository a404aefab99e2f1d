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
}

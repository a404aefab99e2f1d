//! Position of the walk in the log.

/// Positions of the last insn and its state line in the log.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LogPosition {
    /// End of the last insn's text.
    pub(crate) prev_log_pos: usize,
    /// Length of the last insn's text.
    pub(crate) prev_insn_print_pos: usize,
    /// The line info printed last.
    pub(crate) prev_linfo: Option<u32>,
}
